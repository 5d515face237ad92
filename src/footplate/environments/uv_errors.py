"""What uv says when it fails, as errors: its own words, what they are about, and what to do."""

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


def not_resolved(wanted: Sequence[str], called: str, talk: str) -> FootplateError:
    """uv found no versions for the lines."""
    return (
        _of_the_disk("the requirements cannot be resolved", talk)
        or _not_fetched(talk)
        or _not_built(called, talk)
        or InvalidInput(
            f"the requirements cannot be resolved for {called}:\n{_without_preamble(talk)}"
            f"{clashing(wanted, talk, name_of)}",
            _other_python(talk) or "loosen or correct one of the lines that are named",
        )
    )


def not_installed(failure: str, talk: str) -> FootplateError:
    """uv could not install what was resolved."""
    return (
        _of_the_disk(failure, talk)
        or _not_built("this Python", talk)
        or Broken(f"{failure}:\n{_without_preamble(talk)}", "see the build log of the run")
    )


def clashing(wanted: Sequence[str], talk: str, name_of: Callable[[str], str | None]) -> str:
    """The lines that the resolver's words are about, as the user wrote them."""
    said = re.sub(r"\s+", " ", talk)
    named = [line for line in wanted if (name := name_of(line)) and re.search(rf"(?<![\w.-]){re.escape(name)}\b", said)]
    direct = [line for line in named if re.search(rf"you require {re.escape(name_of(line) or '')}\b", said)] or named
    if not direct:
        return ""
    head = "the line that cannot be met" if len(direct) == 1 else "the lines that clash"
    return f"\n{head}:\n" + "\n".join(f"  {line}" for line in direct)


# ── What went wrong ───────────────────────────────────────────────────────────────────────────────────────────────────


def _of_the_disk(failure: str, talk: str) -> FootplateError | None:
    if "No space left on device" not in talk:
        return None
    return OutOfSpace(f"{failure}: the disk is full", "free some space (footplate env gc) and submit again")


def _not_fetched(talk: str) -> FootplateError | None:
    found = _FETCHED.search(talk)
    if found is None and "Failed to fetch" not in talk:
        return None
    what = f"{found[1]} could not be fetched" if found else "an index does not answer as it should"
    if _REFUSED.search(talk):
        hint = "the index refuses: check its address and the password; what pip is configured with holds here"
    else:
        hint = "is the index up, and its address, proxy and certificate right? What pip is configured with holds here"
    return InvalidInput(f"the packages cannot be looked up: {what}\n{_without_preamble(talk)}", hint)


def _not_built(called: str, talk: str) -> FootplateError | None:
    found = _BUILT.search(talk)
    if found is None:
        return None
    package, header = found[1], _HEADER.search(talk)
    name = re.split(r"[=\s@]", package, maxsplit=1)[0]
    if shutil.which("cc") is None and shutil.which("gcc") is None:
        hint = "this machine has no C compiler: install one, for example: apt-get install gcc g++ make"
    elif header is not None:
        hint = f"install what brings {header[1]} (a package that ends with -dev), or ask for a {name} that has a wheel"
    else:
        hint = f"ask for a version of {name} that has a wheel for this Python, or for a Python that it has wheels for"
    message = f"{package} has no wheel for {called} and cannot be built from its source:\n{_without_preamble(talk)}"
    return InvalidInput(message, hint)


def _other_python(talk: str) -> str | None:
    found = _with_wheels(talk)
    if found is None:
        return None
    name, versions = found
    known = ", ".join(f"{major}.{minor}" for major, minor in versions)
    return f"ask for a Python that {name} has wheels for ({known}), or for another version of {name}"


def rules_out(message: str, wanted: Sequence[str], version: Sequence[int]) -> bool:
    """Whether what one Python was refused for says that this one would be as well: a pinned wheel is for others."""
    found = _with_wheels(message)
    if found is None or not any(name_of(line) == found[0] and re.search(r"==[^*,]+$", line) for line in wanted):
        return False
    return tuple(version[:2]) not in found[1]


def _with_wheels(talk: str) -> tuple[str, list[tuple[int, int]]] | None:
    """The package of which no wheel fits, and the Pythons that it has some for."""
    found = _TAGS.search(re.sub(r"\s+", " ", talk))
    tags = re.findall(r"`[^`]+`", found[2].split("hint:")[0]) if found else []
    versions = [match for tag in tags if (match := _CPYTHON.fullmatch(tag))]
    if found is None or not tags or len(versions) != len(tags):
        return None
    return found[1], sorted({(int(match[1]), int(match[2])) for match in versions})


def _without_preamble(talk: str) -> str:
    """From where uv begins to complain: what it did well before is in the log."""
    lines = talk.splitlines()
    first = next((at for at, line in enumerate(lines) if re.match(r"\s*(error|×)", line)), 0)
    return "\n".join(lines[first:])
