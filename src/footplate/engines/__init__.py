"""Engines: programs that start node agents somewhere.

base      the protocol, and the values that cross it: AgentJob, LaunchRequest, Observation
remote_start    how engines on other machines start an agent
agent_bootstrap    the program that does so there
target_options    options of compute targets, and those that a run may override
local     agents as processes of the server's machine
slurm/    agents in batch jobs of a Slurm cluster
ray/      agents as jobs of a Ray cluster
nursery_client    the local engine's client for the process that agents are forked from (`node/nursery`)
client_processes    whether the process of an interactive run lives
open_files    the limit of open files of the server and its children
"""

from __future__ import annotations

import importlib
import threading
from collections.abc import Mapping

from footplate.domain.targets import LOCAL
from footplate.engines.base import Engine
from footplate.errors import InvalidInput

BUILT_IN = {
    LOCAL: "footplate.engines.local:LocalEngine",
    "slurm": "footplate.engines.slurm.engine:SlurmEngine",
    "ray": "footplate.engines.ray.engine:RayEngine",
}
"""The engines that come with Footplate: name → `module:Class`. No other module names them."""


class EngineRegistry:
    """Engines by name, imported on first use. `others` adds engines: name → `module:Class`."""

    def __init__(self, others: Mapping[str, str] | None = None) -> None:
        self._paths = {**(others or {}), **BUILT_IN}
        self._loaded: dict[str, Engine] = {}
        self._guard = threading.Lock()

    def load(self, name: str) -> Engine:
        """Return the engine of this name, the same object each time."""
        with self._guard:
            if name not in self._loaded:
                self._loaded[name] = self._construct(name)
            return self._loaded[name]

    def names(self) -> list[str]:
        return sorted(self._paths)

    def _construct(self, name: str) -> Engine:
        if name not in self._paths:
            raise InvalidInput(f"there is no engine {name!r}", f"the engines are {', '.join(self.names())}")
        path = self._paths[name]
        module, _, attribute = path.partition(":")
        try:
            return getattr(importlib.import_module(module), attribute)()
        except (ImportError, AttributeError, ValueError) as error:
            in_settings = "correct [engines] in settings.ini, or install the package"
            hint = "reinstall Footplate" if name in BUILT_IN else in_settings
            raise InvalidInput(f"the engine {name!r} cannot be loaded from {path!r}: {error}", hint) from None
