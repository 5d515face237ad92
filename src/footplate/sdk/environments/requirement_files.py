"""Requirements files: one line per requirement, with absolute paths; and checks of a conda file's content.

Relative paths start at the folder of the file, because the line is used elsewhere: `-r` and `-c` files, `./package`,
`-e ./package`, `name @ ./package`, and folders of `--find-links`.
"""

from __future__ import annotations

import os
import re
from typing import Any, List, Mapping, Sequence, Tuple, cast

from footplate.sdk.exceptions import UserErrorException

_OPTION = re.compile(r"(?P<name>-[a-z]|--[a-z-]+)(?P<sign>[\s=]\s*|(?<=^-[a-z]))(?P<value>\S.*)")
_NAMED = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*\s*(?:\[[^\]]*\])?\s*@\s*")
_REST = re.compile(r"(\[[^\]]*\])?\s*(\s[;#].*|;.*|#.*)?$")
_ARCHIVES = (".whl", ".tar.gz", ".tgz", ".tar.bz2", ".zip")
_INCLUDES = ("-r", "--requirement")
_FILES = ("-c", "--constraint", "-f", "--find-links")
_PACKAGES = ("-e", "--editable")


def requirement_lines(path: str) -> List[str]:
    """Return the lines of a requirements file and of those that it names with `-r`, without comments."""
    return _read(path, ())


def absolute_lines(lines: Sequence[str], folder: str, where: str) -> List[str]:
    """Return lines that a file in `folder` contains, in a form that means the same everywhere on this machine."""
    return _expand(lines, folder, where, ())


def _read(path: str, above: Tuple[str, ...]) -> List[str]:
    if os.path.realpath(path) in above:
        raise UserErrorException(f"requirements file {path!r} includes itself", hint="remove that -r line")
    try:
        with open(os.fspath(path), encoding="utf-8-sig") as file:
            text = file.read()
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8"
        hint = f"give the path of a text file in UTF-8; relative paths start at {os.getcwd()}"
        raise UserErrorException(f"requirements file {path!r} cannot be read: {reason}", error, hint=hint) from error
    lines = text.replace("\\\n", " ").splitlines()
    return _expand(lines, os.path.dirname(os.path.abspath(path)), path, (*above, os.path.realpath(path)))


def _expand(lines: Sequence[str], folder: str, where: str, above: Tuple[str, ...]) -> List[str]:
    expanded: List[str] = []
    for raw in lines:
        line = re.sub(r"(^|\s)#.*", "", raw).strip()
        option = _OPTION.fullmatch(line)
        if option and option["name"] in _INCLUDES:
            expanded += _read(os.path.join(folder, option["value"]), above)
        elif option and option["name"] in _FILES:
            expanded.append(f"{option['name']} {_place(option['value'], folder, where)}")
        elif option and option["name"] in _PACKAGES:
            expanded.append(f"{option['name']} {_package(option['value'], folder, where)}")
        elif line:
            expanded.append(line if line.startswith("-") else _package(line, folder, where))
    return expanded


def _package(line: str, folder: str, where: str) -> str:
    named = _NAMED.match(line)
    name = named.group() if named else ""
    place = line[len(name) :]
    end = _REST.search(place)
    rest = place[end.start() :] if end else ""
    place = place[: len(place) - len(rest)]
    is_address = "://" in place or place.startswith("git+")
    is_path = place.startswith((".", "~", "file:")) or "/" in place.split(" ")[0] or place.endswith(_ARCHIVES)
    if not named and (is_address or not is_path):
        return line
    return f"{name}{_place(place, folder, where)}{rest}"


def _place(place: str, folder: str, where: str) -> str:
    """Return the absolute path of something on this machine; an address stays as it is."""
    if "://" in place and not place.startswith("file:"):
        return place
    path = re.sub(r"^file:(//(localhost)?)?", "", place)
    path = os.path.normpath(os.path.join(folder, os.path.expanduser(path)))
    if not os.path.exists(path):
        raise UserErrorException(
            f"{where} names {place!r}, and {path} does not exist", hint=f"relative paths start at {folder}"
        )
    return path


_KEYS = ("name", "channels", "dependencies", "prefix")


def top_level(data: Any, where: str) -> Mapping[str, Any]:
    if not isinstance(data, Mapping):
        raise UserErrorException(f"{where} is not a conda file", hint="it has the keys name, channels and dependencies")
    content = cast("Mapping[str, Any]", data)
    unknown = [str(key) for key in content if key not in _KEYS]
    if unknown:
        hint = f"a conda file has the keys {', '.join(_KEYS)}"
        if "variables" in unknown:
            hint += "; variables belong in the environment's environment_variables"
        raise UserErrorException(f"{where} has the unknown key {', '.join(unknown)}", hint=hint)
    return content


def items_of(value: Any, key: str, where: str) -> Sequence[Any]:
    if value is not None and not isinstance(value, (list, tuple)):
        raise UserErrorException(f"{key} of {where} is {value!r}", hint="it is a list")
    return cast("Sequence[Any]", value or ())


def texts_of(value: Any, key: str, where: str) -> List[str]:
    items = items_of(value, key, where)
    for item in items:
        if not isinstance(item, str):
            raise UserErrorException(f"{key} of {where} has {item!r}", hint="each is a string; put it in quotes")
    return list(items)


def text_of(what: str, value: Any) -> str:
    if not isinstance(value, str) or not value.strip():
        raise UserErrorException(f"{what} is {value!r}", hint="give a string such as numpy")
    return value
