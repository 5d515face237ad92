"""Save `./checkpoints` while the ranks run, and restore it for the next attempt.

The server has one complete version of the folder per node at any time: new files are stored as blobs first, and then
one request replaces the list of names. An agent, node or server that dies in between leaves the version before.

A file is saved when it is complete: two looks find it unchanged, and no rank has it open for writing. The folder is
saved when all of its files are complete, so that files which belong together stay together; a folder that is written
without a pause is saved file by file after a while, and a file that is written anew before each look is saved when a
second look a moment later finds it unchanged. Files that are unchanged are not read again.
"""

from __future__ import annotations

import json
import os
import threading
import time
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Callable, NamedTuple

from footplate.backoff import Backoff
from footplate.content.blobs import BlobFolder
from footplate.disk import atomic_write
from footplate.domain.orders import CHECKPOINTS, NodeOrders, checkpoint_folder, checkpoint_folders
from footplate.errors import Broken, Conflict, FootplateError, InvalidInput, NotAllowed, NotFound, Unavailable
from footplate.lazy import Deferred
from footplate.node import host_info, process_tree, snapshot
from footplate.node.node_directory import NodeFolder, regular_files
from footplate.node.shipping.disk_wait import DiskWait
from footplate.node.shipping.outputs import Output, store_of
from footplate.node.shipping.server_link import BACKOFF, Abandoned, Link

if TYPE_CHECKING:
    from footplate.domain import records
    from footplate.domain.records import FileView
else:
    records = Deferred("footplate.domain.records")  # no file is named before the ranks have started

LOOK_SECONDS = 1.0
PATIENCE_SECONDS = 60.0
"""Seconds after which complete files are saved although others in the folder are being written."""

MOMENT_SECONDS = 0.02
"""Seconds between the two looks at a folder that has changed at every look for so long."""

SETTLE_SECONDS = 10.0
"""The most seconds to wait for the last files of a rank that was warned of a time limit."""

Say = Callable[[str], None]


class Stamp(NamedTuple):
    """The signs by which a changed file is recognized."""

    size: int
    modified: int  # nanoseconds
    device: int
    inode: int


class _File(NamedTuple):
    path: str
    stamp: Stamp


class _Version(NamedTuple):
    """A version of a file. Without a digest it was there before the ranks started, and is not this node's to save."""

    stamp: Stamp
    digest: str | None


def restore(link: Link, home: str | None, folder: NodeFolder, orders: NodeOrders) -> dict[str, str]:
    """Write the saved checkpoints of all nodes to the working directory; return digests of this node's own, by name.

    Every node gets all files, because ranks may be on other nodes now. Of two files with one name, its own wins.
    """
    blobs, own = BlobFolder(os.path.join(folder.home, "blobs")), checkpoint_folder(orders.node)
    saved = link.retry(lambda: link.files(CHECKPOINTS))
    found: dict[str, FileView] = {}
    for prefix in sorted(checkpoint_folders(orders.nodes), key=lambda name: name == own):
        found.update({f.path[len(prefix) + 1 :]: f for f in saved if f.path.startswith(f"{prefix}/")})
    for name, file in found.items():
        target = os.path.join(folder.wd, CHECKPOINTS, name)
        os.makedirs(os.path.dirname(target), exist_ok=True)
        snapshot.bring_file(file.digest or "", link, home, blobs)
        blobs.copy_to(file.digest or "", target)
    return {name: file.digest or "" for name, file in found.items() if file.path.startswith(f"{own}/")}


class CheckpointSaver:
    """Saves the checkpoints of one node. `writers` returns the processes of its ranks."""

    def __init__(
        self, link: Link, folder: NodeFolder, orders: NodeOrders, home: str | None, writers: Callable[[], list[int]],
        say: Say, look_seconds: float = LOOK_SECONDS, patience: float = PATIENCE_SECONDS,
    ) -> None:  # fmt: skip
        self._link, self._folder, self._writers, self._say = link, folder, writers, say
        self._prefix, self._limit = checkpoint_folder(orders.node), orders.full_disk_seconds
        self._store = store_of(home, link, folder, orders, keep=True, say=say)
        self._look_seconds, self._patience = look_seconds, patience
        self._index = os.path.join(folder.path, "checkpoints.json")
        self._saved = _read_index(self._index)
        self._seen: dict[str, _File] = {}  # by the last look
        self._complete: set[str] = set()  # files that the last look found complete
        self._looks = 0
        self._unsaved_since: float | None = None
        self._warned: set[str] = set()
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, name="checkpoints", daemon=True)

    def begin(self, restored: Mapping[str, str]) -> None:
        """Note the files that are there before the ranks start: restored ones, and those of the snapshot."""
        known = self._saved
        self._saved = {name: _Version(file.stamp, restored.get(name)) for name, file in self._look().items()}
        if self._saved != known:  # most runs have no such file, and need no index
            self._write_index()

    def start(self) -> None:
        if self._thread.ident is None:
            self._thread.start()

    def settle(self, limit: float = SETTLE_SECONDS) -> None:
        """Wait until the thread has found out which of the files that are there now are complete."""
        self.start()
        wanted, end = self._looks + 3, time.monotonic() + limit  # the look in progress may have begun before
        while self._looks < wanted and self._thread.is_alive() and time.monotonic() < end:
            self._stopping.wait(self._look_seconds / 10)

    def finish(self, trusts: bool) -> None:
        """Save for the last time; the ranks are dead. Without `trusts`, only files that were complete before that."""
        self._stopping.set()
        if self._thread.ident is not None:
            self._thread.join()
        try:
            DiskWait(self._link, self._limit, self._say).run(lambda: self._save_last(trusts), "the checkpoints")
        except (Conflict, NotFound, NotAllowed) as error:
            self._say(f"the run does not need its checkpoints any more: {error.message}")
        except (FootplateError, OSError) as error:
            self._warn(f"the last checkpoints could not be saved: {error}")

    # ── The thread ────────────────────────────────────────────────────────────────────────────────────────────────────

    def _run(self) -> None:
        host_info.step_back()
        backoff, pause = Backoff(*BACKOFF), self._look_seconds
        while not self._stopping.wait(pause):
            try:
                self.save_in_time()
                backoff.reset()
                pause = self._look_seconds
            except (Conflict, NotFound, NotAllowed, Abandoned) as error:
                self._say(f"checkpoints are not saved any more: {error}")
                return
            except (Unavailable, Broken):
                pause = max(self._look_seconds, backoff.next())
            except (FootplateError, OSError) as error:
                self._warn(f"the checkpoints could not be saved: {error}")
                pause = max(self._look_seconds, backoff.next())

    def _warn(self, message: str) -> None:
        if message not in self._warned:
            self._warned.add(message)
            self._say(message)
            try:
                self._link.warn(message)
            except FootplateError as error:
                self._say(f"the warning could not be sent: {error.message}")

    # ── Saving ────────────────────────────────────────────────────────────────────────────────────────────────────────

    def save_in_time(self) -> bool:
        """Save as `save` does. Look twice at a folder that has waited for too long: its files may change faster."""
        if self.save():
            return True
        if not self._is_overdue():
            return False
        self._stopping.wait(MOMENT_SECONDS)
        return self.save()

    def _is_overdue(self) -> bool:
        return self._unsaved_since is not None and time.monotonic() - self._unsaved_since >= self._patience

    def save(self) -> bool:
        """Look once, and save what has changed if the files are complete; return whether something was saved."""
        before, now = self._seen, self._look()
        changed = self._changed(now)
        still = {name for name in changed if before.get(name) == now[name]}
        written = process_tree.open_for_writing(self._writers() if still else ())
        self._complete = {name for name in still if now[name].stamp[2:] not in written}
        self._seen = now
        self._looks += 1
        if not changed:
            self._unsaved_since = None
            return False  # files that are only gone stay saved until others take their place
        self._unsaved_since = self._unsaved_since or time.monotonic()
        is_quiet = self._complete == changed and before.keys() == now.keys()
        if not is_quiet and not self._is_overdue():
            return False
        return self._put(now, self._complete, whole=is_quiet)

    def _save_last(self, trusts: bool) -> None:
        now = self._look()
        if trusts:
            self._put(now, self._changed(now), whole=True, removes=True)
        else:
            kept = {name for name in self._complete if now.get(name) == self._seen.get(name)}
            self._put(now, kept & self._changed(now), whole=False)

    def _look(self) -> dict[str, _File]:
        root = os.path.join(self._folder.wd, CHECKPOINTS)
        found: dict[str, _File] = {}
        for name, path in regular_files(root, self._folder.wd):
            stamp = _stamp(path)
            if stamp is not None:
                found[name] = _File(path, stamp)
        return found

    def _changed(self, now: Mapping[str, _File]) -> set[str]:
        return {name for name, file in now.items() if name not in self._saved or self._saved[name].stamp != file.stamp}

    def _put(self, now: Mapping[str, _File], names: Iterable[str], whole: bool, removes: bool = False) -> bool:
        """Store these files and publish the new version; `whole`: only if none of them has changed meanwhile."""
        outputs = [Output(now[name].path, [name]) for name in sorted(names)]
        stored = {view.path: view.digest for view in self._stored(now, outputs)}
        if (not stored and not removes) or (whole and len(stored) < len(outputs)):
            return False
        kept = {name: version for name, version in self._saved.items() if name in now}
        version = {**kept, **{name: _Version(now[name].stamp, digest) for name, digest in stored.items()}}
        if version == self._saved:
            return False
        self._publish(version)
        self._saved, self._unsaved_since = version, None
        self._write_index()
        return True

    def _stored(self, now: Mapping[str, _File], outputs: Sequence[Output]) -> list[FileView]:
        """Store files; return those that have not changed meanwhile."""

        def is_unchanged(name: str) -> bool:
            return _stamp(now[name].path) == now[name].stamp

        try:
            views = self._store.put(outputs) if outputs else []
        except (InvalidInput, OSError):
            if all(is_unchanged(output.names[0]) for output in outputs):
                raise
            return []  # a file was written or removed while it was read: the next look tells
        return [view for view in views if is_unchanged(view.path)]

    def _publish(self, version: Mapping[str, _Version]) -> None:
        files = [
            records.FileView(f"{self._prefix}/{name}", each.stamp.size, each.digest)
            for name, each in sorted(version.items())
            if each.digest is not None
        ]
        skipped = self._link.save_checkpoints(files)
        if skipped:
            self._warn(f"not saved, because the run has uploaded files of these names: {', '.join(skipped)}")

    def _write_index(self) -> None:
        rows = {name: [*version.stamp, version.digest] for name, version in self._saved.items()}
        try:
            atomic_write(self._index, json.dumps(rows).encode("utf-8", "surrogateescape"), durable=False)
        except OSError as error:  # a full disk: the next agent only reads more files than it must
            self._say(f"the index of the checkpoints could not be written: {error}")


def _read_index(path: str) -> dict[str, _Version]:
    try:
        with open(path, encoding="utf-8", errors="surrogateescape") as file:
            rows: dict[str, Any] = json.load(file)
        return {name: _Version(Stamp(*row[:-1]), row[-1]) for name, row in rows.items()}
    except (OSError, ValueError):
        return {}


def _stamp(path: str) -> Stamp | None:
    try:
        info = os.stat(path)
    except OSError:
        return None
    return Stamp(info.st_size, info.st_mtime_ns, info.st_dev, info.st_ino)
