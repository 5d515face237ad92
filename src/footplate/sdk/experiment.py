"""An experiment: a named group of runs."""

from __future__ import annotations

import importlib
import operator
from typing import TYPE_CHECKING, Any, Dict, Iterator, List, Mapping, Optional, Sequence, Tuple, Union, overload

from footplate.lazy import Deferred
from footplate.sdk.display import notebooks
from footplate.sdk.exceptions import AzureMLException, UserErrorException
from footplate.sdk.handles import ExperimentHandle, Tagged
from footplate.sdk.run import Run, make_run
from footplate.sdk.runs.filters import Filter, filters
from footplate.sdk.values.timestamps import utc_time
from footplate.sdk.values.wrong_types import explained

if TYPE_CHECKING:
    import json
    from datetime import datetime
    from urllib import parse

    from footplate.domain import records
    from footplate.domain.records import ExperimentView, RunView
    from footplate.sdk import submission
    from footplate.sdk.config.script_run_config import ScriptRunConfig
    from footplate.sdk.runs import interactive
    from footplate.sdk.sweep_run import HyperDriveRun
    from footplate.sdk.tuning.config import HyperDriveConfig
    from footplate.sdk.workspace import Workspace
else:
    json = Deferred("json")
    parse = Deferred("urllib.parse")
    records = Deferred("footplate.domain.records")
    interactive = Deferred("footplate.sdk.runs.interactive")
    submission = Deferred("footplate.sdk.submission")

_SDK = "footplate.sdk."
_BY_TYPE = "run:make_run"
SUBMITTERS: Dict[str, Tuple[str, str]] = {
    "config.script_run_config.ScriptRunConfig": ("submission:submit_script", _BY_TYPE),
    "estimators.estimator.Estimator": ("estimators.estimator:submit_estimator", _BY_TYPE),
    "tuning.config.HyperDriveConfig": ("tuning.submission:submit_sweep", _BY_TYPE),
    "pipelines.graph.Pipeline": ("pipelines.graph:submit_pipeline", _BY_TYPE),
    "data.profile_config.ProfileConfig": ("profile_run:submit_profile", "profile_run:DatasetProfileRun.from_view"),
}
"""Class of a configuration → the function that submits it and its subclasses, and the one that makes the run.

All of them are below `footplate.sdk`, and are imported on first use.
"""

_ARCHIVED = {"ActiveOnly": False, "ArchivedOnly": True, "All": None}


@explained
class Experiment(Tagged, ExperimentHandle):
    """A named group of runs in a workspace.

    `Experiment(workspace, name)` is the experiment with that name; it is created if it does not exist.

    Args:
        workspace: The workspace that holds the experiment.
        name: Letters, digits, `_` and `-`, starting with a letter or digit; at most 255 characters.
        **kwargs: Accepted for Azure's private options, and ignored.

    Raises:
        UserErrorException: `workspace` is not a workspace, or `name` is not an experiment name.

    Example:
        experiment = Experiment(ws, "fraud")
        experiment.tag("team", "risk")
        experiment.set_tags({"stage": "research", "owner": "ada"})
        experiment.remove_tags(["stage"])
        print(experiment.name, experiment.tags, experiment.get_portal_url())
        experiment.archive()
        experiment.reactivate()
        experiment.refresh()
    """

    def __init__(self, workspace: Workspace, name: str, **kwargs: Any) -> None:
        if not hasattr(workspace, "session"):
            raise UserErrorException(
                f"workspace is {workspace!r}", hint="pass the object: Experiment(Workspace.from_config(), 'name')"
            )
        self.view = workspace.session.api.experiments.ensure(workspace.id, _check_name(name))
        super().__init__(workspace, self.view.name)

    @classmethod
    def from_view(cls, workspace: Workspace, view: ExperimentView) -> Experiment:
        """Return an experiment without a request."""
        experiment = object.__new__(cls)
        ExperimentHandle.__init__(experiment, workspace, view.name)
        experiment.view = view
        return experiment

    # ── runs ──

    @overload
    def submit(
        self, config: HyperDriveConfig, tags: Optional[Mapping[str, Any]] = None, **kwargs: Any
    ) -> HyperDriveRun: ...

    @overload
    def submit(self, config: Any, tags: Optional[Mapping[str, Any]] = None, **kwargs: Any) -> Run: ...

    def submit(self, config: Any, tags: Optional[Mapping[str, Any]] = None, **kwargs: Any) -> Run:
        """Submit a run and return at once. The run outlives this process.

        Args:
            config: The work: a ScriptRunConfig, HyperDriveConfig, Pipeline, estimator or NotebookRunConfig.
            tags: Tags of the run. Values become strings.
            **kwargs: `run_id` chooses the id of the run; by default it is made of the experiment's name,
                the time and random digits. A Pipeline takes `pipeline_parameters`,
                `continue_on_step_failure` and `regenerate_outputs`.

        Returns:
            The run, as a ScriptRun, HyperDriveRun or PipelineRun.

        Raises:
            AzureMLException: `config` cannot be submitted.
            ExperimentExecutionException: The source directory or the compute target does not exist.
            UserErrorException: The configuration contradicts itself, or an option is unknown.
            SnapshotException: The source directory cannot be read.

        Example:
            config = ScriptRunConfig(source_directory="src", script="train.py", arguments=["--lr", 0.1])
            run = experiment.submit(config, tags={"purpose": "baseline"})
            run.wait_for_completion(show_output=True)
        """
        return submit(self, config, tags or {}, None, kwargs)

    def start_logging(
        self,
        name: Optional[str] = None,
        run_id: Optional[str] = None,
        outputs: Union[bool, str, None] = None,
        snapshot_directory: Optional[str] = ".",
        display_name: Optional[str] = None,
        tags: Optional[Mapping[str, Any]] = None,
        **kwargs: Any,
    ) -> Run:
        """Start a run that this process executes, for example a notebook.

        Call `complete()` when the work is done, or use the run in `with`. If the process dies, the server
        ends the run as Failed.

        Args:
            name: A name, as `run.name`.
            run_id: The id of the run; a random one by default.
            outputs: The directory whose files become artifacts when the run ends, `./outputs` by default.
                False tracks no directory.
            snapshot_directory: The directory of which the run keeps a copy; None keeps none.
            display_name: The name shown in lists. It need not be unique.
            tags: Tags of the run. Values become strings.
            **kwargs: Accepted for Azure's private options, and ignored.

        Returns:
            The running run.

        Raises:
            SnapshotException: The snapshot directory cannot be read.
            ServiceException: A run with this `run_id` exists.

        Example:
            with experiment.start_logging(snapshot_directory=None, tags={"kind": "notebook"}) as run:
                run.log("loss", 0.25)
        """
        started = interactive.start_logging(self, name, run_id, outputs, snapshot_directory, display_name, tags or {})
        return Run.from_view(self, started.view, started.outputs)

    def start_group(
        self,
        children: Union[Mapping[str, ScriptRunConfig], Sequence[ScriptRunConfig], None] = None,
        name: Optional[str] = None,
        run_id: Optional[str] = None,
        display_name: Optional[str] = None,
        tags: Optional[Mapping[str, Any]] = None,
    ) -> Run:
        """Start a parent run that the server ends when all its children have ended; this process may exit.

        The group fails if a child fails, is canceled if all were canceled, and completes otherwise.
        `restart()` restarts the children that did not complete.

        Args:
            children: Configurations, in a list or by key. The run id of a child is `<group>_<key>`. Without
                children the group is open: add them with `submit_child`, then call `complete()`, or use the
                group in `with`.
            name: A name, as `run.name`.
            run_id: The id of the group; by default it is made of the experiment's name, the time and random
                digits.
            display_name: The name shown in lists.
            tags: Tags of the group. Values become strings.

        Returns:
            The group's run.

        Raises:
            UserErrorException: `children` is neither a list nor a dict.
            ExperimentExecutionException: A source directory does not exist.

        Example:
            folds = {f"fold{k}": ScriptRunConfig("src", "train.py", arguments=[k]) for k in range(3)}
            group = experiment.start_group(folds, display_name="cross-validation")
            group.wait_for_completion()
            print([child.id for child in group.get_children()])
        """
        view = submission.start_group(self, children, name, run_id, display_name, tags or {})
        return make_run(self, view)

    def get_runs(
        self,
        type: Optional[str] = None,
        tags: Filter = None,
        properties: Filter = None,
        include_children: bool = False,
        status: Union[str, Sequence[str], None] = None,
        where: Optional[str] = None,
    ) -> Iterator[Run]:
        """Yield runs that are not archived, newest first. Pages are requested as needed.

        Args:
            type: Only runs of this type, such as `azureml.scriptrun` or `hyperdrive`.
            tags: Only runs with this tag: a key, or a dict of keys and values.
            properties: Only runs with this property: a key, or a dict of keys and values.
            include_children: Whether to include child runs.
            status: Only runs with this status, or one of these.
            where: A filter that the server evaluates, on metrics, parameters, tags, times and states.

        Returns:
            An iterator of runs.

        Raises:
            UserErrorException: A filter cannot be understood.

        Example:
            for run in experiment.get_runs(where="metrics.loss < 0.2 and started > '2h ago'"):
                print(run.id, run.get_metrics("loss"))
        """
        query = dict(filters(type, tags, properties, status, where), parent="any" if include_children else None)
        query["archived"] = False
        return runs_of(self, dict(query, experiment=self.name))

    # ── identity ──

    @property
    def workspace(self) -> Workspace:
        """The workspace that holds the experiment."""
        workspace: Any = self._workspace
        return workspace

    @property
    def id(self) -> str:
        """The id that the server gave the experiment."""
        return self.view.id

    @property
    def tags(self) -> Dict[str, Optional[str]]:
        """The tags, as last read from the server."""
        return dict(self.view.tags)

    @property
    def archived_time(self) -> Optional[datetime]:
        """The time at which the experiment was archived; None while it is active."""
        return None if self.view.archived is None else utc_time(self.view.archived)

    def get_portal_url(self) -> str:
        """Return the address of the experiment's runs on the page of the server.

        Returns:
            The address.
        """
        where = parse.quote(f"experiment == {json.dumps(self.name)}")
        return self.workspace.session.portal_url(self.workspace.id, f"runs?where={where}")

    def get_docs_url(self) -> str:
        """Return the address of the documentation of Azure's class, which this one follows.

        Returns:
            The address.

        Example:
            print(experiment.get_docs_url())
        """
        return "https://docs.microsoft.com/python/api/azureml-core/azureml.core.experiment.experiment"

    # ── changing ──

    def refresh(self) -> None:
        """Read the experiment's tags and state from the server again."""
        views = _list_views(self.workspace, {"name": self.name})
        if views:
            self.view = views[0]

    def archive(self) -> None:
        """Hide the experiment from lists. Its runs stay."""
        self._change(archived=True)

    def reactivate(self, new_name: Optional[str] = None) -> None:
        """Show an archived experiment in lists again.

        Args:
            new_name: Must be None: an experiment cannot be renamed.

        Raises:
            UserErrorException: `new_name` was given.
        """
        if new_name is not None:
            raise UserErrorException(
                f"new_name is {new_name!r}", hint="an experiment cannot be renamed; leave new_name out"
            )
        self._change(archived=False)

    def _change(self, **change: Any) -> None:
        self.view = self.workspace.session.api.experiments.change(self.id, **change)

    @staticmethod
    def list(
        workspace: Workspace,
        experiment_name: Optional[str] = None,
        view_type: str = "ActiveOnly",
        tags: Filter = None,
    ) -> List[Experiment]:
        """Return the experiments of a workspace.

        Args:
            workspace: The workspace.
            experiment_name: Only the experiment with this name.
            view_type: `ActiveOnly`, `ArchivedOnly` or `All`.
            tags: Only experiments with this tag: a key, or a dict of keys and values.

        Returns:
            A list of experiments.

        Raises:
            UserErrorException: `view_type` is unknown.

        Example:
            for each in Experiment.list(ws, view_type="All", tags="team"):
                print(each.name, each.archived_time)
        """
        if view_type not in _ARCHIVED:
            raise UserErrorException(f"view_type is {view_type!r}", hint=f"use one of {', '.join(_ARCHIVED)}")
        views = _list_views(workspace, {"name": experiment_name, "archived": _ARCHIVED[view_type]})
        return [Experiment.from_view(workspace, view) for view in views if _has_tags(view, tags)]

    @staticmethod
    def delete(workspace: Workspace, experiment_id: str) -> None:
        """Delete an experiment that has no runs.

        Args:
            workspace: The workspace.
            experiment_id: The id of the experiment, not its name.

        Raises:
            ServiceException: The experiment does not exist or has runs.

        Example:
            empty = Experiment(ws, "created-by-mistake")
            Experiment.delete(ws, empty.id)
        """
        workspace.session.api.experiments.delete(experiment_id)

    def __repr__(self) -> str:
        return f"Experiment(Name: {self.name},\nWorkspace: {self.workspace.name})"

    def _repr_html_(self) -> str:
        return notebooks.row({"Name": self.name, "Workspace": self.workspace.name})


def submit(
    experiment: Experiment, config: Any, tags: Mapping[str, Any], parent: Optional[str], options: Dict[str, Any]
) -> Run:
    """Submit a configuration of any type, as a child of the run `parent` if there is one."""
    names = (f"{kind.__module__}.{kind.__qualname__}"[len(_SDK) :] for kind in type(config).__mro__)
    row = next((SUBMITTERS[name] for name in names if name in SUBMITTERS), None)
    if row is not None:
        submit_config, run_from_view = map(_load, row)
        return run_from_view(experiment, submit_config(experiment, config, tags, parent, **options))
    if isinstance(config, type):
        raise AzureMLException(
            f"the class {config.__name__} cannot be submitted", hint=f"create an object: {config.__name__}(…)"
        )
    kinds = ", ".join(sorted(name.rpartition(".")[2] for name in SUBMITTERS if not name.startswith("data.")))
    raise AzureMLException(
        f"{config!r:.100} has the type {type(config).__name__}, which cannot be submitted",
        hint=f"submit one of {kinds}",
    )


def _load(path: str) -> Any:
    module, _, name = path.partition(":")
    return operator.attrgetter(name)(importlib.import_module(_SDK + module))


@explained
def runs_of(experiment: Experiment, query: Mapping[str, Any]) -> Iterator[Run]:
    """Yield the runs of a query, each with its own experiment."""
    workspace = experiment.workspace
    experiments: Dict[str, Experiment] = {experiment.name: experiment}
    for view in workspace.session.api.runs.list(workspace.id, **query):
        if view.experiment not in experiments:
            experiments[view.experiment] = experiment_of_run(workspace, view)
        yield make_run(experiments[view.experiment], view)


def run_of_view(workspace: Workspace, view: RunView) -> Run:
    """Return the run of this view, without another request."""
    return make_run(experiment_of_run(workspace, view), view)


def experiment_for_first_run(workspace: Workspace, name: str) -> Experiment:
    """Return the experiment with that name for one submission, which creates it; a failed one leaves nothing."""
    return Experiment.from_view(workspace, records.ExperimentView("", workspace.id, _check_name(name), 0.0))


def experiment_of_run(workspace: Workspace, view: RunView) -> Experiment:
    """Return the experiment of a run without a request, with the fields that the run's view has."""
    summary = records.ExperimentView(view.experiment_id, view.workspace, view.experiment, view.created)
    return Experiment.from_view(workspace, summary)


def find_experiment(workspace: Workspace, name: str) -> Experiment:
    """Return an existing experiment. Unlike the constructor, this never creates one, so a job's token suffices."""
    views = _list_views(workspace, {"name": name})
    if not views:
        raise UserErrorException(f"there is no experiment {name!r} in workspace {workspace.name}")
    return Experiment.from_view(workspace, views[0])


def _list_views(workspace: Workspace, query: Dict[str, Any]) -> List[ExperimentView]:
    return list(workspace.session.api.experiments.list(workspace.id, **query))


def _check_name(name: Any) -> str:
    if not isinstance(name, str) or "/" in name or name in ("", ".", ".."):
        raise UserErrorException(
            f"{name!r} is not an experiment name",
            hint="use letters, digits, '_' and '-', starting with a letter or digit, at most 255 characters",
        )
    return name


def _has_tags(view: ExperimentView, tags: Filter) -> bool:
    if tags is None:
        return True
    if isinstance(tags, str):
        return tags in view.tags
    return all(key in view.tags and (value is None or str(value) == view.tags[key]) for key, value in tags.items())
