"""Translate uv's failures into errors: uv's own message, the requirement that caused it, and a hint."""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable, Sequence

from footplate.environments.requirements import name_of
from footplate.errors import Broken, FootplateError, InvalidInput, OutOfSpace

_BUILT = re.compile(r"Failed to (?:download and )?build `([^`]+)`")
_FETCHED = re.compile(r"Failed to fetch: `?(\S+?)`?$", re.MULTILINE)
_TAGS = re.compile(r"only found wheels for `([^`]+)`.*?tags?: (.+)")
_CPYTHON = re.compile(r"`cp(\d)(\d+)\w*`")
_HEADER = re.compile(r"fatal error: (\S+\.h\w*): No such file")
_REFUSED = re.compile(r"\b40[13]\b")


class Unresolvable(InvalidInput):
    """No versions satisfy all requirements."""


def not_resolved(lines: Sequence[str], python: str, messages: str) -> FootplateError:
    """Explain why uv found no versions for the lines."""
    return (
        _disk_full("the requirements cannot be resolved", messages)
        or _not_fetched(messages)
        or _not_built(python, messages)
        or Unresolvable(
            f"the requirements cannot be resolved for {python}:\n{_without_preamble(messages)}"
            f"{clashing(lines, messages, name_of)}",
            _other_python(messages) or "loosen or correct one of the lines above",
        )
    )


def not_installed(failure: str, messages: str) -> FootplateError:
    """Explain why uv could not install the pins."""
    return (
        _disk_full(failure, messages)
        or _not_built("this Python", messages)
        or Broken(f"{failure}:\n{_without_preamble(messages)}", "see the build log of the run")
    )


def clashing(lines: Sequence[str], messages: str, name_of: Callable[[str], str | None]) -> str:
    """Return the lines, as the user wrote them, that the resolver's message is about."""
    direct = find_blamed(lines, messages, name_of)
    if not direct:
        return ""
    head = "this line cannot be satisfied" if len(direct) == 1 else "these lines conflict"
    return f"\n{head}:\n" + "\n".join(f"  {line}" for line in direct)


def find_blamed(lines: Sequence[str], messages: str, name_of: Callable[[str], str | None] = name_of) -> list[str]:
    """Return the lines that the message is about: those that it calls required, or else all that it names."""
    text = re.sub(r"\s+", " ", messages)
    named = [line for line in lines if (name := name_of(line)) and re.search(rf"(?<![\w.-]){re.escape(name)}\b", text)]
    return [line for line in named if re.search(rf"you require {re.escape(name_of(line) or '')}\b", text)] or named


# ── What went wrong ───────────────────────────────────────────────────────────────────────────────────────────────────


def _disk_full(failure: str, messages: str) -> FootplateError | None:
    if "No space left on device" not in messages:
        return None
    return OutOfSpace(f"{failure}: the disk is full", "free some space (footplate env gc) and submit again")


def _not_fetched(messages: str) -> FootplateError | None:
    match = _FETCHED.search(messages)
    if match is None and "Failed to fetch" not in messages:
        return None
    what = f"{match[1]} could not be downloaded" if match else "an index does not answer properly"
    if _REFUSED.search(messages):
        hint = "the index denies access: check its address and the password; pip's configuration applies here"
    else:
        hint = "check the index, its address, proxy and certificate; pip's configuration applies here"
    return InvalidInput(f"the packages cannot be looked up: {what}\n{_without_preamble(messages)}", hint)


def _not_built(python: str, messages: str) -> FootplateError | None:
    match = _BUILT.search(messages)
    if match is None:
        return None
    package = match[1]
    header = _HEADER.search(messages)
    name = re.split(r"[=\s@]", package, maxsplit=1)[0]
    if shutil.which("cc") is None and shutil.which("gcc") is None:
        hint = "this machine has no C compiler: install one, for example: apt-get install gcc g++ make"
    elif header is not None:
        hint = f"install the -dev package that contains {header[1]}, or request a {name} that has a wheel"
    else:
        hint = f"request a version of {name} that has a wheel for this Python, or a Python that {name} has wheels for"
    message = f"{package} has no wheel for {python} and cannot be built from source:\n{_without_preamble(messages)}"
    return InvalidInput(message, hint)


def _other_python(messages: str) -> str | None:
    wheels = _with_wheels(messages)
    if wheels is None:
        return None
    name, versions = wheels
    pythons = ", ".join(f"{major}.{minor}" for major, minor in versions)
    return f"request a Python that {name} has wheels for ({pythons}), or another version of {name}"


def rules_out(message: str, lines: Sequence[str], version: Sequence[int]) -> bool:
    """Whether the failure with one Python implies that this one fails as well: a pinned package has wheels for others
    only."""
    wheels = _with_wheels(message)
    if wheels is None or not any(name_of(line) == wheels[0] and re.search(r"==[^*,]+$", line) for line in lines):
        return False
    return tuple(version[:2]) not in wheels[1]


def _with_wheels(messages: str) -> tuple[str, list[tuple[int, int]]] | None:
    """Return the package without a fitting wheel, and the Python versions that it has wheels for."""
    tags_match = _TAGS.search(re.sub(r"\s+", " ", messages))
    tags = re.findall(r"`[^`]+`", tags_match[2].split("hint:")[0]) if tags_match else []
    versions = [match for tag in tags if (match := _CPYTHON.fullmatch(tag))]
    if tags_match is None or not tags or len(versions) != len(tags):
        return None
    return tags_match[1], sorted({(int(match[1]), int(match[2])) for match in versions})


def _without_preamble(messages: str) -> str:
    """Drop everything before uv's first error; the log has it."""
    lines = messages.splitlines()
    first = next((at for at, line in enumerate(lines) if re.match(r"\s*(error|×)", line)), 0)
    return "\n".join(lines[first:])
