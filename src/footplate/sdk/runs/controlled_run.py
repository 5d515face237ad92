"""The life of a run: waiting for it, ending it, starting it again."""

from __future__ import annotations

from footplate.lazy import Deferred
from footplate.sdk.runs.stored_run import StoredRun
from footplate.sdk.values.wrong_types import explained

TYPE_CHECKING = False  # typing is not imported: a script that only logs does without it
if TYPE_CHECKING:
    from typing import Any, Dict, List, Optional, TypeVar, Union

    from footplate.domain.runs import run_kinds, run_status
    from footplate.domain.runs.run_diff import RunDiff
    from footplate.domain.stacks import ProcessStacks
    from footplate.sdk import session
    from footplate.sdk.runs import comparison, details, files, heartbeat, output_capture, recorder, streaming
    from footplate.sdk.runs.handle import RunHandle as Run

    R = TypeVar("R", bound="ControlledRun")
else:
    run_kinds = Deferred("footplate.domain.runs.run_kinds")
    run_status = Deferred("footplate.domain.runs.run_status")
    session = Deferred("footplate.sdk.session")
    comparison = Deferred("footplate.sdk.runs.comparison")
    details = Deferred("footplate.sdk.runs.details")
    files = Deferred("footplate.sdk.runs.files")
    heartbeat = Deferred("footplate.sdk.runs.heartbeat")
    output_capture = Deferred("footplate.sdk.runs.output_capture")
    recorder = Deferred("footplate.sdk.runs.recorder")
    details = Deferred("footplate.sdk.runs.details")
    streaming = Deferred("footplate.sdk.runs.streaming")


@explained
class ControlledRun(StoredRun):
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
        self._known = streaming.wait(self._session, self._id, show_output)
        described = details.details(self._session, self._known)
        if raise_on_error and self._known.status == "Failed":
            raise details.failure(self._known, described)
        return described

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
        heartbeat.stop(self._id)

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
        cause = details.failure_cause(error_details, error_code)
        self._hand_in()
        self._known = self._session.api.runs.fail(self._id, cause)
        heartbeat.stop(self._id)

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
        return details.ask(self._session, self._id, timeout_seconds)

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
        return comparison.diff(self._session, self._id, other if isinstance(other, str) else other.id)

    def clean(self) -> None:
        """Do nothing: the node removes the working directory of a run that has ended.

        Example:
            run.clean()
        """

    def _hand_in(self) -> None:
        if self._outputs is not None:
            files.upload_tracked(self._session, self._id, self._outputs)
        recorder.close_recorder(self._session, self._id)

    def __enter__(self: R) -> R:
        if self._outputs is not None:
            self._capture = output_capture.Capture(recorder.open_recorder(self._session, self._id))
        return self

    def __exit__(self, kind: Any, error: Optional[BaseException], traceback: Any) -> bool:
        if self._capture is not None:
            self._capture.end()
            self._capture = None
        ended_well = isinstance(error, SystemExit) and error.code in (None, 0)
        # The block does not decide how a job ends.
        if self._refresh().status in run_status.TERMINAL or run_kinds.kind_of(self.view).has_nodes:
            recorder.close_recorder(self._session, self._id)
        elif error is None or ended_well:
            self.complete()
        else:
            self.fail(error)
        return ended_well
