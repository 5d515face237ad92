"""`experiment.submit` of a script, and `run.rerun`.

If nothing has changed, a submission is a single request. On one machine the source folder reaches the store without
a request, and answers of the server are cached.
"""

from __future__ import annotations

import os
import time
from dataclasses import replace
from typing import Any, Callable, Mapping, NamedTuple, Optional, Sequence, Tuple

from footplate.domain.records import RunView
from footplate.domain.runs.run_kinds import kind_of
from footplate.domain.specs import RunSpec
from footplate.sdk.config.run_data import ConfiguredData
from footplate.sdk.config.script_run_config import ScriptRunConfig, argument, list_arguments, to_run_spec
from footplate.sdk.exceptions import ExperimentExecutionException, Kinds, UserErrorException
from footplate.sdk.handles import ExperimentHandle as Experiment
from footplate.sdk.runs import snapshots
from footplate.sdk.session import Session, user_name
from footplate.sdk.submission import on_demand
from footplate.sdk.values.labels import texts
from footplate.sdk.values.run_configuration_sections import VM_SIZE_TARGET

RERUN_OF = "footplate.rerun_of"
"""The property that links a rerun to the original run."""

_KINDS: Kinds = {"not_found": ExperimentExecutionException}


def submit_script(
    experiment: Experiment,
    config: ScriptRunConfig,
    tags: Mapping[str, Any],
    parent: Optional[str],
    run_id: Optional[str] = None,
    **unknown: Any,
) -> RunView:
    if unknown:
        raise UserErrorException(
            f"submit does not accept {', '.join(sorted(unknown))}", hint="a ScriptRunConfig takes run_id= and tags="
        )
    script = prepare_script(experiment, config)
    workspace = experiment.workspace
    chosen = run_id or new_run_id(experiment.name)
    spec = replace(script.spec, parent=parent, tags=texts(tags))
    view = workspace.session.api_for(_KINDS).runs.submit(workspace.id, chosen, spec, user_name())
    script.data.record_submission(chosen)
    snapshots.keep_diff(workspace.session, chosen, script.diff)
    return view


class PreparedScript(NamedTuple):
    """A configuration as a spec, with its source folder in the store, and what is left to do after the submission."""

    spec: RunSpec
    data: ConfiguredData
    diff: bytes


TakeSnapshot = Callable[[Session, str, Tuple[str, ...]], snapshots.Taken]


def prepare_script(
    experiment: Experiment,
    config: ScriptRunConfig,
    data: Optional[ConfiguredData] = None,
    take: TakeSnapshot = snapshots.take,
) -> PreparedScript:
    """Return the configuration as a spec. `data` collects its data, `take` stores its source directory."""
    if not os.path.isdir(config.source_directory):
        raise ExperimentExecutionException(
            f"there is no source directory {os.path.abspath(config.source_directory)}",
            hint=f"relative paths start at the current directory, {os.getcwd()}",
        )
    workspace = experiment.workspace
    data = data or ConfiguredData(workspace)
    spec = to_run_spec(config, experiment.name, data)
    if spec.target == VM_SIZE_TARGET:
        spec = on_demand.place(workspace, spec, config.run_config)
    snapshot = take(workspace.session, config.source_directory, (*spec.collect, *spec.watch))
    return PreparedScript(replace(spec, snapshot=snapshot.id, properties=snapshot.properties), data, snapshot.diff)


def rerun(
    experiment: Experiment,
    original: str,
    arguments: Optional[Sequence[Any]],
    tags: Mapping[str, Any],
    run_id: Optional[str],
) -> RunView:
    """Submit the run again with its source, locked environment and settings, as a new run of its experiment."""
    workspace = experiment.workspace
    before = workspace.session.api.runs.get(original)
    has_nodes = kind_of(before).has_nodes
    if before.spec is None or not has_nodes or before.lock is None:
        why = "ended before its environment was locked" if has_nodes else "was executed by its own process"
        raise UserErrorException(f"run {original} cannot be rerun: it {why}", hint="submit its configuration instead")
    spec = replace(
        before.spec,
        lock=before.lock,
        parent=None,
        name=None,
        display_name=None,
        tags=texts(tags),
        properties=dict(before.spec.properties, **{RERUN_OF: original}),
    )
    if arguments is not None:
        spec = _with_arguments(spec, list_arguments(arguments))
    chosen = run_id or new_run_id(experiment.name)
    return workspace.session.api_for(_KINDS).runs.submit(workspace.id, chosen, spec, user_name())


def _with_arguments(spec: RunSpec, arguments: Sequence[Any]) -> RunSpec:
    program = spec.program
    if program is None or program.script is None:
        raise UserErrorException("a command takes no arguments", hint="leave arguments out, or submit another command")
    words = tuple(argument(value) for value in arguments)
    definition = dict(spec.definition, arguments=list(words)) if spec.definition else spec.definition
    return replace(spec, program=replace(program, arguments=words), definition=definition)


def new_run_id(experiment: str) -> str:
    """Return `<experiment>_<unix seconds>_<8 hex digits>`."""
    return f"{experiment}_{int(time.time())}_{os.urandom(4).hex()}"
