"""Names of files in stores: which are safe to make files of, and which a pattern means.

A name comes from a server, a user or an archive, and becomes a path on this machine. So it is checked, once, before it
is joined to anything: relative, with plain parts, and nothing that Windows would read as something else.
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
_PLAIN = re.compile(r"(?:(?!\.)[^/\\\0:]{1,60}/)*(?!\.)[^/\\\0:]{1,60}")  # nearly all names, and all of these are safe


def check_name(name: str, what: str = "name") -> str:
    """The name itself, when a file inside a folder may be called so; else InvalidInput, which says why not."""
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
    """A folder as users write it (None, '', '.', '/a/b/', './a') as a checked name, '' for the top."""
    parts = [part for part in (path or "").split("/") if part not in ("", ".")]
    return check_name("/".join(parts), "path") if parts else ""


def join(folder: str, name: str) -> str:
    return f"{folder}/{name}" if folder else name


def url_name(url: str) -> str:
    """Under which name a web file appears: its host and path, as Azure's `to_path` shows them."""
    parts = urllib.parse.urlsplit(url)
    path = urllib.parse.unquote(parts.path, errors="surrogateescape").strip("/")
    host = parts.netloc.rpartition("@")[2].replace(":", "_")  # never the user and password, and no colon in a name
    return check_name(join(host, path or "index"), "address")


# ── Patterns ──────────────────────────────────────────────────────────────────────────────────────────────────────────


def is_pattern(path: str) -> bool:
    return _WILD.search(path) is not None


def fixed_folder(pattern: str) -> str:
    """The folder that everything which matches lies in: what has to be listed."""
    return _WILD.split(pattern, maxsplit=1)[0].rpartition("/")[0]


def matches(pattern: str, name: str) -> bool:
    """`*` and `?` stay inside one part of a name, `**` goes across any number of them, also none. Case counts."""
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
