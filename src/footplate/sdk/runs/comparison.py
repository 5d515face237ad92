"""`run.diff(other)`: everything that two runs do not have in common."""

from __future__ import annotations

from typing import Any, Dict, Optional, Tuple

from footplate.content.manifest import FOLDER, parse_manifest
from footplate.domain import locks
from footplate.domain.floats import untag_float
from footplate.domain.records import RunView
from footplate.domain.runs.run_diff import RunDiff, changes, file_changes
from footplate.sdk import blob_transfer
from footplate.sdk.session import Session, translating


def diff(session: Session, before: str, after: str) -> RunDiff:
    with translating():
        mine, other = session.api.runs.get(before), session.api.runs.get(after)
        return RunDiff(
            mine.id,
            other.id,
            changes(_arguments(mine), _arguments(other)),
            _code(session, mine.snapshot, other.snapshot),
            _environment(session, mine, other),
            changes(_data(session, mine.id), _data(session, other.id)),
            changes(_metrics(session, mine.id), _metrics(session, other.id)),
        )


def _arguments(view: RunView) -> Dict[str, Any]:
    """Return the program, its parameters, and the settings that change what it computes."""
    spec = view.spec
    if spec is None or spec.program is None:
        return dict(view.parameters)
    arguments: Dict[str, Any] = {"(script)": spec.program.script, "(target)": spec.target}
    if not view.parameters:
        arguments["(arguments)"] = " ".join(spec.program.arguments) or spec.program.command
    arguments.update(view.parameters)
    arguments.update({f"${name}": value for name, value in spec.environment_variables.items()})
    arguments["(nodes)"] = str(spec.distribution.node_count)
    return arguments


def _code(session: Session, before: Optional[str], after: Optional[str]) -> Tuple[locks.Change, ...]:
    if before == after:
        return ()
    return file_changes(_files(session, before), _files(session, after))


def _files(session: Session, snapshot: Optional[str]) -> Dict[str, Tuple[int, str]]:
    if snapshot is None:
        return {}
    with blob_transfer.store_of(session).open(snapshot) as file:
        entries = parse_manifest(file.read())
    return {entry.path: (entry.size, entry.content) for entry in entries if entry.type != FOLDER}


def _environment(session: Session, before: RunView, after: RunView) -> Tuple[locks.Change, ...]:
    if before.lock == after.lock or before.lock is None or after.lock is None:
        return changes({"(lock)": before.lock}, {"(lock)": after.lock})
    packages = locks.diff(session.api.locks.of_run(before.id), session.api.locks.of_run(after.id))
    return tuple(packages) or changes({"(lock)": before.lock[:12]}, {"(lock)": after.lock[:12]})


def _data(session: Session, run: str) -> Dict[str, str]:
    return {
        f"{use.role} {use.name}": f"{use.dataset_name}:{use.version}" if use.dataset_name else use.dataset
        for use in session.api.datasets.of_run(run)
    }


def _metrics(session: Session, run: str) -> Dict[str, Any]:
    return {one.name: untag_float(one.last) for one in session.api.metrics.summary(run) if not one.system}
