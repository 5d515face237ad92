"""The folder of built environments: each at its final path from the first moment, whole when its marker is there.

    <root>/<digest>/                 a built environment (they know their own path, so they are not made aside)
    <root>/<digest>/.footplate-complete   written last: what was built, and the names in it; its mtime is the last use
    <root>/<digest>.lock             held while it is built, by the builder and by the programs it starts
    <root>/.caches.lock              held together by all who build, alone by who clears the caches
    <root>/<digest>.1/               built anew because somebody changed the first, which may still be in use

A build that was killed has no marker and is made anew by the next one that asks.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import json
import os
import shutil
import time
from collections.abc import Callable, Generator, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any, cast

from footplate.disk import atomic_write
from footplate.domain.records import BuiltView, Lock
from footplate.environments.base import Say
from footplate.environments.disk import own_size

MARKER = ".footplate-complete"
_CACHES_LOCK = ".caches.lock"
Make = Callable[[Path, int], "dict[str, Any] | None"]
"""Makes the environment in the folder, given the lock that is held; what it returns is kept in the marker."""


def use(root: Path, lock: Lock, say: Say, make: Make) -> Path:
    """The folder of the environment, made by `make` if no whole one is there. Notes the use."""
    found = _whole(root, lock.digest)
    if found is None:
        with turn(root / f"{lock.digest}.lock", say, "another process is building this environment") as held:
            found = _whole(root, lock.digest) or _make(root, lock, say, make, held)
    with contextlib.suppress(OSError):  # of another user, who shares it read-only: its last use is theirs to note
        os.utime(found / MARKER)
    return found


def site_packages(folder: Path) -> Path:
    """Where packages lie in a virtual or a conda environment."""
    return next(iter(sorted(folder.glob("lib/python3*/site-packages"))), folder / "lib")


# ── Whole or not ──────────────────────────────────────────────────────────────────────────────────────────────────────


def _places(root: Path, digest: str) -> Iterator[Path]:
    yield root / digest
    number = 1
    while True:
        yield root / f"{digest}.{number}"
        number += 1


def _whole(root: Path, digest: str) -> Path | None:
    for place in _places(root, digest):
        marker = read_marker(place)
        if marker is None or not _runs(place):
            return None
        if not _is_altered(place, marker):
            return place
    raise AssertionError("there is always a next place")


def _runs(folder: Path) -> bool:
    """The Python that it was made from is still there."""
    return os.access(folder / "bin" / "python", os.X_OK)


def _is_altered(folder: Path, marker: dict[str, Any]) -> bool:
    return marker.get("names") != _names(folder)


def _names(folder: Path) -> str:
    """What is installed, by the names at the top: cheap enough for every use, and any installation changes it."""
    try:
        names = sorted(os.listdir(site_packages(folder)))
    except OSError:
        names = []
    return hashlib.sha256("\0".join(names).encode(errors="surrogateescape")).hexdigest()


def read_marker(folder: Path) -> dict[str, Any] | None:
    try:
        with open(folder / MARKER, encoding="utf-8") as file:
            marker = json.load(file)
    except (OSError, ValueError):
        return None
    return cast("dict[str, Any]", marker) if isinstance(marker, dict) else None


# ── Making ────────────────────────────────────────────────────────────────────────────────────────────────────────────


@contextmanager
def turn(path: Path, say: Say, why: str, how: int = fcntl.LOCK_EX) -> Generator[int]:
    """Hold the lock at `path`; who has to wait for it says why."""
    held = _open_lock(path)
    try:
        try:
            fcntl.flock(held, how | fcntl.LOCK_NB)
        except BlockingIOError:
            say(f"waiting: {why}")
            fcntl.flock(held, how)
        yield held
    finally:
        os.close(held)


def _open_lock(path: Path) -> int:
    path.parent.mkdir(parents=True, exist_ok=True)
    return os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)


def _make(root: Path, lock: Lock, say: Say, make: Make, held: int) -> Path:
    folder = _place_to_build(root, lock.digest, say)
    if folder.exists():
        say("removing a build that was not finished" if read_marker(folder) is None else "its Python is gone")
        shutil.rmtree(folder)
    try:
        with building(root, say):
            facts = make(folder, held)
        _write_marker(folder, lock, facts or {})
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise
    say("the environment is complete")
    return folder


def _place_to_build(root: Path, digest: str, say: Say) -> Path:
    for place in _places(root, digest):
        if read_marker(place) is None or not _runs(place):
            return place
        say(f"{place.name[:12]} was changed after it was built; it is left to those who use it, and built anew")
    raise AssertionError("there is always a next place")


def _write_marker(folder: Path, lock: Lock, facts: dict[str, Any]) -> None:
    content = {
        "digest": lock.digest,
        "builder": lock.builder,
        "python": lock.content.get("python"),
        "created": time.time(),
        "names": _names(folder),
        "packages": len(list(site_packages(folder).glob("*.dist-info"))),
        **facts,
    }
    atomic_write(folder / MARKER, json.dumps(content).encode(), durable=True)


def building(root: Path, say: Say) -> AbstractContextManager[int]:
    """For who builds from the caches: nothing is cleared meanwhile."""
    return turn(root / _CACHES_LOCK, say, "the caches are being cleared", fcntl.LOCK_SH)


@contextmanager
def clearing(root: Path) -> Generator[bool]:
    """For who clears the caches: whether nobody builds; if so, nobody begins to until this ends."""
    held = _open_lock(root / _CACHES_LOCK)
    try:
        try:
            fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            yield False
        else:
            yield True
    finally:
        os.close(held)


# ── Looking and clearing away ─────────────────────────────────────────────────────────────────────────────────────────


def built(root: Path) -> list[BuiltView]:
    """All whole environments, the last used first."""
    found = list[BuiltView]()
    for folder in root.iterdir() if root.is_dir() else ():
        marker = read_marker(folder) if len(folder.name) >= 64 and folder.is_dir() else None
        if marker is not None:
            with contextlib.suppress(FileNotFoundError):  # removed while we look
                found.append(_describe(folder, marker))
    return sorted(found, key=lambda one: -one.used)


def _describe(folder: Path, marker: dict[str, Any]) -> BuiltView:
    return BuiltView(
        digest=str(marker.get("digest")),
        path=str(folder),
        builder=str(marker.get("builder")),
        python=str(marker.get("python") or ""),
        packages=int(marker.get("packages") or 0),
        created=float(marker.get("created") or 0.0),
        used=os.stat(folder / MARKER).st_mtime,
        size=int(marker.get("size") or 0) + own_size(folder),
        altered=_is_altered(folder, marker),
    )


def remove(folder: Path, before: Callable[[], None] = lambda: None) -> bool:
    """Whether it was removed; one that is being built is not. `before` removes what it has elsewhere."""
    root, digest = folder.parent, folder.name[:64]
    held = os.open(root / f"{digest}.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
        with contextlib.suppress(FileNotFoundError):
            (folder / MARKER).unlink()  # first: from here on it is no environment for anybody
        before()
        with contextlib.suppress(FileNotFoundError):  # somebody else removed it
            shutil.rmtree(folder)
        return True
    except BlockingIOError:
        return False
    finally:
        os.close(held)
