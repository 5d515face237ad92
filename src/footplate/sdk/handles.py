"""The bases of Workspace, Experiment and Run, with all that the packages of nouns need of them.

`workspace` and `experiment` know every noun; data, environments, models and the others know only these bases, so that
imports go one way.
"""

from __future__ import annotations

from footplate.lazy import Deferred
from footplate.sdk.values.wrong_types import explained

TYPE_CHECKING = False  # typing is not imported: a script that only logs does without it
if TYPE_CHECKING:
    from typing import Any, Mapping, Optional, Sequence, Union

    from footplate.domain.records import WorkspaceView
    from footplate.sdk.session import Session
    from footplate.sdk.values import labels
else:
    labels = Deferred("footplate.sdk.values.labels")


SCRIPT_RUN = "azureml.scriptrun"
"""Azure's name for the type of a submitted script."""

HYPERDRIVE = "hyperdrive"
"""Azure's name for the type of a sweep."""

PIPELINE_RUN, STEP_RUN = "azureml.PipelineRun", "azureml.StepRun"
"""Azure's names for the types of a pipeline and of a step of one."""


@explained
class Tagged:
    """An object with tags on the server."""

    def tag(self, key: str, value: Any = None) -> None:
        """Add one tag, or replace its value.

        Args:
            key: The name of the tag.
            value: Its value, stored as a string; None stays None.
        """
        self.set_tags({key: value})

    def set_tags(self, tags: Mapping[str, Any]) -> None:
        """Add tags, or replace their values. Other tags stay.

        Args:
            tags: Values by name. Values become strings; None stays None.
        """
        self._change(tags=labels.texts(tags))

    def remove_tags(self, tags: Union[str, Sequence[str]]) -> None:
        """Remove tags. Names that do not exist are skipped.

        Args:
            tags: One name, or several.
        """
        self._change(remove_tags=[tags] if isinstance(tags, str) else list(tags))

    def _change(self, **change: Any) -> None:
        raise TypeError(f"{type(self).__name__} has no tags")


class WorkspaceHandle:
    """A workspace as its nouns see it: its identity, and the connection to its server."""

    def __init__(self, session: Session, view: WorkspaceView) -> None:
        self.session = session
        self.view = view

    @property
    def id(self) -> str:
        """The id that the server gave the workspace."""
        return self.view.id

    @property
    def name(self) -> str:
        """The name."""
        return self.view.name

    @property
    def location(self) -> str:
        """The location that the workspace was created with."""
        return self.view.location

    def get_run(self, run_id: str) -> Any:
        """Return the run with this id."""
        raise TypeError(f"{type(self).__name__} is not a Workspace")


class ExperimentHandle:
    """An experiment as its nouns see it: a name in a workspace. A submission creates it on the server if need be."""

    def __init__(self, workspace: WorkspaceHandle, name: str) -> None:
        self._workspace = workspace
        self._name = name

    @property
    def workspace(self) -> WorkspaceHandle:
        """The workspace that holds the experiment."""
        return self._workspace

    @property
    def name(self) -> str:
        """The name, unique in the workspace."""
        return self._name

    def submit(self, config: Any, tags: Optional[Mapping[str, Any]] = None, **kwargs: Any) -> Any:
        """Submit a run."""
        raise TypeError(f"{type(self).__name__} is not an Experiment")
