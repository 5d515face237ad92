"""GPUs that this node has for itself: a locked file for each, `gpus/<uuid>.lock`, as long as the agent lives.

The lock dies with the agent, but its ranks may not. So the file says whose it is, by the marker that its processes
carry, and who finds the lock free makes sure that none of those still runs.
"""

from __future__ import annotations

import fcntl
import json
import os
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from footplate import environ
from footplate.node import process_tree

_PAUSE_SECONDS = 0.2


class Leases:
    def __init__(self, home: str, marker: Mapping[str, str]) -> None:
        self._folder = os.path.join(home, "gpus")
        self._marker = dict(marker)
        self._held: dict[str, int] = {}

    def take(self, uuids: Sequence[str], wait: Callable[[str], None]) -> None:
        """Return when all are ours. While one is not, `wait(why)` is called; it may raise to give up."""
        for uuid in sorted(uuids):
            while (obstacle := self._try(uuid)) is not None:
                wait(obstacle)
                time.sleep(_PAUSE_SECONDS)

    def take_back(self, uuids: Sequence[str]) -> list[str]:
        """After the death of an agent whose ranks go on: those that are ours already; returns what is not."""
        return [uuid for uuid in uuids if self._try(uuid) is not None]

    def release(self) -> None:
        for file in self._held.values():
            os.ftruncate(file, 0)
            os.close(file)
        self._held.clear()

    def _try(self, uuid: str) -> str | None:
        """None when the device is ours now, else why it is not."""
        if uuid in self._held:
            return None
        os.makedirs(self._folder, exist_ok=True)
        path = os.path.join(self._folder, f"{uuid.replace(os.sep, '_')}.lock")
        file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        taken = False
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            left = self._left_behind(_read(file))
            if left:
                return f"GPU {uuid} is still used by process {left[0]} of a node that was lost"
            os.ftruncate(file, 0)
            os.pwrite(file, json.dumps(self._marker).encode(), 0)
            taken = True
            self._held[uuid] = file
            return None
        except BlockingIOError:
            return f"GPU {uuid} is still held by {_read(file).get(environ.RUN_ID, 'another run')}"
        finally:
            if not taken:
                os.close(file)

    def _left_behind(self, marker: dict[str, Any]) -> list[int]:
        """Processes of the last holder that outlived its agent; our own, after a change of agents, are no obstacle."""
        return [] if not marker or marker == self._marker else process_tree.members(marker)


def _read(file: int) -> dict[str, Any]:
    try:
        return json.loads(os.pread(file, 4096, 0) or b"{}")
    except ValueError:
        return {}
