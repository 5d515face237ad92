"""What every object of a run has: its identity, its state, its tags and properties."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Dict, List, Mapping, Optional, Sequence, Type, TypeVar, Union

from footplate.domain.run_kinds import kind_of
from footplate.lazy import Deferred
from footplate.sdk.exceptions import UserErrorException
from footplate.sdk.runs.status import TERMINAL

if TYPE_CHECKING:
    from footplate.domain import codec, records
    from footplate.sdk import labels, session
    from footplate.sdk.runs import details, files, output_capture
    from footplate.sdk.runs.experiment import Experiment
    from footplate.sdk.runs.run import Run
else:
    # A training script that only logs needs none of these, and should not wait for them.
    codec, records = Deferred("footplate.domain.codec"), Deferred("footplate.domain.records")
    details, files = Deferred("footplate.sdk.runs.details"), Deferred("footplate.sdk.runs.files")
    labels = Deferred("footplate.sdk.labels")

H = TypeVar("H", bound="RunHandle")


class RunHandle:
    def __init__(self, experiment: Experiment, run_id: str, outputs: Optional[str] = None, **kwargs: Any) -> None:
        self._experiment = experiment
        self._id = run_id
        self._known: Optional[records.RunView] = None
        self._outputs = files.tracked(outputs) if outputs is not None else None
        self._capture: Optional[output_capture.Capture] = None
        if self._view.experiment != experiment.name:
            raise UserErrorException(
                f"run {run_id} is in experiment {self._view.experiment!r}, not in {experiment.name!r}",
                hint="find it wherever it is with workspace.get_run(run_id)",
            )

    @classmethod
    def _of(cls: Type[H], experiment: Experiment, view: records.RunView, outputs: Optional[str] = None) -> H:
        made = object.__new__(cls)
        made._experiment, made._id, made._known = experiment, view.id, view
        made._outputs, made._capture = files.tracked(outputs) if outputs is not None else None, None
        return made

    # ── identity ──────────────────────────────────────────────────────────────────────────────────────────────────────

    @property
    def _view(self) -> records.RunView:
        if self._known is None:
            self._refresh()
        assert self._known is not None
        return self._known

    @property
    def _session(self) -> session.Session:
        return self.experiment.workspace.session

    @property
    def _path(self) -> str:
        return f"/runs/{self._id}"

    def _refresh(self) -> records.RunView:
        return self._keep(self._session.get(self._path))

    def _keep(self, answer: Any) -> records.RunView:
        self._known = codec.from_json(records.RunView, answer)
        return self._known

    @property
    def id(self) -> str:
        return self._id

    @property
    def experiment(self) -> Experiment:
        return self._experiment

    @property
    def number(self) -> int:
        return self._view.number

    @property
    def name(self) -> Optional[str]:
        return self._view.name

    @property
    def display_name(self) -> Optional[str]:
        return self._view.display_name

    @display_name.setter
    def display_name(self, value: str) -> None:
        self._change(display_name=value)

    @property
    def description(self) -> Optional[str]:
        return self._view.description

    @description.setter
    def description(self, value: str) -> None:
        self._change(description=value)

    @property
    def type(self) -> Optional[str]:
        return self._view.type

    @property
    def parent(self) -> Optional[Run]:
        parent = self._view.parent
        return self.experiment.workspace.get_run(parent) if parent else None

    @property
    def status(self) -> str:
        return self.get_status()

    @property
    def attempt(self) -> int:
        """1, and one more for each time that the run was restarted."""
        return self._view.attempt

    def get_status(self) -> str:
        """Fresh from the server, until the run is over for good: one that failed may be restarted."""
        known = self._known
        if (
            known is None
            or known.status not in TERMINAL
            or (kind_of(known).can_restart and known.status != "Completed")
        ):
            self._refresh()
        return self._view.status

    def get_portal_url(self) -> str:
        return details.portal_url(self._session, self._id)

    def story(self) -> List[records.StoryLine]:
        """Everything that happened to the run, in order, each with its time and a sentence."""
        return [codec.from_json(records.StoryLine, item) for item in self._session.items(f"{self._path}/story")]

    def __str__(self) -> str:
        return (
            f"Run(Experiment: {self.experiment.name},\nId: {self.id},\nType: {self.type},\nStatus: {self._view.status})"
        )

    __repr__ = __str__

    def _repr_html_(self) -> str:
        return details.html_table(self.experiment.name, self._view, self.get_portal_url())

    # ── tags and properties ───────────────────────────────────────────────────────────────────────────────────────────

    @property
    def tags(self) -> Dict[str, Optional[str]]:
        return dict(self._view.tags)

    @property
    def properties(self) -> Dict[str, str]:
        return dict(self._view.properties)

    def get_tags(self) -> Dict[str, Optional[str]]:
        return dict(self._refresh().tags)

    def get_properties(self) -> Dict[str, str]:
        return dict(self._refresh().properties)

    def tag(self, key: str, value: Any = None) -> None:
        self.set_tags({key: value})

    def set_tags(self, tags: Mapping[str, Any]) -> None:
        """Add to the tags there are. Values become strings, None stays None."""
        self._change(tags=labels.texts(tags))

    def remove_tags(self, tags: Union[str, Sequence[str]]) -> None:
        self._change(remove_tags=[tags] if isinstance(tags, str) else list(tags))

    def add_properties(self, properties: Mapping[str, Any]) -> None:
        """Properties are written once: another value for one that exists is an error."""
        self._change(properties={str(key): str(value) for key, value in properties.items()})

    def _change(self, **change: Any) -> None:
        self._keep(self._session.patch(self._path, change))
