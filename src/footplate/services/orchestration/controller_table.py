"""The controllers of groups by kind. A new kind costs one row here and one class (`domain.runs.controllers`)."""

from __future__ import annotations

import functools
import importlib
from collections.abc import Callable, Mapping
from pathlib import Path

from footplate.domain.runs.controllers import Controller
from footplate.errors import InvalidInput
from footplate.services.settings import read_samplers

CONTROLLERS: dict[str, str] = {
    "completes_with_children": "footplate.domain.runs.child_groups:CompletesWithChildren",
    "pipeline": "footplate.domain.pipelines.controller:PipelineController",
    "reused_step": "footplate.domain.pipelines.controller:ReusedStep",
    "service": "footplate.domain.serving.replicas:ServiceController",
    "sweep": "footplate.tuning.sweep:SweepController",
}

SETTINGS: dict[str, Callable[[Path], Mapping[str, str]]] = {"sweep": read_samplers}
"""The settings that a kind of controller reads: a function of the home."""

LOGS = {"pipeline": "logs/azureml/executionlogs.txt", "sweep": "azureml-logs/hyperdrive.txt"}
"""The log of a group, by the kind of its controller: the file that receives the lines of its decisions."""

OTHER_LOG = "azureml-logs/group.txt"


@functools.cache
def load(kind: str, home: Path) -> Controller:
    """Return the controller of this kind. Its module is imported on first use: it may need large libraries."""
    if kind not in CONTROLLERS:
        raise InvalidInput(f"controller {kind!r} is unknown", f"use one of {', '.join(CONTROLLERS)}")
    module, _, name = CONTROLLERS[kind].partition(":")
    make = getattr(importlib.import_module(module), name)
    return make(functools.partial(SETTINGS[kind], home)) if kind in SETTINGS else make()
