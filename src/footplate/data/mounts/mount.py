"""Data as a folder of this machine, for a script that only knows paths.

    data on this machine    in place: shown read-only by the kernel where that is allowed (root), else a link to it
    a listing of remote     the view that an earlier run has left: in place, too, without any work per file
    files                   FUSE: files come as they are read; what was read whole stays for the next run
                            no FUSE: everything is fetched, and then in place
                            to write to (`lend_listing`): everything is fetched, and changes are kept apart

Each mount has a keeper (`keeper`), a process that unmounts when the owner is gone, however it went.
"""

from __future__ import annotations

import contextlib
import fcntl
import importlib.util
import json
import os
import select
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Literal

from footplate.content.listing import Listing
from footplate.data.cache import DataCache
from footplate.data.mounts import supervisor, syscalls
from footplate.data.mounts.views import View, check_links, find_view, make_view, view_name
from footplate.data.stores.base import Report
from footplate.data.stores.registry import open_later, open_store
from footplate.domain.codec import to_json
from footplate.domain.data import FOLDER, StoreSpec
from footplate.domain.store_names import clean_folder
from footplate.errors import Conflict, NotFound, Unavailable

How = Literal["auto", "fuse", "fetch"]
"""`auto` takes FUSE where it is; `fuse` insists on it; `fetch` has everything here before it returns."""

_READY_SECONDS = 60.0
_BOOT = "import sys; sys.path[:] = {path!r}; from footplate.data.mounts.supervisor import main; main()"


class Mount:
    """`path` is what a script is given; `how` says in words what it is. `close` may be called more than once.

    `record` names the mount for `adopt`, by a process that takes the place of an owner that was killed. `is_link` says
    that nothing is mounted: there is a link of ours to where the data is.
    """

    def __init__(
        self, path: str, how: str, record: _Record | None = None, view: View | None = None, is_link: bool = False
    ) -> None:
        self.path, self.how, self.is_link = Path(path), how, is_link
        self._record, self._view = record, view

    @property
    def record(self) -> str | None:
        return self._record.path if self._record is not None else None

    def __enter__(self) -> Mount:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def guard(self, pids: Iterable[int]) -> None:
        """These processes read here, too: should the owner die, the mount stays until they have ended."""
        if self._record is not None:
            with open(f"{self._record.path}/guards", "a", encoding="ascii") as file:
                file.writelines(f"{pid} {supervisor.started_of(pid)}\n" for pid in pids)

    def problems(self) -> list[str]:
        """What could not be read, in words, for a script that has only seen "Input/output error"."""
        lines = self._record.log().splitlines() if self._record is not None else []
        return [line for line in lines if line.startswith("/")]  # the others are libfuse's own

    def close(self) -> None:
        if self._record is not None:
            syscalls.unmount(str(self.path))
            self._record.close(str(self.path))
            self._record = None
        elif self.is_link and os.path.islink(self.path):
            os.unlink(self.path)
        if self._view is not None:
            self._view.close()
            self._view = None


# ── Mounting ──────────────────────────────────────────────────────────────────────────────────────────────────────────


def mount_folder(spec: StoreSpec, folder: str, at: Path | str, cache: DataCache) -> Mount:
    """A folder (or, on this machine, a file) of a store at the path `at`. Remote ones are shown as they are now."""
    sweep(cache)
    store, top = open_later(spec), clean_folder(folder)
    if store.folder is not None:
        source = os.path.realpath(store.folder / top)
        if not os.path.exists(source):
            raise NotFound(f"there is no {source}", "look at the path on the datastore")
        return _show(source, str(at), cache, None)
    if not has_fuse():
        raise Unavailable("remote folders are mounted over FUSE, which this machine does not have", _NO_FUSE)
    return _serve(str(at), cache, {"": spec}, {"listing": None, "folder": top})


def mount_listing(
    listing: str,
    digest: str,
    stores: Mapping[str, StoreSpec],
    at: Path | str,
    cache: DataCache,
    *,
    how: How = "auto",
    report: Report | None = None,
) -> Mount:
    """The files of the listing in the file `listing` at the path `at`, which is free or an empty folder.

    `digest` is the listing's, as it was pinned. `report` is told of what is fetched before this returns, which is
    nothing where there is FUSE or an earlier run has left all of it.
    """
    sweep(cache)
    name = view_name(digest, stores)
    view = find_view(cache, name)
    if view is None:
        if how != "fetch" and has_fuse() and not all(spec.kind == FOLDER for spec in stores.values()):
            with contextlib.suppress(*([_NotServed] if how == "auto" else [])):
                return _serve(str(at), cache, stores, {"listing": os.path.abspath(listing), "name": name})
        elif how == "fuse":
            raise Unavailable("this machine has no FUSE", _NO_FUSE)
        with Listing(listing) as items:
            view = make_view(cache, name, items, {label: open_store(spec) for label, spec in stores.items()}, report)
    try:
        if any(open_later(spec).folder for spec in stores.values()):
            check_links(view.path)
        return _show(view.path, str(at), cache, view)
    except BaseException:
        view.close()
        raise


def lend_listing(
    listing: str,
    digest: str,
    stores: Mapping[str, StoreSpec],
    at: Path | str,
    changes: str,
    cache: DataCache,
    report: Report | None = None,
) -> Mount | None:
    """The files of the listing at `at`, to change as one likes: no copies, yet what is written goes to `changes` alone.

    None where that cannot be: `at` is not free, some of the data lies on this machine, or we may not mount.
    """
    if os.geteuid() != 0 or os.path.lexists(at) or any(open_later(spec).folder for spec in stores.values()):
        return None
    sweep(cache)
    name = view_name(digest, stores)
    view = find_view(cache, name)
    if view is None:
        if not syscalls.may_overlay(os.path.dirname(changes)):  # before all of it is fetched in vain
            return None
        with Listing(listing) as items:
            view = make_view(cache, name, items, {label: open_store(spec) for label, spec in stores.items()}, report)
    try:
        point = _free_point(str(at))
        record = _Record.new(cache, point)
        try:
            syscalls.overlay(view.path, changes, point)
        except OSError:  # this kernel, or the file system of the folders, does not have it
            record.close(point)
            view.close()
            return None
        record.start_keeper({"view": f"{view.path}.lock"})
        return Mount(point, "in place, changes apart", record, view)
    except BaseException:
        view.close()
        raise


_NO_FUSE = "install it (Debian, Ubuntu: apt-get install fuse3; pip install 'footplate[data]'), or download the data"


class _NotServed(Unavailable):
    pass


def has_fuse() -> bool:
    """Whether it looks so; all that is in Python is loaded by the process that serves."""
    if not os.access("/dev/fuse", os.R_OK | os.W_OK) or syscalls.fuse_library() is None:
        return False
    return importlib.util.find_spec("mfusepy") is not None


def _show(source: str, at: str, cache: DataCache, view: View | None) -> Mount:
    """In place, and read-only where the kernel lets us say so."""
    point = _free_point(at, is_file=os.path.isfile(source))
    record = _Record.new(cache, point)
    try:
        syscalls.bind_read_only(source, point)
    except OSError:
        record.close(point)
        os.symlink(source, point)
        return Mount(point, "in place", view=view, is_link=True)
    record.start_keeper({"view": f"{view.path}.lock" if view else None})
    return Mount(point, "in place, read-only", record, view)


def _serve(at: str, cache: DataCache, stores: Mapping[str, StoreSpec], task: dict[str, Any]) -> Mount:
    """Over FUSE. Where we may mount, nobody waits for the process that serves: a script is started beside it."""
    specs = {label: to_json(spec.check()) for label, spec in stores.items()}
    if task["listing"]:
        Listing(task["listing"]).close()  # a damaged one is an error here, and not in the script
    point = _free_point(at)
    record = _Record.new(cache, point)
    try:
        device = _mount_fuse(point)
        record.start_keeper(
            {"serve": True, "view": None, "stores": specs, "cache": cache.folder, "limit": cache.limit, **task}, device
        )
        if device is None:
            record.wait_until_ready()
    except BaseException:
        syscalls.unmount(point)
        record.close(point)
        raise
    return Mount(point, "over FUSE, read as it is needed", record)


def _mount_fuse(point: str) -> int | None:
    try:
        return syscalls.mount_fuse(point)
    except OSError:  # not root: libfuse asks its helper, once it is loaded
        return None


def _free_point(at: str, is_file: bool = False) -> str:
    """The path, where there is now an empty folder (or file) to mount on."""
    point = os.path.abspath(at)
    with contextlib.suppress(FileNotFoundError):
        if os.path.islink(point) or not os.path.isdir(point) or os.listdir(point):
            os.lstat(point)
            raise Conflict(f"{point} is there, and not an empty folder", "choose another place to mount at")
        os.rmdir(point)
    os.makedirs(os.path.dirname(point), exist_ok=True)
    if is_file:
        os.close(os.open(point, os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o444))
    else:
        os.mkdir(point)
    return point


# ── Records ───────────────────────────────────────────────────────────────────────────────────────────────────────────


class _Record:
    """The owner's side of what `keeper` describes."""

    def __init__(self, path: str, lock: int) -> None:
        self.path, self._lock = path, lock
        self._log: int | None = None
        self._keeper: subprocess.Popen[bytes] | None = None

    @staticmethod
    def new(cache: DataCache, point: str) -> _Record:
        folder = f"{cache.folder}/mounts"
        os.makedirs(folder, exist_ok=True)
        aside = tempfile.mkdtemp(prefix=".", dir=folder)
        lock = os.open(f"{aside}/owner.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        fcntl.flock(lock, fcntl.LOCK_EX)  # before it has a name: a record that nobody holds is swept
        with open(f"{aside}/mount.json", "w", encoding="utf-8") as file:
            json.dump({"at": point}, file)
        path = f"{folder}/{os.path.basename(aside)[1:]}"
        os.rename(aside, path)
        return _Record(path, lock)

    def start_keeper(self, task: dict[str, Any], device: int | None = None) -> None:
        """`device` is that of a FUSE mount, and the keeper's from here on."""
        self._log = os.memfd_create("mount", os.MFD_CLOEXEC)
        code = _BOOT.format(path=[os.path.abspath(folder) for folder in sys.path])
        with open(f"{self.path}/mount.json", encoding="utf-8") as file:
            line = json.dumps({"record": self.path, **json.load(file), "device": device, **task})
        try:
            self._keeper = subprocess.Popen(
                [sys.executable, "-I", "-S", "-c", code],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=self._log,
                start_new_session=True,  # a Ctrl-C is not for it
                cwd="/",
                pass_fds=[] if device is None else [device],
            )
        finally:
            if device is not None:
                os.close(device)
        assert self._keeper.stdin is not None
        with self._keeper.stdin as stdin:  # on stdin: there may be credentials in it
            stdin.write(line.encode() + b"\n")
        threading.Thread(target=self._keeper.wait, daemon=True).start()  # no zombie, whenever it ends

    def wait_until_ready(self) -> None:
        assert self._keeper is not None and self._keeper.stdout is not None
        ready, _, _ = select.select([self._keeper.stdout], [], [], _READY_SECONDS)
        if not ready or self._keeper.stdout.readline() != b"ready\n":
            words = self.log().strip().rpartition("\n")[2] or "it said nothing"
            raise _NotServed(f"FUSE could not mount the data: {words}", _NO_FUSE)

    def log(self) -> str:
        if self._log is None:
            return ""
        return os.pread(self._log, os.fstat(self._log).st_size, 0).decode(errors="replace")

    def close(self, point: str) -> None:
        """The keeper sees that the lock is free, and ends."""
        supervisor.remove(self.path, point)
        os.close(self._lock)
        if self._log is not None:
            os.close(self._log)
        if self._keeper is not None and self._keeper.stdout is not None:
            self._keeper.stdout.close()


def adopt(record: str) -> Mount | None:
    """The mount of an owner that was killed, for whoever takes its place; None when it is gone already."""
    try:
        lock = os.open(f"{record}/owner.lock", os.O_RDWR | os.O_CLOEXEC)
        fcntl.flock(lock, fcntl.LOCK_EX)
        with open(f"{record}/mount.json", encoding="utf-8") as file:
            point = json.load(file)["at"]
    except FileNotFoundError:
        return None
    return Mount(point, "adopted", _Record(record, lock))


def sweep(cache: DataCache) -> list[str]:
    """Unmount what is left of owners and keepers that were killed together, and say what that was."""
    with contextlib.suppress(FileNotFoundError):
        return [
            point for name in os.listdir(f"{cache.folder}/mounts") if (point := _sweep(f"{cache.folder}/mounts/{name}"))
        ]
    return []


def _sweep(record: str) -> str | None:
    held = list[int]()
    try:
        for name in ("owner.lock", "keeper.lock"):
            held.append(os.open(f"{record}/{name}", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600))
            fcntl.flock(held[-1], fcntl.LOCK_EX | fcntl.LOCK_NB)
        with open(f"{record}/mount.json", encoding="utf-8") as file:
            point = json.load(file)["at"]
        syscalls.unmount(point)
        supervisor.remove(record, point)
        return point
    except (BlockingIOError, FileNotFoundError):
        return None
    finally:
        for lock in held:
            os.close(lock)
