"""A run: inspect it, log to it, exchange files with it, wait for it, end it."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, Dict, Iterator, List, Mapping, Optional, Sequence, Type, Union

from footplate.domain.runs.run_kinds import kind_of
from footplate.sdk import environments, models, runs
from footplate.sdk.exceptions import Kinds, SnapshotException, UserErrorException
from footplate.sdk.runs import metrics
from footplate.sdk.runs.filters import Filter, filters
from footplate.sdk.runs.logging_run import LoggingRun
from footplate.sdk.runs.status import TERMINAL
from footplate.sdk.session import user_name

if TYPE_CHECKING:
    from footplate.domain.records import RunView
    from footplate.domain.runs.run_diff import RunDiff
    from footplate.domain.stacks import ProcessStacks
    from footplate.sdk.blob_transfer import Source
    from footplate.sdk.data.references import DataPath
    from footplate.sdk.environments.environment import Environment
    from footplate.sdk.models.model import Model
    from footplate.sdk.models.resource_configuration import ResourceConfiguration
    from footplate.sdk.runs.experiment import Experiment
    from footplate.sdk.workspace import Workspace

SCRIPT_RUN = "azureml.scriptrun"
"""Azure's name for the type of a submitted script."""

HYPERDRIVE = "hyperdrive"
"""Azure's name for the type of a sweep."""


class Run(LoggingRun):
    """`Run(experiment, run_id)` fetches the run with that id."""

    @staticmethod
    def get(workspace: Workspace, run_id: str) -> Run:
        return workspace.get_run(run_id)

    @staticmethod
    def list(
        experiment: Experiment,
        type: Optional[str] = None,
        tags: Filter = None,
        properties: Filter = None,
        status: Union[str, Sequence[str], None] = None,
        include_children: bool = False,
    ) -> Iterator[Run]:
        """Yield the runs of an experiment, newest first. Pages are requested as needed."""
        query = dict(filters(type, tags, properties, status), parent="any" if include_children else None)
        return runs_of(experiment, dict(query, experiment=experiment.name))

    @staticmethod
    def get_context(allow_offline: bool = True, used_for_context_manager: bool = False, **kwargs: Any) -> Run:
        """Return the run that this process belongs to; outside a run, an offline stand-in that only prints."""
        from footplate.sdk.runs.context import current_run  # noqa: PLC0415  # circular: context defines the job's subclass of Run

        return current_run(allow_offline)

    @staticmethod
    def get_submitted_run(**kwargs: Any) -> Run:
        return Run.get_context(allow_offline=False)

    @property
    def input_datasets(self) -> Dict[str, Any]:
        """The datasets passed to the run, by name. Only the script of the run has them."""
        raise AttributeError(f"input_datasets exists only inside the job of run {self.id}; hint: use get_details()")

    @property
    def output_datasets(self) -> Dict[str, Any]:
        """The folders that the run writes, by the names of its outputs. Only the script of the run has them."""
        raise AttributeError(f"output_datasets exists only inside the job of run {self.id}; hint: use get_details()")

    # ── metrics ───────────────────────────────────────────────────────────────────────────────────────────────────────

    def get_metrics(
        self,
        name: Optional[str] = None,
        recursive: bool = False,
        run_type: Optional[str] = None,
        populate: bool = False,
    ) -> Dict[str, Any]:
        """Return the logged metrics: a bare value if it was logged once, otherwise a list.

        `recursive` returns `{run id: {name: value}}` for this run and its descendants; `run_type` selects among them.
        """
        self.flush()
        if recursive:
            runs.recorder.flush_all(self._session)
        runs.shipping.recover_run(self._session, self._id)
        found = self._session.api.metrics.read(self._id, name=name, recursive=recursive)
        if recursive and run_type is not None:
            wanted = {run.id for run in [self, *self.get_children(recursive=True)] if run.type == run_type}
            found = {run: series for run, series in found.items() if run in wanted}
        shaped = {run: metrics.shapes(series, run) for run, series in found.items()}
        if populate:
            shaped = {run: runs.files.populated(self._session, run, values) for run, values in shaped.items()}
        return {run: values for run, values in shaped.items() if values} if recursive else shaped.get(self._id, {})

    # ── secrets ───────────────────────────────────────────────────────────────────────────────────────────────────────

    def get_secret(self, name: str) -> str:
        """Return a secret of the workspace. It is never written to the run's record."""
        return self.experiment.workspace.get_default_keyvault().get_secret(name)

    def get_secrets(self, secrets: Sequence[str]) -> Dict[str, str]:
        return self.experiment.workspace.get_default_keyvault().get_secrets(secrets)

    # ── files ─────────────────────────────────────────────────────────────────────────────────────────────────────────

    def upload_file(self, name: str, path_or_stream: Source, datastore_name: Optional[str] = None) -> None:
        """Upload a file as `name`. An existing name is an error."""
        runs.files.upload(self._session, self._id, [(name, path_or_stream)])

    def upload_files(
        self,
        names: Sequence[str],
        paths: Sequence[Source],
        return_artifacts: bool = False,
        timeout_seconds: Optional[float] = None,
        datastore_name: Optional[str] = None,
    ) -> None:
        if len(names) != len(paths):
            raise TypeError(f"{len(names)} names were given for {len(paths)} paths")
        runs.files.upload(self._session, self._id, list(zip(names, paths)))

    def upload_folder(self, name: str, path: str, datastore_name: Optional[str] = None) -> None:
        runs.files.upload_folder(self._session, self._id, name, path)

    def get_file_names(self) -> List[str]:
        """Return the names of artifacts and logs."""
        return runs.files.names(self._session, self._id)

    def download_file(
        self, name: str, output_file_path: Optional[str] = None, _validate_checksum: bool = False
    ) -> None:
        runs.files.download(self._session, self._id, name, output_file_path)

    def download_files(
        self,
        prefix: Optional[str] = None,
        output_directory: Optional[str] = None,
        output_paths: Optional[Sequence[str]] = None,
        batch_size: int = 100,
        append_prefix: bool = True,
        timeout_seconds: Optional[float] = None,
    ) -> None:
        runs.files.download_many(self._session, self._id, prefix, output_directory, output_paths, append_prefix)

    def _get_outputs_datapath(self) -> DataPath:
        """Return the outputs as a path for `resume_from`, as Azure's examples of resuming do."""
        return runs.output_paths.outputs_datapath(self)

    def register_model(
        self,
        model_name: str,
        model_path: Optional[str] = None,
        tags: Optional[Mapping[str, Any]] = None,
        properties: Optional[Mapping[str, Any]] = None,
        model_framework: Optional[str] = None,
        model_framework_version: Optional[str] = None,
        description: Optional[str] = None,
        datasets: Any = None,
        sample_input_dataset: Any = None,
        sample_output_dataset: Any = None,
        resource_configuration: Optional[ResourceConfiguration] = None,
        **kwargs: Any,
    ) -> Model:
        """Register files of the run as a model: `model_path` is a file or folder of the run."""
        return models.model.register_from_run(
            self.experiment.workspace, self._id, model_name, model_path, tags, properties, description,
            (model_framework, model_framework_version), (datasets, sample_input_dataset, sample_output_dataset),
            resource_configuration,
        )  # fmt: skip

    # ── details and waiting ───────────────────────────────────────────────────────────────────────────────────────────

    def get_details(self) -> Dict[str, Any]:
        return runs.details.details(self._session, self._refresh())

    def get_details_with_logs(self) -> Dict[str, Any]:
        return runs.details.details_with_logs(self._session, self._refresh())

    def get_detailed_status(self) -> Dict[str, Any]:
        return runs.details.detailed_status(self._refresh())

    def get_all_logs(self, destination: Optional[str] = None) -> List[str]:
        """Download the logs and return their paths."""
        folder = destination or os.path.join("assets", self._id)
        return runs.files.download_logs(self._session, self._id, folder)

    def get_environment(self) -> Environment:
        spec = self._view.spec or self._refresh().spec
        definition = (spec.definition if spec else {}).get("environment")
        if not definition:
            raise UserErrorException(f"run {self._id} was not submitted with an environment")
        return environments.environment.from_definition(definition)

    def wait_for_completion(
        self, show_output: bool = False, wait_post_processing: bool = False, raise_on_error: bool = True
    ) -> Dict[str, Any]:
        """Wait until the run ends and return its details.

        A failed run raises ActivityFailedException; a canceled run does not raise. When this returns, metrics and
        outputs are stored, so `wait_post_processing` makes no difference.
        """
        self._known = runs.streaming.wait(self._session, self._id, show_output)
        found = runs.details.details(self._session, self._known)
        if raise_on_error and self._known.status == "Failed":
            raise runs.details.failure(self._known, found)
        return found

    # ── snapshots ─────────────────────────────────────────────────────────────────────────────────────────────────────

    def take_snapshot(self, path: str) -> str:
        """Store a copy of the folder with the run. A run has one snapshot."""
        if self._refresh().snapshot:
            raise SnapshotException(f"run {self._id} has a snapshot already: {self._view.snapshot}")
        taken = runs.snapshots.take(self._session, os.fspath(path))
        kinds: Kinds = {"conflict": SnapshotException}
        self._known = self._session.api_for(kinds).runs.set_snapshot(self._id, taken.id)
        return taken.id

    def get_snapshot_id(self) -> str:
        snapshot = self._view.snapshot or self._refresh().snapshot
        if not snapshot:
            raise SnapshotException(f"run {self._id} has no snapshot", hint="take one with run.take_snapshot(path)")
        return snapshot

    def restore_snapshot(self, snapshot_id: Optional[str] = None, path: Optional[str] = None) -> str:
        """Write the snapshot as a zip and return its path."""
        return runs.snapshots.restore(self._session, snapshot_id or self.get_snapshot_id(), path)

    # ── children ──────────────────────────────────────────────────────────────────────────────────────────────────────

    def child_run(self, name: Optional[str] = None, run_id: Optional[str] = None, outputs: Optional[str] = None) -> Run:
        """Start a child run; the caller completes it, or uses it in `with`."""
        full = ">".join(part for part in (self.name, name) if part) or None
        return runs.interactive.start_child(self, full, run_id, outputs)

    def create_children(
        self, count: Optional[int] = None, tag_key: Optional[str] = None, tag_values: Optional[Sequence[Any]] = None
    ) -> List[Run]:
        """Start several child runs: `count` of them, or one for each of `tag_values`."""
        tagged = runs.interactive.child_tags(count, tag_key, tag_values)
        return [runs.interactive.start_child(self, self.name, tags=tags) for tags in tagged]

    def get_children(
        self,
        recursive: bool = False,
        tags: Filter = None,
        properties: Filter = None,
        type: Optional[str] = None,
        status: Union[str, Sequence[str], None] = None,
        _rehydrate_runs: bool = True,
    ) -> Iterator[Run]:
        """Yield child runs, newest first; `recursive` includes their descendants."""
        below = {"ancestor": self._id, "parent": "any"} if recursive else {"parent": self._id}
        return runs_of(self.experiment, dict(filters(type, tags, properties, status), **below))

    def submit_child(self, config: Any, tags: Optional[Mapping[str, Any]] = None, **kwargs: Any) -> Run:
        return self.experiment._submit(config, tags, self._id, kwargs)  # pyright: ignore[reportPrivateUsage]

    def rerun(
        self,
        arguments: Optional[Sequence[Any]] = None,
        tags: Optional[Mapping[str, Any]] = None,
        run_id: Optional[str] = None,
    ) -> Run:
        """Run it again with the same source folder, locked environment and settings.

        Nothing is resolved again, so new package releases make no difference. `arguments` replace the script's own. The
        new run has the property `footplate.rerun_of`.
        """
        return self.experiment._rerun(self, arguments, tags, run_id)  # pyright: ignore[reportPrivateUsage]

    # ── its end ───────────────────────────────────────────────────────────────────────────────────────────────────────

    def start(self) -> None:
        """Do nothing: a run starts when it is created or when its turn in the queue comes."""

    def complete(self, _set_status: bool = True) -> None:
        """Send the last metrics and the tracked outputs, and end the run as Completed."""
        self._hand_in()
        self._known = self._session.api.runs.complete(self._id)

    def fail(
        self,
        error_details: Union[str, BaseException, None] = None,
        error_code: Optional[str] = None,
        _set_status: bool = True,
    ) -> None:
        """Send the last metrics and outputs, and end the run as Failed with this error."""
        cause = runs.details.failure_cause(error_details, error_code)
        self._hand_in()
        self._known = self._session.api.runs.fail(self._id, cause)

    def cancel(self) -> None:
        self._known = self._session.api.runs.cancel(self._id, user_name())

    def delete(self, force: bool = False) -> None:
        """Delete this run, which must have ended, with its records, metrics, logs, files and children.

        `force`: even if registered models were made by it. The models keep their files.
        """
        self._session.api.runs.delete(self._id, force)

    def restart(self, reason: str = "") -> None:
        """Retry a failed or canceled run under the same id. Metrics and logs continue, and `./outputs` is restored."""
        attempt = self._refresh().attempt + 1
        self._known = self._session.api.runs.restart(self._id, attempt, user_name(), reason)

    def get_stacks(self, timeout_seconds: float = 30) -> List[ProcessStacks]:
        """Return the current stack traces of the run's processes, innermost call last, even if they hang."""
        return runs.stacks.ask(self._session, self._id, timeout_seconds)

    def diff(self, other: Union[Run, str]) -> RunDiff:
        """Return what differs from another run: arguments, code, environment, data and metrics."""
        return runs.comparison.diff(self._session, self._id, other if isinstance(other, str) else other.id)

    def clean(self) -> None:
        """Do nothing: the node removes the working directory of a run that has ended."""

    def _hand_in(self) -> None:
        if self._outputs is not None:
            runs.files.upload_tracked(self._session, self._id, self._outputs)
        runs.recorder.close_recorder(self._session, self._id)

    def __enter__(self) -> Run:
        if self._outputs is not None:
            self._capture = runs.output_capture.Capture(runs.recorder.open_recorder(self._session, self._id))
        return self

    def __exit__(self, kind: Any, error: Optional[BaseException], traceback: Any) -> bool:
        if self._capture is not None:
            self._capture.end()
            self._capture = None
        ended_well = isinstance(error, SystemExit) and error.code in (None, 0)
        # The block does not decide how a job ends.
        if self._refresh().status in TERMINAL or kind_of(self._view).has_nodes:
            runs.recorder.close_recorder(self._session, self._id)
        elif error is None or ended_well:
            self.complete()
        else:
            self.fail(error)
        return ended_well


class ScriptRun(Run):
    """A submitted script, as `experiment.submit` returns it. It outlives the process that submitted it."""


def make_run(experiment: Experiment, view: RunView) -> Run:
    """Return an object of the class for the run's type."""
    return _class_of(view.type)._of(experiment, view)  # pyright: ignore[reportPrivateUsage]


def _class_of(type_name: Optional[str]) -> Type[Run]:
    if type_name == HYPERDRIVE:
        from footplate.sdk.tuning.run import HyperDriveRun  # noqa: PLC0415  # imports this module

        return HyperDriveRun
    return ScriptRun if type_name == SCRIPT_RUN else Run


def get_run(experiment: Experiment, run_id: str, rehydrate: bool = True, clean_up: bool = True) -> Run:
    """Return the run with this id as an object of its own class."""
    return experiment.workspace.get_run(run_id)


def runs_of(experiment: Experiment, query: Mapping[str, Any]) -> Iterator[Run]:
    workspace = experiment.workspace
    other: Dict[str, Experiment] = {experiment.name: experiment}
    for view in workspace.session.api.runs.list(workspace.id, **query):
        if view.experiment not in other:
            other[view.experiment] = type(experiment)._of_run(workspace, view)  # pyright: ignore[reportPrivateUsage]
        yield make_run(other[view.experiment], view)
