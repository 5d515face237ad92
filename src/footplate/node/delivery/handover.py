"""Hand large files to the server through the directory that the nodes of a target share, if the server sees it, too.

A small probe file tells whether it does. If not, or if anything goes wrong, files are sent over HTTP.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import time
from typing import Callable, Protocol

from footplate.disk import atomic_file, copy
from footplate.domain.shipments import handover_name

SMALLEST = 8 << 20
"""Smaller files are sent over HTTP, which costs fewer requests."""

_FORGOTTEN_SECONDS = 7 * 24 * 3600.0


class ReceivingServer(Protocol):
    """The part of the agent's link that a handover uses."""

    def hand_over(self, digest: str, size: int, probe: bool) -> bool: ...


class SharedFolder:
    """The shared directory of a target, as one node uses it."""

    def __init__(self, server: ReceivingServer, root: str, run: str, node: int, say: Callable[[str], None]) -> None:
        self._server, self._root, self._run, self._node, self._say = server, root, run, node, say
        self._is_seen: bool | None = None  # by the server

    def hand_over(self, path: str, digest: str, size: int) -> bool:
        """Place a file for the server; return False if it must be sent instead."""
        try:
            if self._is_seen is None:
                self._is_seen = self._probe()
            return self._is_seen and self._place(path, digest, size)
        except OSError as error:  # a full or read-only directory
            self._say(f"{path} does not go through {self._root}: {error}")
            return False

    def _probe(self) -> bool:
        content = os.urandom(32)
        digest = hashlib.sha256(content).hexdigest()
        target = self._target(digest)
        os.makedirs(os.path.dirname(target), exist_ok=True)
        self._sweep(os.path.dirname(target))
        try:
            with atomic_file(target, durable=True, mode=0o600) as out:
                os.write(out, content)
            return self._server.hand_over(digest, len(content), probe=True)
        finally:
            _remove(target)

    def _place(self, path: str, digest: str, size: int) -> bool:
        target = self._target(digest)
        try:
            with open(path, "rb", buffering=0) as source, atomic_file(target, durable=True, mode=0o600) as out:
                copy(source.fileno(), out)
            is_taken = self._server.hand_over(digest, size, probe=False)
            if is_taken:
                self._say(f"{path} was handed over through the shared directory")
            return is_taken
        finally:
            _remove(target)

    def _target(self, digest: str) -> str:
        return os.path.join(self._root, handover_name(self._run, self._node, digest))

    @staticmethod
    def _sweep(folder: str) -> None:
        """Remove files of agents that were killed in between, and never started again."""
        with os.scandir(folder) as entries:
            for entry in entries:
                with contextlib.suppress(OSError):  # removed meanwhile, or the file of another user
                    if entry.stat(follow_symlinks=False).st_mtime < time.time() - _FORGOTTEN_SECONDS:
                        os.unlink(entry.path)


def _remove(path: str) -> None:
    with contextlib.suppress(FileNotFoundError):
        os.unlink(path)
