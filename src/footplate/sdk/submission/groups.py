"""`experiment.start_group`: a parent run on the server that ends when its children have ended."""

from __future__ import annotations

from typing import Any, Dict, List, Mapping, Optional, Sequence, Union

from footplate.domain.records import RunView
from footplate.domain.runs.run_kinds import GROUP
from footplate.domain.specs import ControllerSpec, RunSpec
from footplate.sdk.exceptions import UserErrorException
from footplate.sdk.handles import ExperimentHandle as Experiment
from footplate.sdk.runs import snapshots
from footplate.sdk.session import user_name
from footplate.sdk.submission.scripts import PreparedScript, new_run_id, prepare_script
from footplate.sdk.values.labels import texts

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
