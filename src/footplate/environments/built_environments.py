"""Built environments on disk. Each is built at its final path, because environments contain their own paths.

    <root>/<digest>/                      a built environment
    <root>/<digest>/.footplate-complete   the marker, written last: a description; its mtime is the last use
    <root>/<digest>.lock                  held during a build, by the builder and the programs that it starts
    <root>/.caches.lock                   shared by all builds, exclusive while caches are cleared
    <root>/<digest>.1/                    a second build, because somebody changed the first, which may still be in use

A build that was killed has no marker; the next one starts afresh.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import shutil
import time
from collections import Counter
from collections.abc import Generator, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any, Callable, cast

from footplate.disk import FileLock, atomic_write
from footplate.domain.orders import Lock
from footplate.domain.records import BuiltView
from footplate.environments.base import BuildContext, Say
from footplate.environments.url_credentials import Logins

MARKER = ".footplate-complete"
_CACHES_LOCK = ".caches.lock"
Build = Callable[[Path, BuildContext], "dict[str, Any] | None"]
"""Builds the environment in the directory; returns facts to keep in the marker."""


def use(root: Path, lock: Lock, say: Say, logins: Logins, build: Build) -> Path:
    """Return the directory of the environment, built by `build` if no complete one exists, and record this use."""
    folder = _find_complete(root, lock.digest)
    if folder is None:
        with hold_lock(root / f"{lock.digest}.lock", say, "another process is building this environment") as build_lock:
            context = BuildContext(root, logins.listen(say), build_lock.file, logins)
            folder = _find_complete(root, lock.digest) or _build(lock, context, build)
    with contextlib.suppress(OSError):  # it belongs to another user, who shares it read-only
        os.utime(folder / MARKER)
    return folder


def site_packages(folder: Path) -> Path:
    """Return the directory of packages in a virtual or conda environment."""
    return next(iter(sorted(folder.glob("lib/python3*/site-packages"))), folder / "lib")


# ── Finding ───────────────────────────────────────────────────────────────────────────────────────────────────────────


def _places(root: Path, digest: str) -> Iterator[Path]:
    yield root / digest
    number = 1
    while True:
        yield root / f"{digest}.{number}"
        number += 1


def _find_complete(root: Path, digest: str) -> Path | None:
    for place in _places(root, digest):
        marker = read_marker(place)
        if marker is None or not _has_python(place):
            return None
        if not _is_altered(place, marker):
            return place
    raise AssertionError("there is always a next place")


def _has_python(folder: Path) -> bool:
    """Whether the Python that the environment was made from still exists."""
    return os.access(folder / "bin" / "python", os.X_OK)


def _is_altered(folder: Path, marker: dict[str, Any]) -> bool:
    return marker.get("names") != _names(folder)


def _names(folder: Path) -> str:
    """Hash the top-level names of the installed packages: cheap, and every installation changes it."""
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


# ── Building ──────────────────────────────────────────────────────────────────────────────────────────────────────────


@contextmanager
def hold_lock(path: Path, say: Say, reason: str, shared: bool = False) -> Generator[FileLock]:
    """Hold the lock at `path`; if that means waiting, log the reason."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with FileLock(path) as lock:
        if not lock.try_take(shared):
            say(f"waiting: {reason}")
            lock.take(shared)
        yield lock


def _build(lock: Lock, context: BuildContext, build: Build) -> Path:
    say = context.say
    folder = _place_to_build(context.root, lock.digest, say)
    if folder.exists():
        say("removing an incomplete build" if read_marker(folder) is None else "rebuilding: its Python is gone")
        shutil.rmtree(folder)
    try:
        with building(context.root, say):
            facts = build(folder, context)
        _write_marker(folder, lock, facts or {})
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise
    say("the environment is complete")
    return folder


def _place_to_build(root: Path, digest: str, say: Say) -> Path:
    for place in _places(root, digest):
        if read_marker(place) is None or not _has_python(place):
            return place
        say(f"{place.name[:12]} was changed after it was built: it stays for runs that use it, and a new one is built")
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


def building(root: Path, say: Say) -> AbstractContextManager[FileLock]:
    """Keep the caches from being cleared while an environment is built from them."""
    return hold_lock(root / _CACHES_LOCK, say, "the caches are being cleared", shared=True)


@contextmanager
def clearing(root: Path) -> Generator[bool]:
    """Yield whether no build is running; if so, none starts until this ends."""
    root.mkdir(parents=True, exist_ok=True)
    with FileLock(root / _CACHES_LOCK) as lock:
        yield lock.try_take()


# ── Listing and removing ──────────────────────────────────────────────────────────────────────────────────────────────


def built(root: Path) -> list[BuiltView]:
    """Return all complete environments, the most recently used first."""
    views: list[BuiltView] = []
    for folder in root.iterdir() if root.is_dir() else ():
        marker = read_marker(folder) if len(folder.name) >= 64 and folder.is_dir() else None
        if marker is not None:
            with contextlib.suppress(FileNotFoundError):  # removed meanwhile
                views.append(_describe(folder, marker))
    return sorted(views, key=lambda one: -one.used)


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
    """Remove an environment, unless it is being built; return whether it was removed.

    `before` removes the parts of the environment that are stored elsewhere.
    """
    root = folder.parent
    digest = folder.name[:64]
    root.mkdir(parents=True, exist_ok=True)
    with FileLock(root / f"{digest}.lock") as lock:
        if not lock.try_take():
            return False
        with contextlib.suppress(FileNotFoundError):
            (folder / MARKER).unlink()  # first: from now on nobody uses it
        before()
        with contextlib.suppress(FileNotFoundError):  # somebody else removed it
            shutil.rmtree(folder)
        return True


def size(folder: Path) -> int:
    """Return the bytes on disk of all files that have a name in the directory."""
    return sum({(info.st_dev, info.st_ino): info.st_blocks * 512 for info in _files(folder)}.values())


def own_size(folder: Path) -> int:
    """Return the bytes that removing the directory would free: those of files that have all their names in it."""
    names: Counter[tuple[int, int]] = Counter()
    files: dict[tuple[int, int], os.stat_result] = {}
    for info in _files(folder):
        names[info.st_dev, info.st_ino] += 1
        files[info.st_dev, info.st_ino] = info
    return sum(info.st_blocks * 512 for key, info in files.items() if names[key] == info.st_nlink)


def remove_unlinked(folders: Iterable[Path], before: float) -> int:
    """Remove directories made before this time whose files have no other names; return the bytes that this freed."""
    freed = 0
    for folder in folders:
        files = list(_files(folder))
        if os.stat(folder).st_mtime < before and all(info.st_nlink == 1 for info in files):
            freed += sum(info.st_blocks * 512 for info in files)
            shutil.rmtree(folder, ignore_errors=True)
    return freed


def _files(folder: Path) -> Iterator[os.stat_result]:
    """Yield every file below the directory, except those that disappear meanwhile.

    There are hundreds of thousands of them, for which `os.walk` is too slow.
    """
    waiting = [os.fspath(folder)]
    while waiting:
        for entry in _entries(waiting.pop()):
            try:
                if entry.is_dir(follow_symlinks=False):
                    waiting.append(entry.path)
                else:
                    yield entry.stat(follow_symlinks=False)
            except OSError:
                continue


def _entries(folder: str) -> Iterable[os.DirEntry[str]]:
    try:
        with os.scandir(folder) as entries:
            return list(entries)
    except OSError:
        return ()
