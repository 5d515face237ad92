"""Save `./checkpoints` while the ranks run, and restore it for the next attempt.

The server has one complete version of the folder per node at any time: new files are stored as blobs first, and then
one request replaces the list of names. An agent, node or server that dies in between leaves the version before.

A file is saved when it is complete: the kernel has reported so (`file_completion`), or two looks find it unchanged, and
no rank has it open for writing. The folder is saved when all of its files are complete, so that files which belong
together stay together; a folder that is written without a pause is saved file by file after a while. A file is linked
first, so that the next one can take its place while it is read. Files that are unchanged are not read again.
"""

from __future__ import annotations

import contextlib
import json
import os
import threading
import time
from collections.abc import Generator, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Callable, NamedTuple

from footplate.backoff import Backoff
from footplate.content.blobs import BlobFolder
from footplate.disk import atomic_write
from footplate.domain.orders import CHECKPOINTS, NodeOrders, checkpoint_folder, checkpoint_folders
from footplate.errors import Broken, Conflict, FootplateError, InvalidInput, NotAllowed, NotFound, Unavailable
from footplate.lazy import Deferred
from footplate.node import host_info, process_tree, snapshot
from footplate.node.delivery.disk_wait import DiskWait
from footplate.node.delivery.file_completion import Completion, Stamp
from footplate.node.delivery.output_files import Output, store_of
from footplate.node.delivery.server_link import BACKOFF, Abandoned, Link
from footplate.node.node_directory import NodeFolder, regular_files

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

SOON_SECONDS = 0.1
"""Seconds between the looks at a folder in which something has happened."""

SETTLE_SECONDS = 10.0
"""The most seconds to wait for the last files of a rank that was warned of a time limit."""

Say = Callable[[str], None]


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
    blobs = BlobFolder(os.path.join(folder.home, "blobs"))
    own = checkpoint_folder(orders.node)
    saved = link.retry(lambda: link.files(CHECKPOINTS))
    files: dict[str, FileView] = {}
    for prefix in sorted(checkpoint_folders(orders.nodes), key=lambda name: name == own):
        files.update({f.path[len(prefix) + 1 :]: f for f in saved if f.path.startswith(f"{prefix}/")})
    for name, file in files.items():
        target = os.path.join(folder.wd, CHECKPOINTS, name)
        os.makedirs(os.path.dirname(target), exist_ok=True)
        snapshot.bring_file(file.digest or "", link, home, blobs)
        blobs.copy_to(file.digest or "", target)
    return {name: file.digest or "" for name, file in files.items() if file.path.startswith(f"{own}/")}


class CheckpointSaver:
    """Saves the checkpoints of one node. `writers` returns the processes of its ranks.

    `has_failed` returns whether one of them has failed: files that are not complete by then may stay unfinished.
    """

    def __init__(
        self, link: Link, folder: NodeFolder, orders: NodeOrders, home: str | None, writers: Callable[[], list[int]],
        say: Say, look_seconds: float = LOOK_SECONDS, patience: float = PATIENCE_SECONDS,
        has_failed: Callable[[], bool] = lambda: False,
    ) -> None:  # fmt: skip
        self._link, self._folder, self._writers, self._say = link, folder, writers, say
        self._has_failed = has_failed
        self._prefix = checkpoint_folder(orders.node)
        self._limit = orders.full_disk_seconds
        self._store = store_of(home, link, folder, orders, keep=True, say=say)
        self._look_seconds, self._patience = look_seconds, patience
        self._index = os.path.join(folder.path, "checkpoints.json")
        self._links = os.path.join(folder.path, "checkpoint_links")
        self._saved = _read_index(self._index)
        self._seen: dict[str, _File] = {}  # by the last look
        self._complete: dict[str, _File] = {}  # files that the last look found complete
        self._doubtful: dict[str, _File] | None = None  # files that a failure may have left unfinished
        self._looks = 0
        self._has_news = False  # something has happened since the last look
        self._unsaved_since: float | None = None
        self._warned: set[str] = set()
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, name="checkpoints", daemon=True)
        self._completion = Completion(CHECKPOINTS, folder.wd, lambda: process_tree.shows_open_files(writers()))

    def begin(self, restored: Mapping[str, str]) -> None:
        """Note the files that are there before the ranks start: restored ones, and those of the snapshot."""
        before = self._saved
        self._saved = {name: _Version(file.stamp, restored.get(name)) for name, file in self._look().items()}
        if self._saved != before:  # most runs have no such file, and need no index
            self._write_index()

    def start(self) -> None:
        if self._thread.ident is None:
            self._thread.start()

    def settle(self, limit: float = SETTLE_SECONDS) -> None:
        """Wait until the thread has found out which of the files that are there now are complete."""
        self.start()
        enough = self._looks + 3  # the look in progress may have begun before
        end = time.monotonic() + limit
        while self._looks < enough and self._thread.is_alive() and time.monotonic() < end:
            self._stopping.wait(self._look_seconds / 10)

    def finish(self, trusts: bool) -> None:
        """Save for the last time; the ranks are dead. Without `trusts`, only files that were complete before that."""
        self._stopping.set()
        self._completion.wake()
        if self._thread.ident is not None:
            self._thread.join()
        self._completion.note_events()
        self._completion.close()
        try:
            DiskWait(self._link, self._limit, self._say).run(lambda: self._save_last(trusts), "the checkpoints")
        except (Conflict, NotFound, NotAllowed) as error:
            self._say(f"the run does not need its checkpoints any more: {error.message}")
        except (FootplateError, OSError) as error:
            self._warn(f"the last checkpoints could not be saved: {error}")

    # ── The thread ────────────────────────────────────────────────────────────────────────────────────────────────────

    def _run(self) -> None:
        host_info.step_back()
        self.watch()
        backoff = Backoff(*BACKOFF)
        pause = self._look_seconds
        while True:
            is_look = self._wait(pause)
            if self._stopping.is_set():
                return
            try:
                self.save_in_time() if is_look else self.save_reported()
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

    def watch(self) -> None:
        """Use the kernel's events from now on, where there are any."""
        try:
            self._completion.begin()
        except (OSError, ImportError, AttributeError) as error:  # no inotify, or no ctypes
            self._say(f"checkpoints are found by looking for them every second: {error}")

    def _wait(self, seconds: float) -> bool:
        """Wait until it is time to look again; return False if a folder in which something happened is quiet before."""
        end = time.monotonic() + seconds
        while not self._stopping.is_set() and (remaining := end - time.monotonic()) > 0:
            if self._has_news and self._completion.is_quiet:
                self._has_news = False
                return False
            if self._completion.is_watching and not self._has_news:
                self._completion.wait(remaining)
            else:
                self._stopping.wait(min(remaining, SOON_SECONDS) if self._has_news else remaining)
            self._note_events()
        return True

    def _note_events(self) -> None:
        self._has_news = self._completion.note_events() or self._has_news

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
        if not self._is_overdue(self._patience):
            return False
        self._stopping.wait(MOMENT_SECONDS)
        return self.save()

    def _is_overdue(self, patience: float) -> bool:
        return self._unsaved_since is not None and time.monotonic() - self._unsaved_since >= patience

    def save(self) -> bool:
        """Look once, and save what has changed if the files are complete; return whether something was saved."""
        self._note_events()
        before = self._seen
        now = self._look()
        self._seen = now
        self._looks += 1
        same = {name for name, file in now.items() if before.get(name) == file}
        return self._save(now, same, is_quiet=before.keys() == now.keys() and self._completion.is_quiet)

    def save_reported(self) -> bool:
        """Save as `save` does, between two looks, what the kernel reports to be complete."""
        self._note_events()
        return self._save(self._look(), set(), self._completion.is_quiet)

    def _save(self, now: Mapping[str, _File], same: set[str], is_quiet: bool) -> bool:
        changed = self._find_changed(now)
        self._complete = self._find_complete(now, changed, same)
        if not changed:
            self._unsaved_since = None
            return False  # files that are only gone stay saved until others take their place
        self._unsaved_since = self._unsaved_since or time.monotonic()
        is_quiet = is_quiet and self._complete.keys() == changed
        # A single file belongs to no other: it need not wait for a pause.
        if not is_quiet and not self._is_overdue(self._patience if len(changed) > 1 else self._look_seconds):
            return False
        return self._put(now, self._complete, whole=is_quiet)

    def _find_complete(self, now: Mapping[str, _File], changed: set[str], same: set[str]) -> dict[str, _File]:
        """Return the changed files that are complete; `same` are those that two looks have found unchanged."""
        closed = {name: now[name] for name in changed if name in same or self._is_reported(now[name])}
        closed.update({name: now[name] for name in changed if self._complete.get(name) == now[name]})
        if changed and self._doubtful is None and self._has_failed():
            self._doubtful = {name: now[name] for name in changed if not self._was_complete(name, now[name])}
        doubtful = self._doubtful or {}
        written = process_tree.open_for_writing(self._writers() if closed else ())
        return {
            name: file
            for name, file in closed.items()
            if file.stamp[2:] not in written and doubtful.get(name) != file
        }  # fmt: skip

    def _is_reported(self, file: _File) -> bool:
        return self._completion.is_complete(file.path, file.stamp)

    def _was_complete(self, name: str, file: _File) -> bool:
        """Whether a file was complete at the last look, or was moved to its place."""
        return self._complete.get(name) == file or self._completion.was_moved(file.path, file.stamp)

    def _save_last(self, trusts: bool) -> None:
        now = self._look()
        if trusts:
            self._put(now, self._find_changed(now), whole=True, removes=True)
        else:
            complete = {name for name, file in now.items() if self._was_complete(name, file)}
            self._put(now, complete & self._find_changed(now), whole=False)

    def _look(self) -> dict[str, _File]:
        root = os.path.join(self._folder.wd, CHECKPOINTS)
        files: dict[str, _File] = {}
        for name, path in regular_files(root, self._folder.wd):
            stamp = Stamp.of(path)
            if stamp is not None:
                files[name] = _File(path, stamp)
        self._completion.watch_directories({file.path for file in files.values()})
        return files

    def _find_changed(self, now: Mapping[str, _File]) -> set[str]:
        return {name for name, file in now.items() if name not in self._saved or self._saved[name].stamp != file.stamp}

    def _put(self, now: Mapping[str, _File], names: Iterable[str], whole: bool, removes: bool = False) -> bool:
        """Store these files and publish the new version; `whole`: only if none of them has changed meanwhile."""
        names = sorted(names)
        stored = {view.path: view.digest for view in self._store_files(now, names)}
        if (not stored and not removes) or (whole and len(stored) < len(names)):
            return False
        unchanged = {name: version for name, version in self._saved.items() if name in now}
        version = {**unchanged, **{name: _Version(now[name].stamp, digest) for name, digest in stored.items()}}
        if version == self._saved:
            return False
        self._publish(version)
        self._saved = version
        self._unsaved_since = None
        self._write_index()
        return True

    def _store_files(self, now: Mapping[str, _File], names: Sequence[str]) -> list[FileView]:
        """Store files; return those that have not changed meanwhile."""
        with _links([now[name].path for name in names], self._links) as paths:
            outputs = [Output(path, [name]) for path, name in zip(paths, names)]

            def is_unchanged(output: Output) -> bool:
                return Stamp.of(output.path) == now[output.names[0]].stamp

            outputs = [output for output in outputs if is_unchanged(output)]
            try:
                views = self._store.put(outputs) if outputs else []
            except (InvalidInput, OSError):
                if all(is_unchanged(output) for output in outputs):
                    raise
                return []  # a file was written or removed while it was read: the next look tells
            unchanged = {output.names[0] for output in outputs if is_unchanged(output)}
            return [view for view in views if view.path in unchanged]

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


@contextlib.contextmanager
def _links(paths: Sequence[str], folder: str) -> Generator[list[str], None, None]:
    """Give files names that nobody else uses: what replaces one leaves the link as it is. Not all can be linked."""
    _remove_links(folder)  # of an agent that was killed
    try:
        yield [_link(path, os.path.join(folder, str(number))) for number, path in enumerate(paths)]
    finally:
        _remove_links(folder)


def _link(path: str, link: str) -> str:
    try:
        os.makedirs(os.path.dirname(link), exist_ok=True)
        os.link(path, link)
    except OSError:  # another file system, another user's file, or a file system without links
        return path
    return link


def _remove_links(folder: str) -> None:
    with contextlib.suppress(OSError):
        for name in os.listdir(folder):
            os.unlink(os.path.join(folder, name))
        os.rmdir(folder)
