"""Names from outside that become names on disk or keys in the database."""

from __future__ import annotations

import re

from footplate.errors import InvalidInput

LONGEST_PATH, _LONGEST_NAME = 1024, 255
_WRITER = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.\-]{0,127}")


def check_path(path: str) -> str:
    """Return the path if it is valid below a run: relative, no `..`, no empty parts, `/` between them."""
    reason = _what_is_wrong(path)
    if reason:
        raise InvalidInput(
            f"{path[:200]!r} cannot be the path of a file in a run: {reason}",
            "use a relative path such as 'outputs/model.pt'",
        )
    return path


def _what_is_wrong(path: str) -> str | None:
    try:
        raw = path.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        return "it is not valid Unicode"
    parts = raw.split(b"/")
    if not raw:
        return "it is empty"
    if b"\0" in raw:
        return "it contains NUL"
    if raw.startswith(b"/"):
        return "it is absolute"
    if any(part in (b"", b".", b"..") for part in parts):
        return "it has an empty part, '.' or '..'"
    if len(raw) > LONGEST_PATH or any(len(part) > _LONGEST_NAME for part in parts):
        return f"it is longer than {LONGEST_PATH} bytes, or a part of it than {_LONGEST_NAME}"
    return None


def check_writer(writer: str) -> str:
    if not _WRITER.fullmatch(writer) or ".." in writer:
        raise InvalidInput(
            f"{writer[:200]!r} is not a journal writer's name",
            "use letters, digits, '_', '-' and single dots, at most 128",
        )
    return writer
