"""PipelineRun and StepRun: a pipeline that was submitted, its steps, and what they wrote."""

from __future__ import annotations

import os
import sys
import time
from typing import Any, Dict, Iterator, List, Optional

from footplate.api import LONG_POLL
from footplate.domain.datasets import output_path
from footplate.domain.orders import DataOutput
from footplate.domain.pipelines import reuse
from footplate.domain.pipelines.graph import PipelineSpec, pipeline_of
from footplate.domain.runs.controllers import child_id
from footplate.sdk.data.datastore import Datastore
from footplate.sdk.exceptions import UserErrorException
from footplate.sdk.handles import ExperimentHandle
from footplate.sdk.run import Run
from footplate.sdk.runs import files
from footplate.sdk.values.wrong_types import explained
from footplate.sdk.workspace import Workspace

FINISHED = {"Completed": "Finished", "Queued": "NotStarted"}
"""Azure's names for states of pipelines and steps, where they differ from those of other runs."""

_STDOUT, _SYSTEM_LOG = "user_logs/std_log.txt", "logs/azureml/executionlogs.txt"


@explained
class PortDataReference:
    """The place of what a step wrote: a path of a datastore.

    Args:
        workspace: The workspace.
        datastore_name: The name of the datastore.
        path_on_datastore: The path.

    Example:
        def show(run: PipelineRun) -> None:
            data = run.find_step_run("prepare.py")[0].get_output_data("prepared")
            data.download("here")
            print(data.datastore_name, data.path_on_datastore)
    """

    def __init__(self, workspace: Workspace, datastore_name: str, path_on_datastore: str) -> None:
        self._workspace = workspace
        self.datastore_name = datastore_name
        self.path_on_datastore = path_on_datastore
        self._path_on_datastore = path_on_datastore

    @property
    def datastore(self) -> Any:
        """The datastore."""
        return Datastore.get(self._workspace, self.datastore_name)

    def download(self, local_path: str, overwrite: Optional[bool] = None, show_progress: Optional[bool] = None) -> int:
        """Copy the files. They keep their path on the datastore below `local_path`.

        Args:
            local_path: A directory.
            overwrite: Whether files that exist are replaced.
            show_progress: Whether to print the progress.

        Returns:
            The number of files.
        """
        return self.datastore.download(
            os.fspath(local_path), self.path_on_datastore, overwrite=bool(overwrite), show_progress=bool(show_progress)
        )

    def __repr__(self) -> str:
        return f"PortDataReference({self.datastore_name!r}, {self.path_on_datastore!r})"


@explained
class StepRunOutput:
    """An output of a step that has run.

    Args:
        step_run: The run of the step.
        name: The name of the output.

    Example:
        def show(run: PipelineRun) -> None:
            for name, output in run.find_step_run("prepare.py")[0].get_outputs().items():
                print(name, output.get_port_data_reference().path_on_datastore)
    """

    def __init__(self, step_run: StepRun, name: str) -> None:
        self.step_run = step_run
        self.name = name

    def get_port_data_reference(self) -> PortDataReference:
        """Return the place of the output.

        Returns:
            The place.
        """
        return self.step_run.get_output_data(self.name)

    def __repr__(self) -> str:
        return f"StepRunOutput({self.name!r})"


class _StateNames(Run):
    """A run whose states have Azure's names for pipelines."""

    def get_status(self) -> str:
        """Return the current status, in Azure's words for pipelines.

        Returns:
            `NotStarted`, `Running`, `Finished`, `Failed`, `Canceled` or a state of other runs.
        """
        status = super().get_status()
        return FINISHED.get(status, status)


@explained
class StepRun(_StateNames):
    """One step of a pipeline that was submitted. Logs, metrics and files of a reused step are those of the earlier run.

    Args:
        experiment: The experiment.
        step_run_id: The id of the run.
        pipeline_run_id: Accepted for compatibility: the server knows it.
        node_id: Accepted for compatibility: the server knows it.
        **kwargs: Accepted for Azure's private options, and ignored.

    Example:
        step = PythonScriptStep("train.py", source_directory="src")
        run = Pipeline(ws, [step]).submit("nightly")
        run.wait_for_completion()
        for step_run in run.get_steps():
            print(step_run.name, step_run.get_status(), step_run.reason, step_run.get_metrics())
            print(step_run.get_stdout_log(), step_run.get_stderr_log(), step_run.get_job_log())
            print(step_run.get_outputs(), step_run.get_file_names())
        step_run = run.find_step_run("train.py")[0]
        step_run.download_file("outputs/model.txt", "model.txt")
        model = step_run.register_model("classifier", "outputs/model.txt")


        def show(step_run: StepRun) -> None:
            print(step_run.get_output("prepared"), step_run.get_output_data("prepared").path_on_datastore)
    """

    def __init__(
        self,
        experiment: ExperimentHandle,
        step_run_id: str,
        pipeline_run_id: Optional[str] = None,
        node_id: Optional[str] = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(experiment, step_run_id)  # pyright: ignore[reportArgumentType]

    @property
    def pipeline_run_id(self) -> Optional[str]:
        """The id of the pipeline's run."""
        return self.view.parent

    @property
    def reused_run_id(self) -> Optional[str]:
        """The id of the run whose result this step has; None for a step that ran."""
        return self.view.properties.get(reuse.REUSED_RUN)

    @property
    def _is_reused(self) -> bool:
        return self.reused_run_id is not None

    @property
    def _reused_run_id(self) -> Optional[str]:
        return self.reused_run_id

    @property
    def reason(self) -> str:
        """Why the step ran, or the run from which it was reused. Azure has no such property."""
        return self.view.properties.get(reuse.REASON, "")

    @property
    def source(self) -> Run:
        """The run that did the work: this one, or the earlier one. Azure has no such property."""
        return self if self.reused_run_id is None else self.experiment.workspace.get_run(self.reused_run_id)

    def get_outputs(self) -> Dict[str, StepRunOutput]:
        """Return what the step wrote.

        Returns:
            Outputs by name.
        """
        return {output.name: StepRunOutput(self, output.name) for output in self._outputs_written()}

    def get_output(self, name: str) -> StepRunOutput:
        """Return one output.

        Args:
            name: The name of the output.

        Returns:
            The output.

        Raises:
            UserErrorException: The step has no such output.
        """
        self.get_output_data(name)
        return StepRunOutput(self, name)

    def get_output_data(self, name: str) -> PortDataReference:
        """Return the place of an output.

        Args:
            name: The name of the output.

        Returns:
            The place.

        Raises:
            UserErrorException: The step has no such output.
        """
        outputs = {output.name: output for output in self._outputs_written()}
        if name not in outputs:
            names = ", ".join(sorted(outputs)) or "none"
            raise UserErrorException(f"step {self.name!r} has no output {name!r}", hint=f"its outputs: {names}")
        path = output_path(outputs[name], self.source.id)
        return PortDataReference(self.experiment.workspace, outputs[name].datastore, path)

    def _outputs_written(self) -> List[DataOutput]:
        source = self.source
        spec = source.view.spec or self._session.api.runs.get(source.id).spec
        return [] if spec is None else list(spec.outputs)

    def get_stdout_log(self) -> str:
        """Return the output of the step's script.

        Returns:
            The text; empty if there is none yet.
        """
        return self._log(_STDOUT)

    def get_stderr_log(self) -> str:
        """Return the output of the step's script: stdout and stderr are one log.

        Returns:
            The text; empty if there is none yet.
        """
        return self._log(_STDOUT)

    def get_job_log(self) -> str:
        """Return what happened to the step.

        Returns:
            One line for each event.
        """
        return "".join(f"{line.text}\n" for line in self.source.story())

    def _log(self, name: str) -> str:
        return read_text(self, self.source.id, name)

    # ── what a reused step shows of the earlier run ──

    def get_metrics(self, *args: Any, **kwargs: Any) -> Dict[str, Any]:
        """Return the metrics of the step, as `Run.get_metrics`.

        Args:
            *args: As for `Run.get_metrics`.
            **kwargs: As for `Run.get_metrics`.

        Returns:
            Values by name.
        """
        source = self.source
        return super().get_metrics(*args, **kwargs) if source is self else source.get_metrics(*args, **kwargs)

    def get_file_names(self) -> List[str]:
        """Return the names of the step's files.

        Returns:
            Names, sorted.
        """
        source = self.source
        return super().get_file_names() if source is self else source.get_file_names()

    def download_file(self, *args: Any, **kwargs: Any) -> None:
        """Copy a file of the step, as `Run.download_file`.

        Args:
            *args: As for `Run.download_file`.
            **kwargs: As for `Run.download_file`.
        """
        source = self.source
        (super() if source is self else source).download_file(*args, **kwargs)

    def register_model(self, *args: Any, **kwargs: Any) -> Any:
        """Register files of the step as a model, as `Run.register_model`.

        Args:
            *args: As for `Run.register_model`.
            **kwargs: As for `Run.register_model`.

        Returns:
            The model.
        """
        source = self.source
        return (super() if source is self else source).register_model(*args, **kwargs)

    def wait_for_completion(  # pyright: ignore[reportIncompatibleMethodOverride]
        self, show_output: bool = True, timeout_seconds: float = sys.maxsize, raise_on_error: bool = True
    ) -> Any:
        """Wait until the step has ended.

        Args:
            show_output: Whether to print the output of its script.
            timeout_seconds: Accepted, and ignored: the wait lasts until the step ends.
            raise_on_error: Whether a failed step raises.

        Returns:
            The details, as from `get_details()`.
        """
        return super().wait_for_completion(show_output, raise_on_error=raise_on_error)

    def __str__(self) -> str:
        return f"StepRun( {self.name} ) {self.id}"

    __repr__ = __str__


@explained
class PipelineRun(_StateNames):
    """A pipeline that was submitted. It goes on without the process that submitted it.

    Args:
        experiment: The experiment.
        run_id: The id of the run.
        **kwargs: Accepted for Azure's private options, and ignored.

    Example:
        step = PythonScriptStep("train.py", source_directory="src")
        run = Pipeline(ws, [step]).submit("nightly", regenerate_outputs=True)
        run.wait_for_completion(show_output=False)
        print(run.get_status(), [step_run.name for step_run in run.get_steps()])
        print(run.find_step_run("train.py")[0].get_stdout_log())
        again = PipelineRun.get(ws, run.id)


        def show(run: PipelineRun) -> None:
            print(run.get_pipeline_output("model").path_on_datastore)
    """

    def __init__(self, experiment: ExperimentHandle, run_id: str, **kwargs: Any) -> None:
        super().__init__(experiment, run_id)  # pyright: ignore[reportArgumentType]

    @staticmethod
    def get(workspace: Workspace, run_id: str) -> PipelineRun:  # pyright: ignore[reportIncompatibleMethodOverride]
        """Return the run of a pipeline.

        Args:
            workspace: The workspace.
            run_id: The id of the run.

        Returns:
            The run.

        Raises:
            UserErrorException: It is the run of something else.
        """
        run = workspace.get_run(run_id)
        if not isinstance(run, PipelineRun):
            raise UserErrorException(f"run {run_id} is not the run of a pipeline", hint="use workspace.get_run(run_id)")
        return run

    @property
    def pipeline(self) -> PipelineSpec:
        """The pipeline as the server carries it out. Azure has no such property."""
        spec = self.view.spec or self._session.api.runs.get(self.id).spec
        if spec is None or spec.controller is None:
            raise UserErrorException(
                f"run {self.id} is not the run of a pipeline", hint="list pipelines with: footplate pipelines list"
            )
        return pipeline_of(spec.controller)

    def get_steps(self) -> Iterator[StepRun]:
        """Yield the runs of the steps that have started, in the order of the pipeline.

        Returns:
            An iterator.
        """
        views = {view.id: view for view in self._session.api.runs.list(self.view.workspace, parent=self.id)}
        for key in self.pipeline.steps:
            view = views.get(child_id(self.id, key))
            if view is not None:
                yield StepRun.from_view(self._experiment, view)

    def find_step_run(self, name: str) -> List[StepRun]:
        """Return the runs of the steps with this name.

        Args:
            name: The name of the step.

        Returns:
            A list: names need not be unique.
        """
        return [step for step in self.get_steps() if step.name == name]

    def get_pipeline_output(self, pipeline_output_name: str) -> PortDataReference:
        """Return the place of an output with a `pipeline_output_name`.

        Args:
            pipeline_output_name: The name.

        Returns:
            The place.

        Raises:
            UserErrorException: There is no such output, or its step has not run yet.
        """
        outputs = self.pipeline.outputs
        if pipeline_output_name not in outputs:
            names = ", ".join(sorted(outputs)) or "none"
            raise UserErrorException(
                f"the pipeline has no output {pipeline_output_name!r}", hint=f"its outputs: {names}"
            )
        key, output = outputs[pipeline_output_name]
        step_run = StepRun(self._experiment, child_id(self.id, key))
        return step_run.get_output_data(output)

    def wait_for_completion(  # pyright: ignore[reportIncompatibleMethodOverride]
        self, show_output: bool = True, timeout_seconds: float = sys.maxsize, raise_on_error: bool = True
    ) -> str:
        """Wait until the pipeline has ended.

        Args:
            show_output: Whether to print each step: why it runs or what it is reused from, and how it ended.
            timeout_seconds: The longest wait; then the pipeline goes on, and the status at that time is returned.
            raise_on_error: Whether a failed pipeline raises.

        Returns:
            The status.

        Raises:
            ActivityFailedException: The pipeline failed.
        """
        if show_output:
            print(f"PipelineRunId: {self.id}\nLink to the page: {self.get_portal_url()}", flush=True)
        until = time.monotonic() + timeout_seconds
        offset = 0
        version = -1
        while True:
            seconds = min(LONG_POLL, max(0.0, until - time.monotonic()))
            news = self._session.api.runs.follow(self.id, version=version, log=_SYSTEM_LOG, offset=offset, wait=seconds)
            self._known = news.run
            version = news.run.version
            offset = news.offset
            if show_output:
                print(news.text, end="", flush=True)
            if (news.run.ended is not None and not news.text) or time.monotonic() >= until:
                break
        if raise_on_error and self.view.status == "Failed":
            super().wait_for_completion()  # raises with the details
        return self.get_status()

    def __str__(self) -> str:
        return f"PipelineRun(Experiment: {self.view.experiment}, Id: {self.id}, Status: {self.get_status()})"

    __repr__ = __str__


def read_text(run: Run, run_id: str, name: str) -> str:
    """Return a log of a run as text; empty if there is none."""
    session = run.experiment.workspace.session
    if not files.listing(session, run_id, name):
        return ""
    return b"".join(session.api.files.read(run_id, name)).decode("utf-8", "replace")
