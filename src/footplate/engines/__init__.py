"""Engines: programs that start node agents somewhere.

    base      the protocol, and the values that cross it: AgentJob, LaunchRequest, Observation
    remote_start    how engines on other machines start an agent
    agent_bootstrap    the program that does so there
    target_options    options of compute targets, and those that a run may override
    local     agents as processes of the server's machine
    slurm/    agents in batch jobs of a Slurm cluster
    ray/      agents as jobs of a Ray cluster
    nursery_client    the local engine's client for the process that agents are forked from (`node/nursery`)
    client_processes    whether the process of an interactive run lives; covered by `test_client_watcher`
    open_files    the limit of open files of the server and its children; covered by `tests/e2e/test_ops_floods.py`

The conformance suite is `footplate.testing.engine_suite`. It also covers `nursery_client`.
"""

from __future__ import annotations

import importlib
import threading
from collections.abc import Mapping
from dataclasses import dataclass

from footplate.domain.targets import LOCAL
from footplate.engines.base import Engine
from footplate.errors import InvalidInput


@dataclass(frozen=True)
class EngineEntry:
    """A row of the registry: `module:Class`, and the hint to show when the import fails."""

    path: str
    hint: str


BUILT_IN = {
    LOCAL: EngineEntry("footplate.engines.local:LocalEngine", "reinstall Footplate"),
    "slurm": EngineEntry("footplate.engines.slurm.engine:SlurmEngine", "reinstall Footplate"),
    "ray": EngineEntry("footplate.engines.ray.engine:RayEngine", "reinstall Footplate"),
}


class EngineRegistry:
    """Engines by name, imported on first use. `others` adds engines: name → `module:Class`."""

    def __init__(self, others: Mapping[str, str] | None = None) -> None:
        hint = "correct [engines] in settings.ini, or install the package"
        self._entries = {**{name: EngineEntry(path, hint) for name, path in (others or {}).items()}, **BUILT_IN}
        self._loaded: dict[str, Engine] = {}
        self._guard = threading.Lock()

    def load(self, name: str) -> Engine:
        """Return the engine of this name, the same object each time."""
        with self._guard:
            if name not in self._loaded:
                self._loaded[name] = _construct(name, self._entry(name))
            return self._loaded[name]

    def names(self) -> list[str]:
        return sorted(self._entries)

    def _entry(self, name: str) -> EngineEntry:
        if name not in self._entries:
            raise InvalidInput(f"there is no engine {name!r}", f"the engines are {', '.join(self.names())}")
        return self._entries[name]


def _construct(name: str, entry: EngineEntry) -> Engine:
    module, _, attribute = entry.path.partition(":")
    try:
        return getattr(importlib.import_module(module), attribute)()
    except (ImportError, AttributeError, ValueError) as error:
        raise InvalidInput(f"the engine {name!r} cannot be loaded from {entry.path!r}: {error}", entry.hint) from None
