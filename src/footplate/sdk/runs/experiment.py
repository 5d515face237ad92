"""An experiment: a named group of runs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Dict, Iterator, List, Mapping, Optional, Sequence, Union, overload

from footplate.sdk import notebooks, runs
from footplate.sdk.exceptions import UserErrorException
from footplate.sdk.labels import texts
from footplate.sdk.runs.filters import Filter, filters
from footplate.sdk.runs.run import Run, make_run, runs_of
from footplate.sdk.timestamps import utc_time

if TYPE_CHECKING:
    from datetime import datetime

    from footplate.domain.records import ExperimentView, RunView
    from footplate.sdk.tuning.config import HyperDriveConfig
    from footplate.sdk.tuning.run import HyperDriveRun
    from footplate.sdk.workspace import Workspace

_ARCHIVED = {"ActiveOnly": False, "ArchivedOnly": True, "All": None}


class Experiment:
    """`Experiment(workspace, name)` is the experiment with that name; it is created if it does not exist."""

    def __init__(self, workspace: Workspace, name: str, **kwargs: Any) -> None:
        if not hasattr(workspace, "session"):
            raise UserErrorException(
                f"workspace is {workspace!r}", hint="pass the object: Experiment(Workspace.from_config(), 'name')"
            )
        self.workspace = workspace
        self._view = workspace.session.api.experiments.ensure(workspace.id, _checked(name))

    @classmethod
    def _of_first_run(cls, workspace: Workspace, name: str) -> Experiment:
        """Return the experiment with that name for one submission, which creates it; a failed one leaves nothing."""
        from footplate.domain.records import ExperimentView  # noqa: PLC0415  # 30 ms; the submission imports it anyway

        return cls._of(workspace, ExperimentView("", workspace.id, _checked(name), 0.0))

    @classmethod
    def _of(cls, workspace: Workspace, view: ExperimentView) -> Experiment:
        made = object.__new__(cls)
        made.workspace, made._view = workspace, view
        return made

    @classmethod
    def _of_run(cls, workspace: Workspace, view: RunView) -> Experiment:
        """Return the experiment of a run without a request, with the fields that the run's view has."""
        from footplate.domain.records import ExperimentView  # noqa: PLC0415  # 30 ms; already imported if there is a view

        known = ExperimentView(view.experiment_id, view.workspace, view.experiment, view.created)
        return cls._of(workspace, known)

    # ── runs ──

    @overload
    def submit(
        self, config: HyperDriveConfig, tags: Optional[Mapping[str, Any]] = None, **kwargs: Any
    ) -> HyperDriveRun: ...

    @overload
    def submit(self, config: Any, tags: Optional[Mapping[str, Any]] = None, **kwargs: Any) -> Run: ...

    def submit(self, config: Any, tags: Optional[Mapping[str, Any]] = None, **kwargs: Any) -> Run:
        """Submit the run and return at once. The run outlives this process."""
        return self._submit(config, tags, None, kwargs)

    def _submit(
        self, config: Any, tags: Optional[Mapping[str, Any]], parent: Optional[str], kwargs: Dict[str, Any]
    ) -> Run:
        return runs.submission.submit(self, config, tags or {}, parent, kwargs)

    def _rerun(
        self, run: Run, arguments: Optional[Sequence[Any]], tags: Optional[Mapping[str, Any]], run_id: Optional[str]
    ) -> Run:
        return runs.submission.rerun(run, arguments, tags or {}, run_id)

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
        """Start a run that this process executes: log to it, then call `complete()`, or use it in `with`."""
        return runs.interactive.start_logging(self, name, run_id, outputs, snapshot_directory, display_name, tags or {})

    def start_group(
        self,
        children: Union[Mapping[str, Any], Sequence[Any], None] = None,
        name: Optional[str] = None,
        run_id: Optional[str] = None,
        display_name: Optional[str] = None,
        tags: Optional[Mapping[str, Any]] = None,
    ) -> Run:
        """Start a parent run that the server ends when all its children have ended; this process may exit.

        `children` are configurations, in a list or by key. The run id of a child is `<group>_<key>`. Without `children`
        the group is open: add them with `submit_child`, then call `complete()`, or use the group in `with`. The group
        fails if a child fails, is canceled if all were canceled, and completes otherwise. `restart()` restarts the
        children that did not complete.
        """
        return runs.groups.start_group(self, children, name, run_id, display_name, tags or {})

    def get_runs(
        self,
        type: Optional[str] = None,
        tags: Filter = None,
        properties: Filter = None,
        include_children: bool = False,
        status: Union[str, Sequence[str], None] = None,
        where: Optional[str] = None,
    ) -> Iterator[Run]:
        """Yield runs that are not archived, newest first; child runs only with `include_children`.

        `where` filters on the server: `where="metrics.loss < 0.2 and params.lr >= 0.01 and started > '2h ago'"`. Pages
        are requested as needed.
        """
        query = dict(filters(type, tags, properties, status, where), parent="any" if include_children else None)
        query["archived"] = False
        return runs_of(self, dict(query, experiment=self.name))

    # ── identity ──

    @property
    def name(self) -> str:
        return self._view.name

    @property
    def id(self) -> str:
        return self._view.id

    @property
    def tags(self) -> Dict[str, Optional[str]]:
        return dict(self._view.tags)

    @property
    def archived_time(self) -> Optional[datetime]:
        return None if self._view.archived is None else utc_time(self._view.archived)

    def get_portal_url(self) -> str:
        session = self.workspace.session
        base = "footplate://" if session.is_local else session.endpoint.rstrip("/") + "/"
        return f"{base}experiments/{self.name}"

    # ── changing ──

    def refresh(self) -> None:
        found = _listed(self.workspace, {"name": self.name})
        if found:
            self._view = found[0]

    def archive(self) -> None:
        self._change(archived=True)

    def reactivate(self, new_name: Optional[str] = None) -> None:
        if new_name is not None:
            raise UserErrorException(
                f"new_name is {new_name!r}", hint="an experiment cannot be renamed; leave new_name out"
            )
        self._change(archived=False)

    def tag(self, key: str, value: Any = None) -> None:
        self.set_tags({key: value})

    def set_tags(self, tags: Mapping[str, Any]) -> None:
        self._change(tags=texts(tags))

    def remove_tags(self, tags: Union[str, Sequence[str]]) -> None:
        self._change(remove_tags=[tags] if isinstance(tags, str) else list(tags))

    def _change(self, **change: Any) -> None:
        self._view = self.workspace.session.api.experiments.change(self.id, **change)

    @staticmethod
    def list(
        workspace: Workspace,
        experiment_name: Optional[str] = None,
        view_type: str = "ActiveOnly",
        tags: Filter = None,
    ) -> List[Experiment]:
        if view_type not in _ARCHIVED:
            raise UserErrorException(f"view_type is {view_type!r}", hint=f"use one of {', '.join(_ARCHIVED)}")
        found = _listed(workspace, {"name": experiment_name, "archived": _ARCHIVED[view_type]})
        return [Experiment._of(workspace, view) for view in found if _has_tags(view, tags)]

    @staticmethod
    def delete(workspace: Workspace, experiment_id: str) -> None:
        """Delete an experiment that has no runs."""
        workspace.session.api.experiments.delete(experiment_id)

    def __repr__(self) -> str:
        return f"Experiment(Name: {self.name},\nWorkspace: {self.workspace.name})"

    def _repr_html_(self) -> str:
        return notebooks.row({"Name": self.name, "Workspace": self.workspace.name})


def run_of_view(workspace: Workspace, view: RunView) -> Run:
    """Return the run of this view, without another request."""
    return make_run(Experiment._of_run(workspace, view), view)  # pyright: ignore[reportPrivateUsage]


def find_experiment(workspace: Workspace, name: str) -> Experiment:
    """Return an existing experiment. Unlike the constructor, this never creates one, so a job's token suffices."""
    found = _listed(workspace, {"name": name})
    if not found:
        raise UserErrorException(f"there is no experiment {name!r} in workspace {workspace.name}")
    return Experiment._of(workspace, found[0])  # pyright: ignore[reportPrivateUsage]


def _listed(workspace: Workspace, query: Dict[str, Any]) -> List[ExperimentView]:
    return list(workspace.session.api.experiments.list(workspace.id, **query))


def _checked(name: Any) -> str:
    if not isinstance(name, str) or "/" in name or name in ("", ".", ".."):
        raise UserErrorException(
            f"{name!r} is not an experiment name",
            hint="use letters, digits, '_' and '-', starting with a letter or digit, at most 255 characters",
        )
    return name


def _has_tags(view: ExperimentView, wanted: Filter) -> bool:
    if wanted is None:
        return True
    if isinstance(wanted, str):
        return wanted in view.tags
    return all(key in view.tags and (value is None or str(value) == view.tags[key]) for key, value in wanted.items())
