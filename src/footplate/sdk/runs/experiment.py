"""An experiment: a name under which runs are kept together."""

from __future__ import annotations

import html
import os
from dataclasses import replace
from datetime import datetime
from typing import TYPE_CHECKING, Any, Dict, Iterator, List, Mapping, Optional, Sequence, Union

from footplate.domain.codec import from_json
from footplate.domain.records import ExperimentView, RunView
from footplate.domain.run_kinds import INTERACTIVE
from footplate.domain.specs import RunSpec
from footplate.sdk.exceptions import UserErrorException
from footplate.sdk.labels import texts
from footplate.sdk.runs import snapshots
from footplate.sdk.runs.filters import Filter, filters
from footplate.sdk.runs.run import Run, make_run, runs_of, start_run
from footplate.sdk.runs.submission import rerun, submit
from footplate.sdk.timestamps import utc_time

if TYPE_CHECKING:
    from footplate.sdk.workspace import Workspace

_ARCHIVED = {"ActiveOnly": False, "ArchivedOnly": True, "All": None}
OUTPUTS = "./outputs"


class Experiment:
    """`Experiment(workspace, name)` is the experiment of that name, made if there is none."""

    def __init__(self, workspace: Workspace, name: str, **kwargs: Any) -> None:
        if not hasattr(workspace, "session"):
            raise UserErrorException(
                f"workspace is {workspace!r}", hint="give the object: Experiment(Workspace.from_config(), 'name')"
            )
        self.workspace = workspace
        made = workspace.session.put(f"/workspaces/{workspace.id}/experiments/{_checked(name)}")
        self._view = from_json(ExperimentView, made)

    @classmethod
    def _of(cls, workspace: Workspace, view: ExperimentView) -> Experiment:
        made = object.__new__(cls)
        made.workspace, made._view = workspace, view
        return made

    # ── runs ──

    def submit(self, config: Any, tags: Optional[Mapping[str, Any]] = None, **kwargs: Any) -> Run:
        """Hand the work to the server and return at once. The run outlives this process."""
        return self._submit(config, tags, None, kwargs)

    def _submit(
        self, config: Any, tags: Optional[Mapping[str, Any]], parent: Optional[str], kwargs: Dict[str, Any]
    ) -> Run:
        return submit(self, config, tags or {}, parent, kwargs)

    def _rerun(
        self, run: Run, arguments: Optional[Sequence[Any]], tags: Optional[Mapping[str, Any]], run_id: Optional[str]
    ) -> Run:
        return rerun(run, arguments, tags or {}, run_id)

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
        """A run that this process itself is: log to it, then `complete()` it, or use it in `with`."""
        session = self.workspace.session
        spec = RunSpec(
            self.name,
            INTERACTIVE,
            name=name,
            display_name=display_name,
            tags=texts(tags or {}),
        )
        diff = b""
        if snapshot_directory is not None:
            taken = snapshots.take(session, snapshot_directory)
            spec = replace(spec, snapshot=taken.id, properties=taken.properties)
            diff = taken.diff
        tracked = None if outputs is False else OUTPUTS if outputs in (None, True) else str(outputs)
        if tracked is not None:
            os.makedirs(tracked, exist_ok=True)
        run = start_run(self, spec, run_id, tracked)
        snapshots.keep_diff(session, run.id, diff)
        return run

    def get_runs(
        self,
        type: Optional[str] = None,
        tags: Filter = None,
        properties: Filter = None,
        include_children: bool = False,
        status: Union[str, Sequence[str], None] = None,
    ) -> Iterator[Run]:
        """Newest first, top level unless `include_children`. A generator: pages are fetched as they are needed."""
        query = dict(filters(type, tags, properties, status), parent="any" if include_children else None)
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
            raise UserErrorException(f"new_name is {new_name!r}", hint="an experiment keeps its name; leave it out")
        self._change(archived=False)

    def tag(self, key: str, value: Any = None) -> None:
        self.set_tags({key: value})

    def set_tags(self, tags: Mapping[str, Any]) -> None:
        self._change(tags=texts(tags))

    def remove_tags(self, tags: Union[str, Sequence[str]]) -> None:
        self._change(remove_tags=[tags] if isinstance(tags, str) else list(tags))

    def _change(self, **change: Any) -> None:
        self._view = from_json(ExperimentView, self.workspace.session.patch(f"/experiments/{self.id}", change))

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
        """Remove an experiment that has no runs."""
        workspace.session.delete(f"/experiments/{experiment_id}")

    def __repr__(self) -> str:
        return f"Experiment(Name: {self.name},\nWorkspace: {self.workspace.name})"

    def _repr_html_(self) -> str:
        cells = "".join(f"<td>{html.escape(cell)}</td>" for cell in (self.name, self.workspace.name))
        return f'<table style="width:100%"><tr><th>Name</th><th>Workspace</th></tr><tr>{cells}</tr></table>'


def run_of_view(workspace: Workspace, view: RunView) -> Run:
    """The run with an experiment made from what the view knows: no further request."""
    known = ExperimentView(view.experiment_id, view.workspace, view.experiment, view.created)
    return make_run(Experiment._of(workspace, known), view)  # pyright: ignore[reportPrivateUsage]


def find_experiment(workspace: Workspace, name: str) -> Experiment:
    """One that exists, without making it: what a job's token allows."""
    found = _listed(workspace, {"name": name})
    if not found:
        raise UserErrorException(f"there is no experiment {name!r} in workspace {workspace.name}")
    return Experiment._of(workspace, found[0])  # pyright: ignore[reportPrivateUsage]


def _listed(workspace: Workspace, query: Dict[str, Any]) -> List[ExperimentView]:
    found = workspace.session.items(f"/workspaces/{workspace.id}/experiments", query)
    return [from_json(ExperimentView, item) for item in found]


def _checked(name: Any) -> str:
    if not isinstance(name, str) or "/" in name or name in ("", ".", ".."):
        raise UserErrorException(
            f"{name!r} is not an experiment name",
            hint="use letters, digits, '_' and '-', starting with a letter or digit, at most 255 in all",
        )
    return name


def _has_tags(view: ExperimentView, wanted: Filter) -> bool:
    if wanted is None:
        return True
    if isinstance(wanted, str):
        return wanted in view.tags
    return all(key in view.tags and (value is None or str(value) == view.tags[key]) for key, value in wanted.items())
