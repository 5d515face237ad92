"""Ship the logs and journals of a node: which files, how often, and what happens to refused ones."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial

from footplate.domain.orders import NodeOrders
from footplate.domain.shipments import LARGEST_PIECE, LOG, MOST_PIECES, FilePiece, encode
from footplate.errors import FootplateError, OutOfSpace, Unavailable
from footplate.growing_files import GrowingFiles, JournalPiece, JournalShipper, LogShipper
from footplate.job import journal_format
from footplate.node.delivery import log_limit
from footplate.node.node_directory import NodeFolder, regular_files
from footplate.node.snapshot import SourceFiles

_SAMPLES_SECONDS = 6.0
"""How often machine samples are sent: with every other heartbeat, because a server that is awake answers with half the
effort. Nobody waits for them, and each request takes time from the training."""


@dataclass
class Gathered:
    """Small pieces to send together. `complete`: nothing else is to be sent now."""

    complete: bool = True
    has_news: bool = False  # more than samples of the machine
    pieces: list[FilePiece] = field(default_factory=lambda: [])
    accepts: list[Callable[[], None]] = field(default_factory=lambda: [])

    def add(self, piece: FilePiece, accept: Callable[[], None]) -> None:
        self.pieces.append(piece)
        self.accepts.append(accept)
        self.has_news = self.has_news or not piece.system

    def confirm(self, stored: int) -> bool:
        """Remember that the server has the first pieces; return whether it has everything."""
        for accept in self.accepts[:stored]:
            accept()
        return self.complete and stored == len(self.pieces)


class NodeShipper:
    """Ships everything that grows on one node. `ship` sends at most one piece of each file, so that none starves.

    `bases` holds the sizes of the server's logs when this attempt of the run began: the attempt appends to them.
    """

    def __init__(
        self,
        server: GrowingFiles,
        folder: NodeFolder,
        orders: NodeOrders,
        say: Callable[[str], None],
        bases: Mapping[str, int] | None = None,
        with_logs: bool = True,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        sizes: dict[str, int] = orders.shipped.get("logs") or {}
        journals: dict[str, int] = orders.shipped.get("journals") or {}
        self._log_shipper = LogShipper(server, orders.run, lambda name: sizes.get(name, 0), bases)
        self._log_limit = orders.log_limit
        self._bases = bases or {}
        self._journal_shipper = JournalShipper(
            server, lambda run, writer, part: journals.get(f"{run}/{writer}.{part}", 0)
        )
        self._clock, self._with_logs = clock, with_logs
        self._folder = folder
        self._run = orders.run
        self._system = f"node_{orders.node}"
        self._agent_log = f"system_logs/node_{orders.node}.txt"
        self._watch = orders.watch if folder.keeps_wd else ()
        self._source_files = SourceFiles(folder)
        self._say = say
        self._refused: set[str] = set()
        self._samples_due = 0.0

    def ship(self, writers_are_dead: bool = False) -> bool:
        """Go over everything once; return whether something was sent of which there may be more right now."""
        sent = False
        for name, path in self._log_files():
            sent = self._unless_refused(name, lambda n=name, p=path: self._log_shipper.ship(n, p)) or sent
        now = self._clock()
        for run, writer in self._writers():
            samples = self._are_samples(run, writer)
            if samples and now < self._samples_due and not writers_are_dead:
                continue
            if self._ship_journal(run, writer, writers_are_dead, samples):
                if samples:
                    self._samples_due = now + _SAMPLES_SECONDS
                sent = sent or writers_are_dead or not samples
        return sent

    # ── Small pieces together ─────────────────────────────────────────────────────────────────────────────────────────

    def gather(self, writers_are_dead: bool = False) -> Gathered:
        """Return the next pieces of all files that have little to ship; `ship` sends those of the others."""
        gathered = Gathered()
        self._cut_logs()
        for name, path in self._log_files():
            if len(gathered.pieces) >= MOST_PIECES:
                gathered.complete = False
                break
            self._gather_log(gathered, name, path)
        for run, writer in self._writers():
            samples = self._are_samples(run, writer)
            if not samples or writers_are_dead or self._clock() >= self._samples_due:
                self._gather_journal(gathered, run, writer, writers_are_dead, samples)
        return gathered

    def _cut_logs(self) -> None:
        """Cut the logs of ranks that are too large."""
        if self._log_limit is None:
            return
        for name, path in regular_files(self._folder.logs, self._folder.path):
            try:
                if log_limit.cut(path, self._log_limit, self._bases.get(name, 0)):
                    self._log_shipper.forget(name)
            except FileNotFoundError:
                continue
            except OSError as error:
                self._say(f"{name} stays whole, because it cannot be cut: {error}")
                self._log_limit = None
                return

    def _gather_log(self, gathered: Gathered, name: str, path: str) -> None:
        try:
            piece = None if name in self._refused else self._log_shipper.next_piece(name, path, LARGEST_PIECE)
            name.encode()
        except FileNotFoundError:
            return
        except UnicodeEncodeError:
            gathered.complete = False
            return
        if piece is None:
            return
        if len(piece.data) >= LARGEST_PIECE:
            gathered.complete = False
            return
        sent = FilePiece(name, LOG, piece.offset, encode(piece.data), piece.replace)
        gathered.add(sent, lambda: self._log_shipper.accept(piece))

    def _gather_journal(self, gathered: Gathered, run: str, writer: str, finished: bool, samples: bool) -> None:
        if f"{run}/{writer}" in self._refused:
            return
        directory = os.path.join(self._folder.journals, run)
        pieces = None
        if run == self._run:  # those of child runs have their own rights
            pieces = self._journal_shipper.next_pieces(directory, run, writer, finished, LARGEST_PIECE)
        if pieces is None or len(gathered.pieces) + len(pieces) > MOST_PIECES:
            gathered.complete = False
            return
        for piece in pieces:
            sent = FilePiece(writer, piece.part, piece.offset, encode(piece.data), system=samples)
            gathered.add(sent, partial(self._accept_journal, piece, samples))

    def _accept_journal(self, piece: JournalPiece, samples: bool) -> None:
        self._journal_shipper.accept(self._run, piece)
        if samples:
            self._samples_due = self._clock() + _SAMPLES_SECONDS

    # ── One by one ────────────────────────────────────────────────────────────────────────────────────────────────────

    def _ship_journal(self, run: str, writer: str, finished: bool, samples: bool) -> bool:
        directory = os.path.join(self._folder.journals, run)
        return self._unless_refused(
            f"{run}/{writer}", lambda: self._journal_shipper.ship(directory, run, writer, finished, samples)
        )

    def _unless_refused(self, name: str, send: Callable[[], bool]) -> bool:
        """Give up on a file that the server will never take: it must not delay the others, nor the end of the run."""
        if name in self._refused:
            return False
        try:
            return send()
        except (Unavailable, OutOfSpace):  # temporary: the file is kept and tried again
            raise
        except FootplateError as error:
            self._refused.add(name)
            self._say(f"the server refuses {name}: {error.message}")
            return False
        except FileNotFoundError:
            return False

    def _log_files(self) -> list[tuple[str, str]]:
        if not self._with_logs:
            return []
        files = list(regular_files(self._folder.logs, self._folder.path))
        for name in self._watch:
            root = os.path.join(self._folder.wd, name)
            paths = [(f"{name}/{path}", real) for path, real in regular_files(root, self._folder.wd)]
            files += [each for each in paths if not self._source_files.has_unchanged(*each)]
        return [*files, (self._agent_log, self._folder.agent_log)]

    def _writers(self) -> list[tuple[str, str]]:
        runs = sorted(os.listdir(self._folder.journals))
        return [
            (run, writer) for run in runs for writer in journal_format.writers(os.path.join(self._folder.journals, run))
        ]

    def _are_samples(self, run: str, writer: str) -> bool:
        """Whether the agent's sampler of the machine writes this journal."""
        return run == self._run and writer.startswith(self._system)
