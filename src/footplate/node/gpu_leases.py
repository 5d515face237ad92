"""Leases on GPUs: for each GPU a locked file, `gpus/<uuid>.lock`, held as long as the agent lives.

The lock dies with the agent, but its ranks may live on. So the file records the marker of the holder's processes, and
an agent that finds the lock free checks that none of them still runs.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from footplate import environ
from footplate.disk import FileLock
from footplate.node import process_tree

_PAUSE_SECONDS = 0.2


class Leases:
    def __init__(self, home: str, marker: Mapping[str, str]) -> None:
        self._folder = os.path.join(home, "gpus")
        self._marker = dict(marker)
        self._leases: dict[str, FileLock] = {}

    def take(self, uuids: Sequence[str], wait: Callable[[str], None]) -> None:
        """Return when all GPUs are leased. While one is not, call `wait(reason)`, which may raise to give up."""
        for uuid in sorted(uuids):
            while (obstacle := self._try(uuid)) is not None:
                wait(obstacle)
                time.sleep(_PAUSE_SECONDS)

    def take_back(self, uuids: Sequence[str]) -> list[str]:
        """Lease again, after the death of an agent whose ranks live on; return GPUs that could not be leased."""
        return [uuid for uuid in uuids if self._try(uuid) is not None]

    def release(self) -> None:
        for lock in self._leases.values():
            os.ftruncate(lock.file, 0)
            lock.close()
        self._leases.clear()

    def _try(self, uuid: str) -> str | None:
        """Return None if the GPU is leased now, else the reason why it is not."""
        if uuid in self._leases:
            return None
        os.makedirs(self._folder, exist_ok=True)
        path = os.path.join(self._folder, f"{uuid.replace(os.sep, '_')}.lock")
        lock = FileLock(path)
        try:
            if not lock.try_take():
                return f"GPU {uuid} is still held by {_read(lock.file).get(environ.RUN_ID, 'another run')}"
            orphans = self._find_orphans(_read(lock.file))
            if orphans:
                return f"GPU {uuid} is still used by process {orphans[0]} of a node that was lost"
            os.ftruncate(lock.file, 0)
            os.pwrite(lock.file, json.dumps(self._marker).encode(), 0)
            self._leases[uuid] = lock
            return None
        finally:
            if uuid not in self._leases:
                lock.close()

    def _find_orphans(self, marker: dict[str, Any]) -> list[int]:
        """Return processes of the last holder that outlived its agent. Our own ranks, after a change of agents, do not
        count.
        """
        return [] if not marker or marker == self._marker else process_tree.members(marker)


def _read(file: int) -> dict[str, Any]:
    try:
        return json.loads(os.pread(file, 4096, 0) or b"{}")
    except ValueError:
        return {}
