"""Data as a folder of this machine, for scripts that only know paths.

    data on this machine    in place: a read-only bind mount where that is allowed (root), otherwise a symlink
    a listing of remote     a view that an earlier run has left: in place as well, without any work per file
    files                   FUSE: files are fetched as they are read; complete files stay for the next run
                            no FUSE: everything is fetched, and then shown in place
                            writable (`mount_writable`): everything is fetched, and changes are kept apart

Each mount has a supervisor process (`supervisor`), which unmounts once the owner is gone, for whatever reason.
"""

from __future__ import annotations

import contextlib
import importlib.util
import json
import os
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Literal, cast

from footplate.content.listing import Listing
from footplate.data.cache import DataCache
from footplate.data.mounts import supervisor, syscalls
from footplate.data.mounts.views import View, check_links, find_view, make_view, view_name
from footplate.data.stores.base import Report
from footplate.data.stores.registry import open_lazily, open_store
from footplate.disk import FileLock
from footplate.domain.codec import to_json
from footplate.domain.data import FOLDER, StoreSpec
from footplate.domain.store_names import clean_folder
from footplate.errors import Conflict, NotFound, Unavailable

How = Literal["auto", "fuse", "fetch"]
"""`auto` uses FUSE if available; `fuse` requires it; `fetch` downloads everything before it returns."""

_READY_SECONDS = 60.0
_BOOT = "import sys; sys.path[:] = {path!r}; from footplate.data.mounts.supervisor import main; main()"


class Mount:
    """A mount. `path` goes to the script. `close` may be called more than once.

    `record` identifies the mount for `adopt`, by a process that replaces a killed owner. `is_link` means that nothing
    is mounted: `path` is a symlink to the data.
    """

    def __init__(
        self, path: str, record: _Record | None = None, view: View | None = None, is_link: bool = False
    ) -> None:
        self.path = Path(path)
        self.is_link = is_link
        self._record, self._view = record, view

    @property
    def record(self) -> str | None:
        return self._record.path if self._record is not None else None

    def __enter__(self) -> Mount:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def guard(self, pids: Iterable[int]) -> None:
        """Keep the mount until these processes have ended, even if the owner dies first."""
        if self._record is not None:
            with open(f"{self._record.path}/guards", "a", encoding="ascii") as file:
                file.writelines(f"{pid} {supervisor.start_time_of(pid)}\n" for pid in pids)

    def problems(self) -> list[str]:
        """Return the causes of failed reads, for a script that has only seen "Input/output error"."""
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
    """Show a folder or file of a store that is on this machine at the path `at`."""
    sweep(cache)
    source = os.path.realpath(cast(Path, open_lazily(spec).folder) / clean_folder(folder))
    if not os.path.exists(source):
        raise NotFound(f"{source} does not exist", "check the path on the datastore")
    return _show_in_place(source, str(at), cache, None)


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
    """Show the files of the listing in the file `listing` at the path `at`, which is free or an empty folder.

    `digest` is that of the pinned listing. `report` receives the progress of files fetched before this returns: none
    with FUSE, or if an earlier run has left all of them.
    """
    sweep(cache)
    name = view_name(digest, stores)
    view = find_view(cache, name)
    if view is None:
        if how != "fetch" and has_fuse() and not all(spec.kind == FOLDER for spec in stores.values()):
            with contextlib.suppress(*([_NotServed] if how == "auto" else [])):
                return _serve_fuse(str(at), cache, stores, {"listing": os.path.abspath(listing), "name": name})
        elif how == "fuse":
            raise Unavailable("this machine has no FUSE", _NO_FUSE)
        view = _make_view(cache, name, listing, stores, report)
    try:
        if any(open_lazily(spec).folder for spec in stores.values()):
            check_links(view.path)
        return _show_in_place(view.path, str(at), cache, view)
    except BaseException:
        view.close()
        raise


def mount_writable(
    listing: str,
    digest: str,
    stores: Mapping[str, StoreSpec],
    at: Path | str,
    changes: str,
    cache: DataCache,
    report: Report | None = None,
) -> Mount | None:
    """Show the files of the listing at `at`, writable but without copies: changes go to `changes` alone.

    Return None if that is impossible: `at` is not free, some of the data is on this machine, or we may not mount.
    """
    if os.geteuid() != 0 or os.path.lexists(at) or any(open_lazily(spec).folder for spec in stores.values()):
        return None
    sweep(cache)
    name = view_name(digest, stores)
    view = find_view(cache, name)
    if view is None:
        if not syscalls.can_overlay(os.path.dirname(changes)):  # checked before everything is fetched in vain
            return None
        view = _make_view(cache, name, listing, stores, report)
    try:
        point = _make_mount_point(str(at))
        record = _Record.new(cache, point)
        try:
            syscalls.overlay(view.path, changes, point)
        except OSError:  # unsupported by this kernel or file system
            record.close(point)
            view.close()
            return None
        record.start_supervisor({"view": f"{view.path}.lock"})
        return Mount(point, record, view)
    except BaseException:
        view.close()
        raise


def _make_view(
    cache: DataCache, name: str, listing: str, stores: Mapping[str, StoreSpec], report: Report | None
) -> View:
    with Listing(listing) as items:
        return make_view(cache, name, items, {label: open_store(spec) for label, spec in stores.items()}, report)


_NO_FUSE = "install it (Debian, Ubuntu: apt-get install fuse3; pip install 'footplate[data]'), or download the data"


class _NotServed(Unavailable):
    pass


def has_fuse() -> bool:
    """Return whether FUSE seems to be available. Its Python part is imported by the serving process only."""
    if not os.access("/dev/fuse", os.R_OK | os.W_OK) or syscalls.fuse_library() is None:
        return False
    return importlib.util.find_spec("mfusepy") is not None


def _show_in_place(source: str, at: str, cache: DataCache, view: View | None) -> Mount:
    """Show local data in place, read-only if the kernel permits that."""
    point = _make_mount_point(at, is_file=os.path.isfile(source))
    record = _Record.new(cache, point)
    try:
        syscalls.bind_read_only(source, point)
    except OSError:
        record.close(point)
        os.symlink(source, point)
        return Mount(point, view=view, is_link=True)
    record.start_supervisor({"view": f"{view.path}.lock" if view else None})
    return Mount(point, record, view)


def _serve_fuse(at: str, cache: DataCache, stores: Mapping[str, StoreSpec], task: dict[str, Any]) -> Mount:
    """Serve over FUSE. As root the mount exists at once, and the script starts while the serving process does."""
    specs = {label: to_json(spec.check()) for label, spec in stores.items()}
    Listing(task["listing"]).close()  # a damaged listing is an error here, not in the script
    point = _make_mount_point(at)
    record = _Record.new(cache, point)
    try:
        device = None
        with contextlib.suppress(OSError):  # not root: libfuse uses its setuid helper once it is loaded
            device = syscalls.mount_fuse(point)
        record.start_supervisor(
            {"serve": True, "view": None, "stores": specs, "cache": cache.folder, "limit": cache.limit, **task}, device
        )
        if device is None:
            record.wait_until_ready()
    except BaseException:
        syscalls.unmount(point)
        record.close(point)
        raise
    return Mount(point, record)


def _make_mount_point(at: str, is_file: bool = False) -> str:
    """Return the path, which now is an empty folder (or file) to mount on."""
    point = os.path.abspath(at)
    with contextlib.suppress(FileNotFoundError):
        if os.path.islink(point) or not os.path.isdir(point) or os.listdir(point):
            os.lstat(point)
            raise Conflict(f"{point} exists and is not an empty folder", "choose another mount point")
        os.rmdir(point)
    os.makedirs(os.path.dirname(point), exist_ok=True)
    if is_file:
        os.close(os.open(point, os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o444))
    else:
        os.mkdir(point)
    return point


# ── Records ───────────────────────────────────────────────────────────────────────────────────────────────────────────


class _Record:
    """The owner's side of the record that `supervisor` describes."""

    def __init__(self, path: str, lock: FileLock) -> None:
        self.path = path
        self._lock = lock
        self._log: int | None = None
        self._supervisor: subprocess.Popen[bytes] | None = None

    @staticmethod
    def new(cache: DataCache, point: str) -> _Record:
        folder = f"{cache.folder}/mounts"
        os.makedirs(folder, exist_ok=True)
        aside = tempfile.mkdtemp(prefix=".", dir=folder)
        lock = FileLock(f"{aside}/owner.lock")
        lock.take()  # before it has its name, because a record without a lock is swept
        with open(f"{aside}/mount.json", "w", encoding="utf-8") as file:
            json.dump({"at": point}, file)
        path = f"{folder}/{os.path.basename(aside)[1:]}"
        os.rename(aside, path)
        return _Record(path, lock)

    def start_supervisor(self, task: dict[str, Any], device: int | None = None) -> None:
        """Start the supervisor. It takes over `device`, the one of a FUSE mount."""
        self._log = os.memfd_create("mount", os.MFD_CLOEXEC)
        code = _BOOT.format(path=[os.path.abspath(folder) for folder in sys.path])
        with open(f"{self.path}/mount.json", encoding="utf-8") as file:
            line = json.dumps({"record": self.path, **json.load(file), "device": device, **task})
        try:
            self._supervisor = subprocess.Popen(
                [sys.executable, "-I", "-S", "-c", code],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=self._log,
                start_new_session=True,  # so that Ctrl-C does not reach it
                cwd="/",
                pass_fds=[] if device is None else [device],
            )
        finally:
            if device is not None:
                os.close(device)
        assert self._supervisor.stdin is not None
        with self._supervisor.stdin as stdin:  # on stdin, because it may contain credentials
            stdin.write(line.encode() + b"\n")
        threading.Thread(target=self._supervisor.wait, daemon=True).start()  # reaps the process, whenever it ends

    def wait_until_ready(self) -> None:
        assert self._supervisor is not None and self._supervisor.stdout is not None
        if (
            not syscalls.wait_readable([self._supervisor.stdout], _READY_SECONDS)
            or self._supervisor.stdout.readline() != b"ready\n"
        ):
            message = self.log().strip().rpartition("\n")[2] or "it printed no message"
            raise _NotServed(f"FUSE could not mount the data: {message}", _NO_FUSE)

    def log(self) -> str:
        if self._log is None:
            return ""
        return os.pread(self._log, os.fstat(self._log).st_size, 0).decode(errors="replace")

    def close(self, point: str) -> None:
        """Remove the record. The supervisor sees the free lock, and exits."""
        supervisor.remove(self.path, point)
        self._lock.close()
        if self._log is not None:
            os.close(self._log)
        if self._supervisor is not None and self._supervisor.stdout is not None:
            self._supervisor.stdout.close()


def adopt(record: str) -> Mount | None:
    """Return the mount of a killed owner to its successor, or None if it is already gone."""
    try:
        lock = FileLock(f"{record}/owner.lock", os.O_RDWR)
        lock.take()
        with open(f"{record}/mount.json", encoding="utf-8") as file:
            point = json.load(file)["at"]
    except FileNotFoundError:
        return None
    return Mount(point, _Record(record, lock))


def sweep(cache: DataCache) -> list[str]:
    """Unmount what owners and supervisors that were killed together have left. Return the mount points."""
    with contextlib.suppress(FileNotFoundError):
        return [
            point for name in os.listdir(f"{cache.folder}/mounts") if (point := _sweep(f"{cache.folder}/mounts/{name}"))
        ]
    return []


def _sweep(record: str) -> str | None:
    try:
        with FileLock(f"{record}/owner.lock") as owner:
            if not owner.try_take():
                return None
            with FileLock(f"{record}/supervisor.lock") as lock, open(f"{record}/mount.json", encoding="utf-8") as file:
                if not lock.try_take():
                    return None
                point = json.load(file)["at"]
                syscalls.unmount(point)
                supervisor.remove(record, point)
                return point
    except FileNotFoundError:
        return None
