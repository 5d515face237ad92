"""Runs that this process executes: `experiment.start_logging()` and child runs."""

from __future__ import annotations

import os
import uuid
from dataclasses import replace
from typing import Any, Dict, Iterable, List, Mapping, NamedTuple, Optional, Sequence, Union

from footplate.domain.records import RunView
from footplate.domain.runs.run_kinds import INTERACTIVE
from footplate.domain.specs import RunSpec
from footplate.sdk.exceptions import UserErrorException
from footplate.sdk.handles import ExperimentHandle as Experiment
from footplate.sdk.runs import heartbeat, snapshots
from footplate.sdk.session import user_name
from footplate.sdk.values.labels import texts

OUTPUTS = "./outputs"
MOST_CHILDREN = 100
CHILD_NUMBER = "azureml.batch_child_number"
"""The tag that numbers the children of `create_children(count=…)`."""


class Started(NamedTuple):
    """A run that this process executes, and the directory whose files it uploads when it ends."""

    view: RunView
    outputs: Optional[str]


def start_logging(
    experiment: Experiment,
    name: Optional[str],
    run_id: Optional[str],
    outputs: Union[bool, str, None],
    snapshot_directory: Optional[str],
    display_name: Optional[str],
    tags: Mapping[str, Any],
) -> Started:
    session = experiment.workspace.session
    spec = RunSpec(experiment.name, INTERACTIVE, name=name, display_name=display_name, tags=texts(tags))
    diff = b""
    if snapshot_directory is not None:
        snapshot = snapshots.take(session, snapshot_directory)
        spec = replace(spec, snapshot=snapshot.id, properties=snapshot.properties)
        diff = snapshot.diff
    tracked = None if outputs is False else OUTPUTS if outputs in (None, True) else str(outputs)
    if tracked is not None:
        os.makedirs(tracked, exist_ok=True)
    view = _start(experiment, spec, run_id)
    snapshots.keep_diff(session, view.id, diff)
    return Started(view, tracked)


def start_child(
    experiment: Experiment,
    parent: str,
    name: Optional[str],
    run_id: Optional[str] = None,
    tags: Optional[Mapping[str, Optional[str]]] = None,
) -> RunView:
    spec = RunSpec(experiment.name, INTERACTIVE, name=name, parent=parent, tags=dict(tags or {}))
    return _start(experiment, spec, run_id)


def child_tags(
    count: Optional[int], tag_key: Optional[str], tag_values: Optional[Sequence[Any]]
) -> List[Dict[str, Optional[str]]]:
    """Return the tags of each child: its number if `count` was given, otherwise one of the values."""
    if (count is None) == (tag_key is None) or (tag_key is None) != (tag_values is None):
        raise UserErrorException(
            f"count={count!r}, tag_key={tag_key!r}, tag_values={tag_values!r}",
            hint="pass either count, or both tag_key and tag_values",
        )
    if isinstance(tag_values, str):
        raise UserErrorException(f"tag_values is {tag_values!r}", hint=f"pass a list: tag_values=[{tag_values!r}]")
    number = len(tag_values) if tag_values is not None else count
    if not isinstance(number, int) or not 1 <= number <= MOST_CHILDREN:
        raise UserErrorException(
            f"{number!r} children cannot be created", hint=f"create 1 to {MOST_CHILDREN} at a time"
        )
    values: Iterable[Any] = tag_values if tag_values is not None else range(number)
    key = CHILD_NUMBER if tag_key is None else tag_key
    return [{key: None if value is None else str(value)} for value in values]


def _start(experiment: Experiment, spec: RunSpec, run_id: Optional[str]) -> RunView:
    workspace = experiment.workspace
    session = workspace.session
    spec = replace(spec, process=_own_process(), heartbeats=not session.transport.is_local)
    view = session.api.runs.submit(workspace.id, run_id or str(uuid.uuid4()), spec, user_name())
    if spec.heartbeats:
        heartbeat.start(session, view.id)
    return view


def _own_process() -> Optional[str]:
    """Return pid, start time, boot and pid namespace, by which a server on this machine can tell whether we live."""
    try:
        with open("/proc/self/stat", "rb") as file:
            started = file.read().rpartition(b")")[2].split()[19].decode()
        with open("/proc/sys/kernel/random/boot_id", encoding="ascii") as file:
            boot = file.read(8)
        return f"{os.getpid()} {started}@{boot} {os.readlink('/proc/self/ns/pid')}"
    except OSError:  # a system without /proc
        return None
