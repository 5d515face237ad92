"""The base of all run objects: identity, status, tags and properties."""

from __future__ import annotations

from footplate.lazy import Deferred
from footplate.sdk.exceptions import UserErrorException
from footplate.sdk.handles import ExperimentHandle, Tagged
from footplate.sdk.values.wrong_types import explained

TYPE_CHECKING = False  # typing is not imported: a script that only logs does without it
if TYPE_CHECKING:
    from typing import Any, Dict, List, Mapping, Optional, Type, TypeVar

    from footplate.domain.records import RunView, StoryLine
    from footplate.domain.runs import run_kinds, run_status
    from footplate.sdk.display import notebooks
    from footplate.sdk.runs import files
    from footplate.sdk.runs.output_capture import Capture
    from footplate.sdk.session import Session

    H = TypeVar("H", bound="RunHandle")
else:
    run_kinds = Deferred("footplate.domain.runs.run_kinds")
    run_status = Deferred("footplate.domain.runs.run_status")
    notebooks = Deferred("footplate.sdk.display.notebooks")
    files = Deferred("footplate.sdk.runs.files")


@explained
class RunHandle(Tagged):
    def __init__(self, experiment: ExperimentHandle, run_id: str, outputs: Optional[str] = None, **kwargs: Any) -> None:
        self._experiment = experiment
        self._id = run_id
        self._known: Optional[RunView] = None
        self._outputs = files.track(outputs) if outputs is not None else None
        self._capture: Optional[Capture] = None
        if self.view.experiment != experiment.name:
            raise UserErrorException(
                f"run {run_id} is in experiment {self.view.experiment!r}, not in {experiment.name!r}",
                hint="find it with workspace.get_run(run_id)",
            )

    @classmethod
    def from_view(cls: Type[H], experiment: ExperimentHandle, view: RunView, outputs: Optional[str] = None) -> H:
        """Return a run without a request. `outputs` is the directory whose files it uploads when it ends."""
        run = object.__new__(cls)
        run._experiment = experiment
        run._id = view.id
        run._known = view
        run._outputs = files.track(outputs) if outputs is not None else None
        run._capture = None
        return run

    # ── identity ──────────────────────────────────────────────────────────────────────────────────────────────────────

    @property
    def view(self) -> RunView:
        """The server's record of the run, as last read."""
        if self._known is None:
            self._refresh()
        assert self._known is not None
        return self._known

    @property
    def _session(self) -> Session:
        return self._experiment.workspace.session

    def _refresh(self) -> RunView:
        self._known = self._session.api.runs.get(self._id)
        return self._known

    @property
    def id(self) -> str:
        """The run's id, unique on the server."""
        return self._id

    @property
    def number(self) -> int:
        """The run's number in its experiment, from 1."""
        return self.view.number

    @property
    def name(self) -> Optional[str]:
        """The name that the run was started with, or None."""
        return self.view.name

    @property
    def display_name(self) -> Optional[str]:
        """The name shown in lists. Assigning to it renames the run."""
        return self.view.display_name

    @display_name.setter
    def display_name(self, value: str) -> None:
        self._change(display_name=value)

    @property
    def description(self) -> Optional[str]:
        """A text about the run. Assigning to it changes the text."""
        return self.view.description

    @description.setter
    def description(self, value: str) -> None:
        self._change(description=value)

    @property
    def type(self) -> Optional[str]:
        """The kind of the run, such as `azureml.scriptrun` or `hyperdrive`; None for a run of a notebook."""
        return self.view.type

    @property
    def status(self) -> str:
        """The current status, as `get_status()` returns it."""
        return self.get_status()

    @property
    def attempt(self) -> int:
        """The number of the current attempt: 1, plus one for each restart."""
        return self.view.attempt

    def get_status(self) -> str:
        """Return the current status.

        The server is queried until the status is final; that of a failed run may change by a restart.

        Returns:
            A state such as `Queued`, `Running`, `Completed`, `Failed` or `Canceled`.
        """
        view = self._known
        if (
            view is None
            or view.status not in run_status.TERMINAL
            or (run_kinds.kind_of(view).can_restart and view.status != "Completed")
        ):
            self._refresh()
        return self.view.status

    def get_portal_url(self) -> str:
        """Return the address of the run on the page of the server; `footplate ui` signs a browser in there.

        Returns:
            The address.
        """
        return self._session.portal_url(self.view.workspace, f"runs/{self._id}")

    def story(self) -> List[StoryLine]:
        """Return everything that happened to the run, in order.

        Returns:
            Lines with `time`, `text` and the node they are about.

        Example:
            for line in run.story():
                print(line.text)
        """
        return list(self._session.api.runs.story(self._id))

    def __str__(self) -> str:
        view = self.view
        status = run_status.visible_status(view.status, view.waiting)
        return f"Run(Experiment: {view.experiment},\nId: {self.id},\nType: {self.type},\nStatus: {status})"

    __repr__ = __str__

    def _repr_html_(self) -> str:
        view = self.view
        status = run_status.visible_status(view.status, view.waiting)
        columns = {"Experiment": view.experiment, "Id": view.id, "Type": view.type or "", "Status": status}
        return notebooks.row({**columns, "Details": f"footplate runs show {view.id}"})

    # ── tags and properties ───────────────────────────────────────────────────────────────────────────────────────────

    @property
    def tags(self) -> Dict[str, Optional[str]]:
        """The tags, as last read from the server."""
        return dict(self.view.tags)

    @property
    def properties(self) -> Dict[str, str]:
        """The properties, as last read from the server."""
        return dict(self.view.properties)

    def get_tags(self) -> Dict[str, Optional[str]]:
        """Read the tags from the server.

        Returns:
            Values by name.
        """
        return dict(self._refresh().tags)

    def get_properties(self) -> Dict[str, str]:
        """Read the properties from the server.

        Returns:
            Values by name.
        """
        return dict(self._refresh().properties)

    def add_properties(self, properties: Mapping[str, Any]) -> None:
        """Add properties. Unlike tags, they are written once.

        Args:
            properties: Values by name. Values become strings.

        Raises:
            ServiceException: A property exists with another value.
        """
        self._change(properties={str(key): str(value) for key, value in properties.items()})

    def _change(self, **change: Any) -> None:
        self._known = self._session.api.runs.change(self._id, **change)
