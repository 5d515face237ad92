"""The run that this process belongs to, according to its environment variables."""

from __future__ import annotations

import os
from _thread import allocate_lock  # that of `threading`, whose import takes longer

from footplate import environ
from footplate.job.journal import Journal
from footplate.lazy import Deferred
from footplate.sdk.exceptions import RunEnvironmentException
from footplate.sdk.run import Run
from footplate.sdk.values.wrong_types import explained

TYPE_CHECKING = False  # typing is not imported: a script that only logs does without it
if TYPE_CHECKING:
    import logging
    from typing import Any, Callable, Dict, List, Optional, Union

    from footplate.domain import azure_variables
    from footplate.job import offline
    from footplate.sdk import experiment as experiments
    from footplate.sdk import session
    from footplate.sdk import workspace as workspaces
    from footplate.sdk.data import dataset
    from footplate.sdk.experiment import Experiment
    from footplate.sdk.runs import details, files, shipping
else:
    # Milliseconds that a script which only logs metrics saves.
    logging = Deferred("logging")
    azure_variables = Deferred("footplate.domain.azure_variables")
    offline = Deferred("footplate.job.offline")
    experiments = Deferred("footplate.sdk.experiment")
    session = Deferred("footplate.sdk.session")
    workspaces = Deferred("footplate.sdk.workspace")
    dataset = Deferred("footplate.sdk.data.dataset")
    details = Deferred("footplate.sdk.runs.details")
    files = Deferred("footplate.sdk.runs.files")
    shipping = Deferred("footplate.sdk.runs.shipping")

NEEDED = (
    "AZUREML_RUN_ID",
    "AZUREML_ARM_SUBSCRIPTION",
    "AZUREML_ARM_RESOURCEGROUP",
    "AZUREML_ARM_WORKSPACE_NAME",
    "AZUREML_ARM_PROJECT_NAME",
    "AZUREML_SERVICE_ENDPOINT",
    "AZUREML_RUN_TOKEN",
    "AZUREML_RUN_TOKEN_EXPIRY",
    environ.ENDPOINT,
    environ.JOURNALS,
)
OUTPUTS, LOGS = "outputs", "logs"
_PLAIN = frozenset((float, int, str, bool, type(None)))
"""Types that the journal writes without conversion."""


@explained
class _SubmittedRun(Run):
    """A run seen from inside its job. The node agent, not the script, ends it."""

    def __init__(self, run_id: str) -> None:
        # No request and no session: a script that only logs never contacts the server.
        self._id = run_id
        self._known = None
        self._outputs = None  # the node agent keeps them
        self._folder = os.getcwd()
        self._capture = None
        self._found: Optional[Experiment] = None
        self._guard = allocate_lock()
        self._own_journal = Journal(os.path.join(os.environ[environ.JOURNALS], run_id))
        self.log = _quick_log(self._own_journal, super().log)

    @property
    def _session(self) -> session.Session:
        return session.open_session()

    @property
    def _journal(self) -> Journal:
        return self._own_journal

    @property
    def experiment(self) -> Experiment:
        with self._guard:
            if self._found is None:
                workspace_id = os.environ.get("AZUREML_WORKSPACE_ID") or self.view.workspace
                workspace = workspaces.open_workspace(self._session, workspace_id)
                self._found = experiments.find_experiment(workspace, os.environ["AZUREML_ARM_PROJECT_NAME"])
            return self._found

    @property
    def input_datasets(self) -> Dict[str, Any]:
        """The datasets passed to the run, by name: the path if it was mounted or downloaded, otherwise the dataset."""
        listed = os.environ.get(azure_variables.INPUTS, "").split(",")
        named = [entry.partition(":") for entry in listed if entry]
        return {
            name: dataset.Dataset.get_by_id(self.experiment.workspace, os.environ[name])
            if mode == azure_variables.DIRECT
            else os.environ[name]
            for name, _, mode in named
        }

    @property
    def output_datasets(self) -> Dict[str, Any]:
        """The folders that the run writes, by the names of its outputs."""
        names = [name for name in os.environ.get(azure_variables.OUTPUTS, "").split(";") if name]
        return {name: os.environ[azure_variables.OUTPUT + name] for name in names}

    def flush(self, timeout_seconds: float = 300) -> None:
        """Send everything logged so far to the server now, instead of waiting for the node agent to do so."""
        shipping.ship_own(self._session, self._id, self._own_journal.folder)

    def complete(self, _set_status: bool = True) -> None:
        """Send metrics and outputs now. The run continues: it completes when its script ends."""
        self.flush()
        outputs = files.Tracked(os.path.join(self._folder, OUTPUTS), OUTPUTS)
        files.upload_tracked(self._session, self._id, outputs)

    def fail(
        self,
        error_details: Union[str, BaseException, None] = None,
        error_code: Optional[str] = None,
        _set_status: bool = True,
    ) -> None:
        """Record the error as a warning. The run continues: it fails when its script does."""
        cause = details.failure_cause(error_details, error_code)
        self.flush()
        self._session.api.runs.warn(self._id, f"{cause.code}: {cause.message}")

    def cancel(self) -> None:
        log = logging.getLogger(__name__)
        log.warning("a run cannot cancel itself; end the script, or use: footplate runs cancel %s", self._id)

    def __enter__(self) -> Run:
        return self

    def __exit__(self, kind: Any, error: Optional[BaseException], traceback: Any) -> bool:
        return False


def _quick_log(journal: Journal, careful: Callable[..., None]) -> Callable[..., None]:
    """Return a fast `log` for training loops: plain values go straight to the journal, in under a microsecond."""

    def log(name: Any, value: Any = ..., description: str = "", step: Optional[float] = None) -> None:
        """Log one value of a series: a number, a string, a bool or None; or a dictionary of values by name."""
        if type(value) in _PLAIN:
            try:
                return journal.log(name, value, step, description)
            except (TypeError, ValueError):
                pass  # before anything was written; the careful one says which argument is wrong
        return careful(name, value, description, step)

    return log


_current: Dict[str, _SubmittedRun] = {}
_guard = allocate_lock()


def current_run(allow_offline: bool = True) -> Run:
    """Return this process's run, always the same object; outside a run an OfflineRun, which has fewer methods."""
    missing = missing_variables()
    if missing:
        if allow_offline:
            for folder in (OUTPUTS, LOGS):
                try:
                    os.makedirs(folder, exist_ok=True)
                except OSError:
                    pass  # a read-only directory is the script's problem only if it writes
            stand_in: Any = offline.OfflineRun()
            return stand_in
        raise RunEnvironmentException(
            f"this process does not belong to a run: {', '.join(missing)} not set",
            hint="submit the script with experiment.submit or: footplate run SCRIPT",
        )
    run_id = os.environ["AZUREML_RUN_ID"]
    with _guard:
        if run_id not in _current:
            _current[run_id] = _SubmittedRun(run_id)
        return _current[run_id]


def missing_variables() -> List[str]:
    return [name for name in NEEDED if not os.environ.get(name)]
