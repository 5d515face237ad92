"""A run: inspect it, log to it, exchange files with it, wait for it, end it."""

from __future__ import annotations

import os

from footplate.lazy import Deferred
from footplate.sdk import runs
from footplate.sdk.exceptions import SnapshotException, UserErrorException
from footplate.sdk.runs.logging_run import LoggingRun
from footplate.sdk.unsupported import refused
from footplate.sdk.wrong_types import explained

TYPE_CHECKING = False  # typing is not imported: a script that only logs does without it
if TYPE_CHECKING:
    from typing import Any, Dict, Iterator, List, Mapping, Optional, Sequence, Tuple, Type, Union

    from footplate.domain.records import RunView
    from footplate.domain.runs import run_kinds
    from footplate.domain.runs.run_diff import RunDiff
    from footplate.domain.stacks import ProcessStacks
    from footplate.sdk import environments, models, session
    from footplate.sdk.blob_transfer import Source
    from footplate.sdk.data.base import AbstractDataset
    from footplate.sdk.data.references import DataPath
    from footplate.sdk.environments.environment import Environment
    from footplate.sdk.exceptions import Kinds
    from footplate.sdk.models.model import Model
    from footplate.sdk.models.resource_configuration import ResourceConfiguration
    from footplate.sdk.runs.experiment import Experiment
    from footplate.sdk.workspace import Workspace
else:
    environments, models = Deferred("footplate.sdk.environments"), Deferred("footplate.sdk.models")
    run_kinds, session = Deferred("footplate.domain.runs.run_kinds"), Deferred("footplate.sdk.session")

SCRIPT_RUN = "azureml.scriptrun"
"""Azure's name for the type of a submitted script."""

HYPERDRIVE = "hyperdrive"
"""Azure's name for the type of a sweep."""


@explained
class Run(LoggingRun):
    """One execution of a script, notebook or sweep, with its metrics, logs and files.

    `Run(experiment, run_id)` fetches an existing run. `experiment.submit` and `experiment.start_logging`
    create runs, and `Run.get_context()` finds the run of the current process.

    Args:
        experiment: The experiment of the run.
        run_id: The id of the run.
        outputs: A local directory whose files become artifacts when the run ends.
        **kwargs: Accepted for Azure's private options, and ignored.

    Raises:
        UserErrorException: The run belongs to another experiment.
        ServiceException: There is no run with this id.

    Example:
        with experiment.start_logging(snapshot_directory=None) as run:
            run.tag("framework", "none")
            run.set_tags({"fold": 1, "seed": 42})
            run.remove_tags("seed")
            run.add_properties({"author": "ada"})
            run.log_list("losses", [0.5, 0.4, 0.3])
            run.log_row("epochs", epoch=1, loss=0.5)
            run.log_table("sine", {"x": [0, 1], "y": [0.0, 0.84]})
            matrix = {"class_labels": ["cat", "dog"], "matrix": [[5, 1], [0, 4]]}
            document = {"schema_type": "confusion_matrix", "schema_version": "1.0.0", "data": matrix}
            run.log_confusion_matrix("confusion", document)
            run.flush()
            print(run.id, run.get_status(), run.get_tags(), run.get_properties(), run.get_portal_url())
        print(run.get_metrics())
    """

    get_best_child = refused(
        "Run",
        "run",
        "get_best_child",
        "Footplate has no automated model selection",
        "a sweep has get_best_run_by_primary_metric(); others: min(run.get_children(), key=…)",
    )
    publish_pipeline = refused(
        "Run", "run", "publish_pipeline", "Footplate has no pipelines", "submit the script again: run.rerun()"
    )

    @staticmethod
    def get(workspace: Workspace, run_id: str) -> Run:
        """Return a run of a workspace, from any of its experiments.

        Args:
            workspace: The workspace.
            run_id: The id of the run.

        Returns:
            The run, as an object of its own class.

        Raises:
            ServiceException: There is no run with this id.

        Example:
            same = Run.get(ws, run.id)
        """
        return workspace.get_run(run_id)

    @staticmethod
    def list(
        experiment: Experiment,
        type: Optional[str] = None,
        tags: Union[str, Mapping[str, Any], None] = None,
        properties: Union[str, Mapping[str, Any], None] = None,
        status: Union[str, Sequence[str], None] = None,
        include_children: bool = False,
    ) -> Iterator[Run]:
        """Yield the runs of an experiment, newest first. Pages are requested as needed.

        Args:
            experiment: The experiment.
            type: Only runs of this type, such as `azureml.scriptrun` or `hyperdrive`.
            tags: Only runs with this tag: a key, or a dict of keys and values.
            properties: Only runs with this property: a key, or a dict of keys and values.
            status: Only runs with this status, or one of these.
            include_children: Whether to include child runs.

        Returns:
            An iterator of runs.

        Raises:
            UserErrorException: A filter cannot be understood.

        Example:
            for each in Run.list(experiment, status=["Completed", "Failed"]):
                print(each.id, each.display_name)
        """
        query = dict(runs.filters.filters(type, tags, properties, status), parent="any" if include_children else None)
        return runs_of(experiment, dict(query, experiment=experiment.name))

    @staticmethod
    def get_context(allow_offline: bool = True, used_for_context_manager: bool = False, **kwargs: Any) -> Run:
        """Return the run that this process belongs to. Training scripts begin with this call.

        Outside a run it returns an offline stand-in, which prints the values that a script logs and has no
        `experiment`. It also creates `./outputs` and `./logs`, as a job has them.

        Args:
            allow_offline: Whether to return the stand-in; otherwise raise an error.
            used_for_context_manager: Accepted for compatibility, and ignored.
            **kwargs: Accepted for Azure's private options, and ignored.

        Returns:
            The run of this process, always the same object, or the stand-in.

        Raises:
            RunEnvironmentException: The process does not belong to a run, and `allow_offline` is False.

        Example:
            run = Run.get_context()
            run.log("loss", 0.25)
        """
        from footplate.sdk.runs.context import current_run  # noqa: PLC0415  # circular: context defines the job's subclass of Run

        return current_run(allow_offline)

    @staticmethod
    def get_submitted_run(**kwargs: Any) -> Run:
        """Return the run that this process belongs to: `Run.get_context(allow_offline=False)`.

        Args:
            **kwargs: Accepted for Azure's private options, and ignored.

        Returns:
            The run of this process.

        Raises:
            RunEnvironmentException: The process does not belong to a run.

        Example:
            try:
                run = Run.get_submitted_run()
            except RunEnvironmentException:
                print("started by hand")
        """
        return Run.get_context(allow_offline=False)

    @property
    def input_datasets(self) -> Dict[str, Any]:
        """The datasets passed to the run, by name. Only the script of the run has them.

        Raises:
            AttributeError: This process is not the script of the run.
        """
        raise AttributeError(f"input_datasets exists only inside the job of run {self.id}; hint: use get_details()")

    @property
    def output_datasets(self) -> Dict[str, Any]:
        """The directories that the run writes, by the names of its outputs. Only its script has them.

        Raises:
            AttributeError: This process is not the script of the run.
        """
        raise AttributeError(f"output_datasets exists only inside the job of run {self.id}; hint: use get_details()")

    # ── metrics ───────────────────────────────────────────────────────────────────────────────────────────────────────

    def get_metrics(
        self,
        name: Optional[str] = None,
        recursive: bool = False,
        run_type: Optional[str] = None,
        populate: bool = False,
    ) -> Dict[str, Any]:
        """Return the logged metrics.

        Args:
            name: Only the metric with this name.
            recursive: Whether to include all descendants: `{run id: {name: value}}`.
            run_type: With `recursive`, only runs of this type.
            populate: Whether to return logged images and documents as objects with `read()` instead of
                their addresses.

        Returns:
            Values by name: a bare value if it was logged once, otherwise a list. A table is a dict of columns.

        Example:
            for name, value in run.get_metrics().items():
                print(name, value)
        """
        self.flush()
        if recursive:
            runs.recorder.flush_all(self._session)
        runs.shipping.recover_run(self._session, self._id)
        found = self._session.api.metrics.read(self._id, name=name, recursive=recursive)
        if recursive and run_type is not None:
            wanted = {run.id for run in [self, *self.get_children(recursive=True)] if run.type == run_type}
            found = {run: series for run, series in found.items() if run in wanted}
        shaped = {run: runs.metrics.shapes(series, run) for run, series in found.items()}
        if populate:
            shaped = {run: runs.files.populated(self._session, run, values) for run, values in shaped.items()}
        return {run: values for run, values in shaped.items() if values} if recursive else shaped.get(self._id, {})

    # ── secrets ───────────────────────────────────────────────────────────────────────────────────────────────────────

    def get_secret(self, name: str) -> str:
        """Return a secret of the workspace. It is never written to the run's record.

        Args:
            name: The name of the secret.

        Returns:
            The value.

        Raises:
            UserErrorException: There is no such secret.

        Example:
            ws.get_default_keyvault().set_secret("api-key", "s3cr3t")
            key = run.get_secret("api-key")
        """
        return self.experiment.workspace.get_default_keyvault().get_secret(name)

    def get_secrets(self, secrets: Sequence[str]) -> Dict[str, str]:
        """Return several secrets of the workspace.

        Args:
            secrets: The names of the secrets.

        Returns:
            Values by name.

        Raises:
            UserErrorException: One of the secrets does not exist.

        Example:
            ws.get_default_keyvault().set_secrets({"user": "ada", "password": "s3cr3t"})
            login = run.get_secrets(["user", "password"])
        """
        return self.experiment.workspace.get_default_keyvault().get_secrets(secrets)

    # ── files ─────────────────────────────────────────────────────────────────────────────────────────────────────────

    def upload_file(self, name: str, path_or_stream: Source, datastore_name: Optional[str] = None) -> None:
        """Upload one file as an artifact of the run.

        Args:
            name: Its name in the run, such as `outputs/model.pkl`.
            path_or_stream: A local path, or a binary stream.
            datastore_name: Accepted and ignored: the server stores artifacts.

        Raises:
            UserErrorException: `name` leads out of the run, or the file does not exist.
            ServiceException: The run has another file with this name.

        Example:
            with experiment.start_logging(snapshot_directory=None) as run:
                run.upload_file("reports/summary.txt", "src/train.py")
        """
        runs.files.upload(self._session, self._id, [(name, path_or_stream)])

    def upload_files(
        self,
        names: Sequence[str],
        paths: Sequence[Source],
        return_artifacts: bool = False,
        timeout_seconds: Optional[float] = None,
        datastore_name: Optional[str] = None,
    ) -> None:
        """Upload several files as artifacts of the run.

        Args:
            names: Their names in the run.
            paths: One local path or binary stream for each name.
            return_artifacts: Accepted and ignored.
            timeout_seconds: Accepted and ignored.
            datastore_name: Accepted and ignored: the server stores artifacts.

        Raises:
            TypeError: There are not as many names as paths.
            ServiceException: The run has another file with one of the names.

        Example:
            with experiment.start_logging(snapshot_directory=None) as run:
                run.upload_files(["code/a.py", "code/b.py"], ["src/train.py", "src/train.py"])
        """
        if len(names) != len(paths):
            raise TypeError(f"{len(names)} names were given for {len(paths)} paths")
        runs.files.upload(self._session, self._id, list(zip(names, paths)))

    def upload_folder(self, name: str, path: str, datastore_name: Optional[str] = None) -> None:
        """Upload a directory and everything in it.

        Args:
            name: The prefix of the names in the run.
            path: The local directory.
            datastore_name: Accepted and ignored: the server stores artifacts.

        Raises:
            UserErrorException: `path` is not a directory.

        Example:
            with experiment.start_logging(snapshot_directory=None) as run:
                run.upload_folder("code", "src")
        """
        runs.files.upload_folder(self._session, self._id, name, path)

    def get_file_names(self) -> List[str]:
        """Return the names of the run's artifacts and logs.

        Returns:
            A list of names, such as `outputs/model.pkl`.

        Example:
            print([name for name in run.get_file_names() if name.startswith("outputs/")])
        """
        return runs.files.names(self._session, self._id)

    def download_file(
        self, name: str, output_file_path: Optional[str] = None, _validate_checksum: bool = False
    ) -> None:
        """Download one artifact or log.

        Args:
            name: Its name in the run.
            output_file_path: A local file, or a directory to put it in; the current directory by default.

        Raises:
            UserErrorException: The run has no such file.

        Example:
            run.download_file("outputs/model.txt", "downloads/model.txt")
        """
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
        """Download several artifacts and logs.

        Args:
            prefix: Only files below this folder, or whose names begin with it.
            output_directory: The local directory; the current one by default.
            output_paths: One local path for each file, instead of the names in the run.
            batch_size: Accepted and ignored.
            append_prefix: Whether local paths contain `prefix`.
            timeout_seconds: Accepted and ignored.

        Raises:
            UserErrorException: No file matches, or `output_paths` has another length.

        Example:
            run.download_files(prefix="outputs", output_directory="downloads", append_prefix=False)
        """
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
        datasets: Optional[Sequence[Tuple[str, AbstractDataset]]] = None,
        sample_input_dataset: Optional[AbstractDataset] = None,
        sample_output_dataset: Optional[AbstractDataset] = None,
        resource_configuration: Optional[ResourceConfiguration] = None,
        **kwargs: Any,
    ) -> Model:
        """Register files of the run as the next version of a model.

        Args:
            model_name: The name of the model.
            model_path: A file or folder of the run, such as `outputs/model.pkl`; by default a file or folder
                with the model's name.
            tags: Tags of the model.
            properties: Properties of the model, which are written once.
            model_framework: Its framework, as a constant of `Model.Framework`; needed to serve without code.
            model_framework_version: The version of the framework.
            description: A text about the model.
            datasets: Pairs of purpose and dataset that the model was made from.
            sample_input_dataset: A dataset with example inputs.
            sample_output_dataset: A dataset with example outputs.
            resource_configuration: Resources that a web service of the model gets by default.
            **kwargs: Accepted for Azure's private options, and ignored.

        Returns:
            The registered model.

        Raises:
            ModelPathNotFoundException: The run has no such file or folder.
            WebserviceException: The name or a tag is refused.

        Example:
            model = run.register_model("classifier", "outputs/model.txt", tags={"stage": "test"})
            print(model.id)
        """
        return models.model.register_from_run(
            self.experiment.workspace, self._id, model_name, model_path, tags, properties, description,
            (model_framework, model_framework_version), (datasets, sample_input_dataset, sample_output_dataset),
            resource_configuration,
        )  # fmt: skip

    # ── details and waiting ───────────────────────────────────────────────────────────────────────────────────────────

    def get_details(self) -> Dict[str, Any]:
        """Return everything known about the run, in the form of Azure's SDK.

        Returns:
            A dict with `runId`, `status`, `startTimeUtc`, `properties`, `inputDatasets`, `runDefinition`,
            `logFiles` and more; `error` if the run failed.

        Example:
            print(run.get_details()["status"])
        """
        return runs.details.details(self._session, self._refresh())

    def get_details_with_logs(self) -> Dict[str, Any]:
        """Return the details with the text of all logs.

        Returns:
            The dict of `get_details()`, with the text of each log in `logFiles`.

        Example:
            for name, text in run.get_details_with_logs()["logFiles"].items():
                print(name, len(text))
        """
        return runs.details.details_with_logs(self._session, self._refresh())

    def get_detailed_status(self) -> Dict[str, Any]:
        """Return the status with the reason for it.

        Returns:
            A dict with `status` and `details`.

        Example:
            print(run.get_detailed_status())
        """
        return runs.details.detailed_status(self._refresh())

    def get_all_logs(self, destination: Optional[str] = None) -> List[str]:
        """Download the logs of the run.

        Args:
            destination: The local directory; `assets/<run id>` by default.

        Returns:
            The local paths.

        Example:
            for path in run.get_all_logs("run-logs"):
                print(path)
        """
        folder = destination or os.path.join("assets", self._id)
        return runs.files.download_logs(self._session, self._id, folder)

    def get_environment(self) -> Environment:
        """Return the environment that the run was submitted with.

        Returns:
            The environment.

        Raises:
            UserErrorException: The run was not submitted with an environment.

        Example:
            print(run.get_environment().name)
        """
        spec = self._view.spec or self._refresh().spec
        definition = (spec.definition if spec else {}).get("environment")
        if not definition:
            raise UserErrorException(f"run {self._id} was not submitted with an environment")
        return environments.environment.from_definition(definition)

    def wait_for_completion(
        self, show_output: bool = False, wait_post_processing: bool = False, raise_on_error: bool = True
    ) -> Dict[str, Any]:
        """Wait until the run ends. When this returns, its metrics and outputs are stored.

        Ctrl-C stops the wait and leaves the run running. A canceled run does not raise.

        Args:
            show_output: Whether to print the phases of the run and the output of its script.
            wait_post_processing: Makes no difference: the wait always includes it.
            raise_on_error: Whether a failed run raises.

        Returns:
            The details, as from `get_details()`.

        Raises:
            ActivityFailedException: The run failed; `error_details` says why.
            ExperimentExecutionException: The wait was interrupted.

        Example:
            details = run.wait_for_completion(show_output=True, raise_on_error=False)
            print(details["status"])
        """
        self._known = runs.streaming.wait(self._session, self._id, show_output)
        found = runs.details.details(self._session, self._known)
        if raise_on_error and self._known.status == "Failed":
            raise runs.details.failure(self._known, found)
        return found

    # ── snapshots ─────────────────────────────────────────────────────────────────────────────────────────────────────

    def take_snapshot(self, path: str) -> str:
        """Store a copy of a directory with the run. A run has one snapshot.

        Args:
            path: The local directory.

        Returns:
            The id of the snapshot.

        Raises:
            SnapshotException: The run has a snapshot, or the directory cannot be read.

        Example:
            with experiment.start_logging(snapshot_directory=None) as run:
                run.take_snapshot("src")
                print(run.get_snapshot_id())
        """
        if self._refresh().snapshot:
            raise SnapshotException(
                f"run {self._id} has a snapshot already: {self._view.snapshot}",
                hint="a run has one snapshot; start another run",
            )
        taken = runs.snapshots.take(self._session, os.fspath(path))
        kinds: Kinds = {"conflict": SnapshotException}
        self._known = self._session.api_for(kinds).runs.set_snapshot(self._id, taken.id)
        return taken.id

    def get_snapshot_id(self) -> str:
        """Return the id of the run's snapshot.

        Returns:
            The id.

        Raises:
            SnapshotException: The run has no snapshot.

        Example:
            print(run.get_snapshot_id())
        """
        snapshot = self._view.snapshot or self._refresh().snapshot
        if not snapshot:
            raise SnapshotException(f"run {self._id} has no snapshot", hint="take one with run.take_snapshot(path)")
        return snapshot

    def restore_snapshot(self, snapshot_id: Optional[str] = None, path: Optional[str] = None) -> str:
        """Write a snapshot to a zip file.

        Args:
            snapshot_id: The id of a snapshot; that of the run by default.
            path: The directory of the zip, or its path; the current directory by default.

        Returns:
            The path of the zip.

        Raises:
            SnapshotException: There is no such snapshot.

        Example:
            print(run.restore_snapshot(path="code"))
        """
        return runs.snapshots.restore(self._session, snapshot_id or self.get_snapshot_id(), path)

    # ── children ──────────────────────────────────────────────────────────────────────────────────────────────────────

    def child_run(self, name: Optional[str] = None, run_id: Optional[str] = None, outputs: Optional[str] = None) -> Run:
        """Start a child run that this process executes; complete it, or use it in `with`.

        Args:
            name: A name; the parent's name is put before it.
            run_id: The id of the child; a random one by default.
            outputs: A local directory whose files become artifacts when the child ends.

        Returns:
            The running child.

        Example:
            with experiment.start_logging(snapshot_directory=None) as run:
                with run.child_run("fold-1") as child:
                    child.log("loss", 0.2)
        """
        full = ">".join(part for part in (self.name, name) if part) or None
        return runs.interactive.start_child(self, full, run_id, outputs)

    def create_children(
        self, count: Optional[int] = None, tag_key: Optional[str] = None, tag_values: Optional[Sequence[Any]] = None
    ) -> List[Run]:
        """Start several child runs at once, at most 100.

        Args:
            count: The number of children, which get numbers as tags.
            tag_key: The tag that tells the children apart.
            tag_values: One value of the tag for each child.

        Returns:
            The running children.

        Raises:
            UserErrorException: Neither `count` nor both of the others were given, or there are too many.

        Example:
            with experiment.start_logging(snapshot_directory=None) as run:
                for child in run.create_children(tag_key="fold", tag_values=[1, 2, 3]):
                    with child:
                        child.log("loss", 0.1)
        """
        tagged = runs.interactive.child_tags(count, tag_key, tag_values)
        return [runs.interactive.start_child(self, self.name, tags=tags) for tags in tagged]

    def get_children(
        self,
        recursive: bool = False,
        tags: Union[str, Mapping[str, Any], None] = None,
        properties: Union[str, Mapping[str, Any], None] = None,
        type: Optional[str] = None,
        status: Union[str, Sequence[str], None] = None,
        _rehydrate_runs: bool = True,
    ) -> Iterator[Run]:
        """Yield the child runs, newest first. Pages are requested as needed.

        Args:
            recursive: Whether to include the descendants of children.
            tags: Only runs with this tag: a key, or a dict of keys and values.
            properties: Only runs with this property: a key, or a dict of keys and values.
            type: Only runs of this type.
            status: Only runs with this status, or one of these.

        Returns:
            An iterator of runs.

        Raises:
            UserErrorException: A filter cannot be understood.

        Example:
            print([child.id for child in run.get_children(status="Completed")])
        """
        below = {"ancestor": self._id, "parent": "any"} if recursive else {"parent": self._id}
        return runs_of(self.experiment, dict(runs.filters.filters(type, tags, properties, status), **below))

    def submit_child(self, config: Any, tags: Optional[Mapping[str, Any]] = None, **kwargs: Any) -> Run:
        """Submit a configuration as a child of this run.

        Args:
            config: The work, as for `experiment.submit`.
            tags: Tags of the child.
            **kwargs: Options of `experiment.submit`, such as `run_id`.

        Returns:
            The child run.

        Raises:
            AzureMLException: `config` cannot be submitted.
            ExperimentExecutionException: The source directory or the compute target does not exist.

        Example:
            with experiment.start_logging(snapshot_directory=None) as run:
                child = run.submit_child(ScriptRunConfig("src", "train.py"))
                child.wait_for_completion()
        """
        return self.experiment._submit(config, tags, self._id, kwargs)  # pyright: ignore[reportPrivateUsage]

    def rerun(
        self,
        arguments: Optional[Sequence[Any]] = None,
        tags: Optional[Mapping[str, Any]] = None,
        run_id: Optional[str] = None,
    ) -> Run:
        """Run it again with the same source directory, locked environment and settings.

        Nothing is resolved again, so new package releases make no difference. The new run has the property
        `footplate.rerun_of`.

        Args:
            arguments: Arguments that replace those of the script.
            tags: Tags of the new run.
            run_id: The id of the new run.

        Returns:
            The new run.

        Raises:
            UserErrorException: The run was executed by its own process, or ended before its environment was
                locked.

        Example:
            again = run.rerun(arguments=["--lr", 0.01])
            again.wait_for_completion()
        """
        return self.experiment._rerun(self, arguments, tags, run_id)  # pyright: ignore[reportPrivateUsage]

    # ── its end ───────────────────────────────────────────────────────────────────────────────────────────────────────

    def start(self) -> None:
        """Do nothing: a run starts when it is created or when its turn in the queue comes.

        Example:
            run = experiment.start_logging(snapshot_directory=None)
            run.start()
            run.complete()
        """

    def complete(self, _set_status: bool = True) -> None:
        """Send the last metrics and the tracked outputs, and end the run as Completed.

        Inside a submitted script it only sends them: the run completes when its script ends.

        Raises:
            ServiceException: The run has ended already.

        Example:
            run = experiment.start_logging(snapshot_directory=None)
            run.log("loss", 0.1)
            run.complete()
        """
        self._hand_in()
        self._known = self._session.api.runs.complete(self._id)
        runs.heartbeat.stop(self._id)

    def fail(
        self,
        error_details: Union[str, BaseException, None] = None,
        error_code: Optional[str] = None,
        _set_status: bool = True,
    ) -> None:
        """Send the last metrics and outputs, and end the run as Failed.

        Inside a submitted script it only records a warning: the run fails when its script does.

        Args:
            error_details: A text or an exception that says why.
            error_code: A word for the kind of error.

        Raises:
            TypeError: `error_details` is neither a string nor an exception.
            ServiceException: The run has ended already.

        Example:
            run = experiment.start_logging(snapshot_directory=None)
            run.fail("the data has no labels", error_code="BadData")
        """
        cause = runs.details.failure_cause(error_details, error_code)
        self._hand_in()
        self._known = self._session.api.runs.fail(self._id, cause)
        runs.heartbeat.stop(self._id)

    def cancel(self) -> None:
        """Cancel the run. Its processes get SIGTERM, and a while later SIGKILL.

        Raises:
            ServiceException: The run has ended already.

        Example:
            run = experiment.submit(ScriptRunConfig("src", "train.py"))
            run.cancel()
        """
        self._known = self._session.api.runs.cancel(self._id, session.user_name())

    def delete(self, force: bool = False) -> None:
        """Delete the run with its records, metrics, logs, files and children. It must have ended.

        Args:
            force: Whether to delete it even if registered models were made by it. Models keep their files.

        Raises:
            ServiceException: The run has not ended, or models were made by it.

        Example:
            run = experiment.start_logging(snapshot_directory=None)
            run.complete()
            run.delete()
        """
        self._session.api.runs.delete(self._id, force)

    def restart(self, reason: str = "") -> None:
        """Retry a failed or canceled run under the same id. Metrics and logs continue, and `./outputs` is restored.

        Args:
            reason: A text for the run's story.

        Raises:
            ServiceException: The run is active, has completed, or cannot be restarted.

        Example:
            failed = experiment.submit(ScriptRunConfig("src", "train.py", arguments=["--fail"]))
            failed.wait_for_completion(raise_on_error=False)
            failed.restart(reason="the disk was full")
            failed.wait_for_completion(raise_on_error=False)
        """
        attempt = self._refresh().attempt + 1
        self._known = self._session.api.runs.restart(self._id, attempt, session.user_name(), reason)

    def get_stacks(self, timeout_seconds: float = 30) -> List[ProcessStacks]:
        """Return the current stack traces of the run's processes, even if they hang.

        Args:
            timeout_seconds: How long to wait for the nodes to answer.

        Returns:
            One object for each process, with its node, rank and threads; the innermost call is the last.

        Raises:
            UserErrorException: `timeout_seconds` is negative or infinite.
            AzureMLException: No node answered in time.
            ServiceException: The run is not running.

        Example:
            for process in run.get_stacks(timeout_seconds=10):
                print(process)
        """
        return runs.stacks.ask(self._session, self._id, timeout_seconds)

    def diff(self, other: Union[Run, str]) -> RunDiff:
        """Return the differences from another run: arguments, code, environment, data and metrics.

        Args:
            other: The other run, or its id.

        Returns:
            The differences, grouped by kind.

        Raises:
            ServiceException: The other run does not exist.

        Example:
            again = run.rerun(arguments=["--lr", 0.02])
            again.wait_for_completion()
            print(run.diff(again).arguments)
        """
        return runs.comparison.diff(self._session, self._id, other if isinstance(other, str) else other.id)

    def clean(self) -> None:
        """Do nothing: the node removes the working directory of a run that has ended.

        Example:
            run.clean()
        """

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
        if self._refresh().status in runs.status.TERMINAL or run_kinds.kind_of(self._view).has_nodes:
            runs.recorder.close_recorder(self._session, self._id)
        elif error is None or ended_well:
            self.complete()
        else:
            self.fail(error)
        return ended_well


class ScriptRun(Run):
    """A submitted script, as `experiment.submit` returns it. It outlives the process that submitted it.

    Example:
        run = experiment.submit(ScriptRunConfig("src", "train.py"))
        print(type(run).__name__, run.id)
        run.wait_for_completion()
    """


def make_run(experiment: Experiment, view: RunView) -> Run:
    """Return an object of the class for the run's type."""
    return _class_of(view.type)._of(experiment, view)  # pyright: ignore[reportPrivateUsage]


def _class_of(type_name: Optional[str]) -> Type[Run]:
    if type_name == HYPERDRIVE:
        from footplate.sdk.tuning.run import HyperDriveRun  # noqa: PLC0415  # imports this module

        return HyperDriveRun
    return ScriptRun if type_name == SCRIPT_RUN else Run


@explained
def get_run(experiment: Experiment, run_id: str, rehydrate: bool = True, clean_up: bool = True) -> Run:
    """Return the run with this id as an object of its own class.

    Args:
        experiment: Any experiment of the workspace.
        run_id: The id of the run.
        rehydrate: Accepted and ignored: every run is an object of its own class.
        clean_up: Accepted and ignored.

    Returns:
        The run.

    Raises:
        ServiceException: There is no run with this id.

    Example:
        same = get_run(experiment, run.id)
    """
    return experiment.workspace.get_run(run_id)


@explained
def runs_of(experiment: Experiment, query: Mapping[str, Any]) -> Iterator[Run]:
    workspace = experiment.workspace
    other: Dict[str, Experiment] = {experiment.name: experiment}
    for view in workspace.session.api.runs.list(workspace.id, **query):
        if view.experiment not in other:
            other[view.experiment] = type(experiment)._of_run(workspace, view)  # pyright: ignore[reportPrivateUsage]
        yield make_run(other[view.experiment], view)
