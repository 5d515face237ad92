"""Ship what grows, logs and metric journals, by byte offset: a repeated or interrupted request changes nothing."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from footplate.domain.launch import NodeOrders
from footplate.errors import Conflict, FootplateError, OutOfSpace, Unavailable
from footplate.job import journal_format
from footplate.node.node_directory import NodeFolder, regular_files
from footplate.node.shipping.server_link import Link

PIECE = 1 << 20
"""The most that one request carries."""

_SAMPLES_SECONDS = 6.0
"""How often samples of the machine are sent: with every other heartbeat, as a server that is awake answers with half
the effort. Nobody waits for them, and each request takes time from the training."""

_GLANCE = 32 * journal_format.SLOT
_TAIL = 256


@dataclass
class _LogState:
    """How much of a file the server has, and how the file looked then."""

    offset: int
    file: tuple[int, int] | None = None  # device and inode
    seen: tuple[int, int] | None = None  # size and time of the last change
    tail: bytes = b""  # the last bytes shipped: when they differ now, the file was written anew


class NodeShipper:
    """Knows what the server has. `ship` sends at most one piece of each file, so that no file starves another.

    `bases` tells how long the server's logs were when this attempt of the run began: it goes on where they ended.
    """

    def __init__(
        self,
        link: Link,
        folder: NodeFolder,
        orders: NodeOrders,
        say: Callable[[str], None],
        bases: Mapping[str, int] | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._link = link
        self._clock = clock
        self._folder = folder
        self._run = orders.run
        self._system = f"node_{orders.node}"
        self._agent_log = f"system_logs/node_{orders.node}.txt"
        self._watch = orders.watch if folder.keeps_wd else ()
        self._say = say
        self._shipped_logs: dict[str, Any] = orders.shipped.get("logs") or {}
        self._bases = bases or {}
        self._logs: dict[str, _LogState] = {}
        self._journals: dict[str, int] = dict(orders.shipped.get("journals") or {})
        self._refused: set[str] = set()
        self._samples_due = 0.0

    def ship(self, writers_are_dead: bool = False) -> bool:
        """One pass over everything; says whether anything was sent that there may be more of at once."""
        sent = False
        for name, path in self._log_files():
            sent = self._unless_refused(name, lambda n=name, p=path: self._ship_log(n, p)) or sent
        now = self._clock()
        for run, writer in self._writers():
            samples = self._are_samples(run, writer)
            if samples and now < self._samples_due and not writers_are_dead:
                continue
            read = journal_format.everything if writers_are_dead else _finished
            key = f"{run}/{writer}"
            if self._unless_refused(key, lambda r=run, w=writer, f=read: self._ship_journal(r, w, f)):
                if samples:
                    self._samples_due = now + _SAMPLES_SECONDS
                sent = sent or writers_are_dead or not samples
        return sent

    def _unless_refused(self, name: str, send: Callable[[], bool]) -> bool:
        """A file that the server will never take must not hold up the others, nor the end of the run."""
        if name in self._refused:
            return False
        try:
            return send()
        except (Unavailable, OutOfSpace):  # both pass: the file is kept and tried again
            raise
        except FootplateError as error:
            self._refused.add(name)
            self._say(f"the server does not take {name}: {error.message}")
            return False
        except FileNotFoundError:
            return False

    # ── Logs ──────────────────────────────────────────────────────────────────────────────────────────────────────────

    def _log_files(self) -> list[tuple[str, str]]:
        found = list(regular_files(self._folder.logs, self._folder.path))
        for name in self._watch:
            root = os.path.join(self._folder.wd, name)
            found += [(f"{name}/{path}", real) for path, real in regular_files(root, self._folder.wd)]
        return [*found, (self._agent_log, self._folder.agent_log)]

    def _ship_log(self, name: str, path: str) -> bool:
        info = os.stat(path)
        log = self._logs.setdefault(name, _LogState(max(0, int(self._shipped_logs.get(name, 0)) - self._base(name))))
        seen = (info.st_size, info.st_mtime_ns)
        if seen == log.seen and log.offset == info.st_size:
            return False
        with open(path, "rb") as file:
            replaced = self._was_replaced(log, info, file.fileno())
            if replaced:
                log.offset, log.tail = 0, b""
            data = os.pread(file.fileno(), PIECE, log.offset)
        log.file, log.seen = (info.st_dev, info.st_ino), seen
        if not data and not replaced:
            return False
        return self._send_log(name, log, data, replaced)

    @staticmethod
    def _was_replaced(log: _LogState, info: os.stat_result, file: int) -> bool:
        if log.file is not None and log.file != (info.st_dev, info.st_ino):
            return True
        if info.st_size < log.offset:
            return True
        return bool(log.tail) and os.pread(file, len(log.tail), log.offset - len(log.tail)) != log.tail

    def _base(self, name: str) -> int:
        return self._bases.get(name, 0)

    def _send_log(self, name: str, log: _LogState, data: bytes, replace: bool) -> bool:
        offset = self._base(name) + log.offset
        try:
            self._link.append_log(name, offset, data, replace)
        except Conflict as error:
            log.offset, log.tail, log.seen = max(0, _agreed(error, offset) - self._base(name)), b"", None
            return True
        log.offset += len(data)
        log.tail = (log.tail + data)[-_TAIL:]
        return True

    # ── Journals ──────────────────────────────────────────────────────────────────────────────────────────────────────

    def _writers(self) -> list[tuple[str, str]]:
        runs = sorted(os.listdir(self._folder.journals))
        return [
            (run, writer) for run in runs for writer in journal_format.writers(os.path.join(self._folder.journals, run))
        ]

    def _are_samples(self, run: str, writer: str) -> bool:
        """Of the machine, taken by the agent."""
        return run == self._run and writer.startswith(self._system)

    def _ship_journal(self, run: str, writer: str, read: Callable[[str, int, int], bytes]) -> bool:
        base, key = os.path.join(self._folder.journals, run, writer), f"{run}/{writer}"
        data = read(base + ".slots", self._journals.get(key + ".slots", 0), PIECE)
        if not data:
            return False
        # Read after the slots and sent before them: whoever has a slot has its text.
        while text := journal_format.read_text(base + ".text", self._journals.get(key + ".text", 0), PIECE):
            if not self._send_journal(run, writer, "text", text):
                return True
        self._send_journal(run, writer, "slots", data)
        return True

    def _send_journal(self, run: str, writer: str, part: str, data: bytes) -> bool:
        key = f"{run}/{writer}.{part}"
        offset = self._journals.get(key, 0)
        try:
            self._link.append_journal(run, writer, part, offset, data, self._are_samples(run, writer))
        except Conflict as error:
            self._journals[key] = _agreed(error, offset)
            return False
        self._journals[key] = offset + len(data)
        return True


def _finished(path: str, offset: int, limit: int) -> bytes:
    """As `slots.finished_prefix`, but with a glance first: an idle journal is a long row of zeros."""
    glance = journal_format.finished_prefix(path, offset, _GLANCE)
    return glance if len(glance) < _GLANCE else journal_format.finished_prefix(path, offset, limit)


def _agreed(error: Conflict, ours: int) -> int:
    """Where the server wants us to go on. A refusal that says nothing new is no gap, but a refusal."""
    size = error.details.get("size")
    if not isinstance(size, int) or size == ours:
        raise error
    return size
