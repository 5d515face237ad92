"""Column types that behave the same in both databases."""

from __future__ import annotations

import json
from typing import Any

from sqlalchemy import BigInteger, Integer, LargeBinary, Text
from sqlalchemy.engine import Dialect
from sqlalchemy.types import TypeDecorator

from footplate.errors import InvalidInput


class SafeText(TypeDecorator[str]):
    """Text that both databases accept: no NUL, no unpaired surrogates."""

    impl = Text
    cache_ok = True

    def process_bind_param(self, value: str | None, dialect: Dialect) -> str | None:
        if value is None or (value.isascii() and "\0" not in value):
            return value
        try:
            value.encode()
        except UnicodeEncodeError:
            raise InvalidInput(f"{value!r} is not valid Unicode", "remove the unpaired surrogates") from None
        if "\0" in value:
            raise InvalidInput(f"{value!r} contains NUL", "remove it")
        return value


class Path(TypeDecorator[str]):
    """A path as the bytes of its name: every file name is kept, and the sort order is the same everywhere."""

    impl = LargeBinary
    cache_ok = True

    def process_bind_param(self, value: str | None, dialect: Dialect) -> bytes | None:
        return None if value is None else value.encode("utf-8", "surrogateescape")

    def process_result_value(self, value: Any | None, dialect: Dialect) -> str | None:
        return None if value is None else bytes(value).decode("utf-8", "surrogateescape")


class Json(TypeDecorator[Any]):
    """JSON as ASCII text: keeps NaN, NUL and surrogates, which PostgreSQL's own types refuse. None is NULL."""

    impl = Text
    cache_ok = True

    def process_bind_param(self, value: Any | None, dialect: Dialect) -> str | None:
        return None if value is None else json.dumps(value, separators=(",", ":"))

    def process_result_value(self, value: Any | None, dialect: Dialect) -> Any | None:
        return None if value is None else json.loads(value)


def key() -> Any:
    """Return a numeric key column. Only a plain INTEGER is SQLite's own row number."""
    return BigInteger().with_variant(Integer, "sqlite")
