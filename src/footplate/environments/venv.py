"""Virtual environments from pip requirements, resolved and built by uv.

The lock is the text of exact pins with hashes. The build lies at its final path from the first moment (a virtual
environment knows its own path), under a flock per digest; a marker file, written last, says that it is whole. A build
that was killed has no marker and is made anew by the next one that asks.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import re
import shutil
import sys
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from footplate.domain.records import Lock
from footplate.domain.specs import EnvironmentSpec
from footplate.environments.base import Interpreter
from footplate.environments.uv import run_uv
from footplate.errors import Broken, InvalidInput, OutOfSpace

MARKER = ".footplate-complete"
_OURS = re.compile(r"azureml([-_.][a-z0-9]|$|[\s\[<>=!~;])", re.IGNORECASE)
_VERSION = re.compile(r"\d+(\.\d+){0,2}")


class VenvBuilder:
    name = "venv"

    def lock(self, spec: EnvironmentSpec, say: Callable[[str], None]) -> Lock:
        python = spec.interpreter or _python_version(spec.python)
        wanted, dropped = _split(spec.requirements)
        for line in dropped:
            say(f"{line}: left out, Footplate brings the azureml names itself")
        pins = _compile(wanted, python, say) if any(not _is_option(line) for line in wanted) else ""
        options = [line for line in wanted if _is_option(line)]
        content: dict[str, Any] = {"python": python, "requirements": pins, "options": options}
        digest = hashlib.sha256(json.dumps([self.name, content], sort_keys=True).encode()).hexdigest()
        return Lock(digest, self.name, content)

    def build(self, lock: Lock, root: Path, say: Callable[[str], None]) -> Interpreter:
        folder = root / lock.digest
        if not _is_whole(folder):
            with _turn(root, lock.digest, say) as held:
                if not _is_whole(folder):
                    _build(lock, folder, root / ".uv-cache", say, held)
        return Interpreter((str(folder / "bin" / "python"),), {"VIRTUAL_ENV": str(folder)})


# ── Locking ───────────────────────────────────────────────────────────────────────────────────────────────────────────


def _python_version(wanted: str | None) -> str:
    if wanted is None:
        return f"{sys.version_info.major}.{sys.version_info.minor}"
    if not _VERSION.fullmatch(wanted):
        raise InvalidInput(f"{wanted!r} is not a version of Python", "give one such as 3.11")
    return wanted


def _split(requirements: Sequence[str]) -> tuple[list[str], list[str]]:
    """What is to be installed, and what Footplate stands in for."""
    lines = [line.strip() for text in requirements for line in text.splitlines()]
    lines = [line for line in lines if line and not line.startswith("#")]
    return [line for line in lines if not _OURS.match(line)], [line for line in lines if _OURS.match(line)]


def _is_option(line: str) -> bool:
    return line.startswith("-")


def _compile(wanted: Sequence[str], python: str, say: Callable[[str], None]) -> str:
    arguments = ["pip", "compile", "-", "--generate-hashes", "--no-header", "--no-annotate", "--python", python]
    home = os.environ.get("FOOTPLATE_HOME")
    cache = Path(home) / "environments" / ".uv-cache" if home else None
    code, pins, talk = run_uv(arguments, say, cache, text="\n".join(wanted) + "\n")
    if code != 0:
        raise InvalidInput(
            f"the requirements {', '.join(wanted)} cannot be resolved for Python {python}:\n{talk}",
            "loosen or correct the requirement that is named",
        )
    return pins


# ── Building ──────────────────────────────────────────────────────────────────────────────────────────────────────────


def _is_whole(folder: Path) -> bool:
    """Complete, and the Python that it was made from is still there."""
    return (folder / MARKER).exists() and os.access(folder / "bin" / "python", os.X_OK)


@contextmanager
def _turn(root: Path, digest: str, say: Callable[[str], None]) -> Generator[int]:
    root.mkdir(parents=True, exist_ok=True)
    held = os.open(root / f"{digest}.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        try:
            fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            say("waiting: another process is building this environment")
            fcntl.flock(held, fcntl.LOCK_EX)
        yield held
    finally:
        os.close(held)


def _build(lock: Lock, folder: Path, cache: Path, say: Callable[[str], None], held: int) -> None:
    content, python = lock.content, str(lock.content["python"])
    if folder.exists():
        say("removing a build that was not finished")
        shutil.rmtree(folder)
    say(f"building the environment {lock.digest[:12]} with Python {python}")
    try:
        _uv(
            ["venv", "--no-config", "--python", python, str(folder)],
            f"Python {python} is not to be had",
            cache,
            say,
            held,
        )
        if content["requirements"]:
            _install(content, folder, cache, say, held)
        _write_marker(folder, lock.digest)
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise
    say("the environment is complete")


def _install(content: dict[str, Any], folder: Path, cache: Path, say: Callable[[str], None], held: int) -> None:
    pins = str(content["requirements"])
    path = folder / "requirements.txt"
    path.write_text("\n".join([*content["options"], pins]), encoding="utf-8")
    arguments = ["pip", "sync", "--no-config", "--python", str(folder / "bin" / "python"), "--compile-bytecode"]
    if _all_hashed(pins):  # what comes from a version control system has none
        arguments.append("--require-hashes")
    _uv([*arguments, str(path)], "the environment cannot be installed", cache, say, held)


def _all_hashed(pins: str) -> bool:
    return all("--hash=" in block for block in re.split(r"\n(?=\S)", pins.strip()))


def _uv(arguments: Sequence[str], failure: str, cache: Path, say: Callable[[str], None], held: int) -> None:
    # uv keeps the lock open as well: if we are killed, nobody builds here before uv, too, has ended.
    code, _, talk = run_uv(arguments, say, cache, keep_open=[held])
    if code == 0:
        return
    if "No space left on device" in talk:
        raise OutOfSpace(f"{failure}: the disk is full", "free some space and submit again")
    raise Broken(f"{failure}:\n{talk}", "see the build log of the run")


def _write_marker(folder: Path, digest: str) -> None:
    aside = folder / f"{MARKER}.tmp"
    with open(aside, "w") as file:
        file.write(digest)
        file.flush()
        os.fsync(file.fileno())
    os.replace(aside, folder / MARKER)
