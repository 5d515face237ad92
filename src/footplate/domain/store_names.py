"""Names of files in stores: which are safe as file names, and which match a pattern.

A name comes from a server, a user or an archive, and becomes a path on this machine. So it is checked once, before it
is joined to anything: relative, with plain parts, and nothing that Windows would interpret.
"""

from __future__ import annotations

import functools
import re
import urllib.parse
from typing import Pattern

from footplate.errors import InvalidInput

LONGEST_PART = 255
_DRIVE = re.compile(r"[A-Za-z]:")
_SEPARATORS = re.compile(r"[/\\]")
_WILD = re.compile(r"[*?]")
_PLAIN = re.compile(r"(?:(?!\.)[^/\\\0:]{1,60}/)*(?!\.)[^/\\\0:]{1,60}")  # most names; all are safe


def check_name(name: str, what: str = "name") -> str:
    """Return the name, or raise InvalidInput with the reason if a file in a folder cannot have it."""
    reason = None if _PLAIN.fullmatch(name) else _unsafe(name)
    if reason is not None:
        raise InvalidInput(
            f"the {what} {name!r:.300} {reason}",
            "a name is relative, with parts between single slashes, none of which is '.' or '..'",
        )
    return name


def _unsafe(name: str) -> str | None:
    if not name:
        return "is empty"
    if "\0" in name:
        return "has a NUL character"
    if name[0] in "/\\":
        return "is absolute"
    if _DRIVE.match(name):
        return "begins with a Windows drive"
    if ".." in _SEPARATORS.split(name):
        return "leaves its folder"
    for part in name.split("/"):
        if part in ("", "."):
            return "has an empty part" if not part else "has a part '.'"
        if len(part.encode("utf-8", "surrogatepass")) > LONGEST_PART:
            return f"has a part of more than {LONGEST_PART} bytes"
    return None


def clean_folder(path: str | None) -> str:
    """Return a folder as users write it (None, '', '.', '/a/b/', './a') as a checked name, '' for the top."""
    parts = [part for part in (path or "").split("/") if part not in ("", ".")]
    return check_name("/".join(parts), "path") if parts else ""


def join(folder: str, name: str) -> str:
    return f"{folder}/{name}" if folder else name


def url_name(url: str) -> str:
    """Return the name under which a web file appears: its host and path, as Azure's `to_path` shows them."""
    parts = urllib.parse.urlsplit(url)
    path = urllib.parse.unquote(parts.path, errors="surrogateescape").strip("/")
    host = parts.netloc.rpartition("@")[2].replace(":", "_")  # without user and password, and without a colon
    return check_name(join(host, path or "index"), "address")


# ── Patterns ──────────────────────────────────────────────────────────────────────────────────────────────────────────


def is_pattern(path: str) -> bool:
    return _WILD.search(path) is not None


def fixed_folder(pattern: str) -> str:
    """Return the folder that contains everything that matches: only it has to be listed."""
    return _WILD.split(pattern, maxsplit=1)[0].rpartition("/")[0]


def matches(pattern: str, name: str) -> bool:
    """Whether the name matches. `*` and `?` stay inside one part, `**` matches any number of parts. Case matters."""
    return compile_pattern(pattern).fullmatch(name) is not None


@functools.lru_cache(maxsize=256)
def compile_pattern(pattern: str) -> Pattern[str]:
    parts = pattern.strip("/").split("/")
    return re.compile("".join(_translate(part, last=i == len(parts) - 1) for i, part in enumerate(parts)), re.DOTALL)


def _translate(part: str, last: bool) -> str:
    if part == "**":
        return ".+" if last else "(?:[^/]+/)*"
    text = "".join(_translate_piece(piece) for piece in re.split(r"(\*+|\?)", part))
    return text if last else text + "/"


def _translate_piece(piece: str) -> str:
    if piece == "?":
        return "[^/]"
    return "[^/]*" if piece.startswith("*") else re.escape(piece)
