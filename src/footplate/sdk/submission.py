"""Runs that the server executes: from a configuration to a submitted run.

Functions return the view of the new run; `footplate.sdk.experiment` makes the object for users. If nothing has changed,
a submission is a single request: on one machine the source folder reaches the store without one, and answers of the
server are cached.

Runs that name a VM size instead of a cluster share one cluster per size, created for the first of them. Azure keeps the
files of runs in a datastore. Ours are with the run, so outputs on a datastore are copied to where Azure's would be.
"""

from __future__ import annotations

import os
import re
import tempfile
import time
from dataclasses import replace
from typing import Any, Callable, Dict, List, Mapping, NamedTuple, Optional, Sequence, Tuple, Union

from footplate.domain.records import RunView
from footplate.domain.runs.run_kinds import GROUP, kind_of
from footplate.domain.specs import ControllerSpec, RunSpec
from footplate.sdk.compute.targets import AmlCompute, ComputeTarget
from footplate.sdk.config.run_configuration import RunConfiguration
from footplate.sdk.config.run_data import ConfiguredData
from footplate.sdk.config.script_run_config import ScriptRunConfig, argument, list_arguments, to_run_spec
from footplate.sdk.data.datastore import Datastore
from footplate.sdk.data.references import DataPath
from footplate.sdk.exceptions import (
    ComputeTargetException,
    ExperimentExecutionException,
    Kinds,
    RunConfigurationException,
    UserErrorException,
)
from footplate.sdk.handles import ExperimentHandle as Experiment
from footplate.sdk.handles import WorkspaceHandle as Workspace
from footplate.sdk.runs import files, snapshots
from footplate.sdk.session import Session, user_name
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
        spec = place(workspace, spec, config.run_config)
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


def place(workspace: Workspace, spec: RunSpec, config: RunConfiguration) -> RunSpec:
    """Return the spec with the cluster for the size in `config.amlcompute` as its target."""
    size = config.amlcompute.vm_size
    if not size:
        raise RunConfigurationException(
            f"the target is {VM_SIZE_TARGET!r}, but no VM size is set",
            hint="set run_config.amlcompute.vm_size, or use the name of a cluster as the target",
        )
    name = "vm-" + re.sub(r"[^a-z0-9]+", "-", size.lower()).strip("-")
    nodes = spec.distribution.node_count
    try:
        cluster = ComputeTarget(workspace, name)
    except ComputeTargetException:
        sizes = AmlCompute.provisioning_configuration(
            size, config.amlcompute.vm_priority or "dedicated", max_nodes=nodes
        )
        ComputeTarget.create(workspace, name, sizes)
    else:
        if cluster.scale_settings.maximum_node_count < nodes:
            cluster.update(max_nodes=nodes)
    return replace(spec, target=name)


_OUTPUTS = "outputs"


def outputs_datapath(workspace: Workspace, run_id: str) -> DataPath:
    """Copy the run's `outputs` to the default datastore, and return their path. Existing copies are replaced."""
    if not files.listing(workspace.session, run_id, f"{_OUTPUTS}/"):
        raise UserErrorException(
            f"run {run_id} has no outputs", hint="wait until it has ended: run.wait_for_completion()"
        )
    datastore = Datastore.get_default(workspace)
    path = f"azureml/ExperimentRun/dcid.{run_id}/{_OUTPUTS}"
    with tempfile.TemporaryDirectory(prefix="footplate-outputs-") as folder:
        files.download_many(workspace.session, run_id, f"{_OUTPUTS}/", folder, None, True)
        datastore.upload(os.path.join(folder, _OUTPUTS), path, overwrite=True, show_progress=False)
    return DataPath(datastore, path)


CONTROLLER = "completes_with_children"


def start_group(
    experiment: Experiment,
    children: Union[Mapping[str, Any], Sequence[Any], None],
    name: Optional[str],
    run_id: Optional[str],
    display_name: Optional[str],
    tags: Mapping[str, Any],
) -> RunView:
    """Submit a group with these configurations as its children; without any, the group is open."""
    configs = _by_key(children)
    prepared: Dict[str, PreparedScript] = {key: prepare_script(experiment, config) for key, config in configs.items()}
    controller = ControllerSpec(
        CONTROLLER,
        {} if children is not None else {"open": True},
        {key: script.spec for key, script in prepared.items()},
    )
    chosen = run_id or new_run_id(experiment.name)
    spec = RunSpec(
        experiment.name, GROUP, name=name, display_name=display_name, tags=texts(tags), controller=controller
    )
    workspace = experiment.workspace
    view = workspace.session.api.runs.submit(workspace.id, chosen, spec, user_name())
    for key, script in prepared.items():
        script.data.record_submission(f"{chosen}_{key}")
    for script in list(prepared.values())[:1]:  # one source folder, one diff; several would hide each other
        snapshots.keep_diff(workspace.session, chosen, script.diff)
    return view


def _by_key(children: Union[Mapping[str, Any], Sequence[Any], None]) -> Mapping[str, Any]:
    if children is None or isinstance(children, Mapping):
        return children or {}
    if isinstance(children, (str, bytes)) or not isinstance(children, Sequence):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise UserErrorException(f"children is {children!r:.100}", hint="give a list or a dict of ScriptRunConfig")
    listed: List[Any] = list(children)
    return {str(index): config for index, config in enumerate(listed)}
