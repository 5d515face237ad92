"""Size limit of a home's data cache: `[data] cache = 200 GB` in its `settings.ini`."""

from __future__ import annotations

import os
from collections.abc import Mapping

from footplate.errors import InvalidInput

SECTION, NAME = "data", "cache"
DEFAULT_LIMIT = 100 * 1024**3
_FACTORS = {"kb": 10**3, "mb": 10**6, "gb": 10**9, "tb": 10**12, "kib": 2**10, "mib": 2**20, "gib": 2**30, "tib": 2**40}


def limit_of(home: str) -> int:
    path = os.path.join(home, "settings.ini")
    if not os.path.exists(path):
        return DEFAULT_LIMIT
    import configparser  # noqa: PLC0415  # configparser costs every run's start some milliseconds, and most homes have no settings

    parser = configparser.ConfigParser(interpolation=None)
    try:
        parser.read(path, encoding="utf-8")
    except (configparser.Error, UnicodeDecodeError) as error:
        raise InvalidInput(f"{path} cannot be read: {error}", "write it as:\n[data]\ncache = 200 GB") from None
    return read_limit(path, dict(parser.items(SECTION)) if parser.has_section(SECTION) else {})


def read_limit(path: str, section: Mapping[str, str]) -> int:
    """Return the limit in bytes that the section `[data]` of the file sets."""
    for name in section:
        if name != NAME:
            raise InvalidInput(
                f"{path} has a setting [{SECTION}] {name}, which is unknown", f"the only setting is: {NAME}"
            )
    text = section.get(NAME)
    if text is None:
        return DEFAULT_LIMIT
    limit = read_size(text)
    if limit is None:
        raise InvalidInput(
            f"{path} has {NAME} = {text}, which is not a size",
            "write a number with its unit: cache = 200 GB, or 1.5 TiB",
        )
    return limit


def read_size(text: str) -> int | None:
    """Return the number of bytes that a text such as `1.5 GiB` means; None if it is not a positive size."""
    unit = text.strip().lstrip("0123456789. ")
    number = text.strip()[: len(text.strip()) - len(unit)]
    try:
        size = int(float(number) * _FACTORS[unit.lower()])
    except (KeyError, ValueError):
        return None
    return size if size > 0 else None
