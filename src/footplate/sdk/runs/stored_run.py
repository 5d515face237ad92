"""What the server keeps of a run: metrics, files, snapshot and details."""

from __future__ import annotations

import os

from footplate.lazy import Deferred
from footplate.sdk.exceptions import SnapshotException
from footplate.sdk.runs.logging_run import LoggingRun
from footplate.sdk.values.wrong_types import explained

TYPE_CHECKING = False  # typing is not imported: a script that only logs does without it
if TYPE_CHECKING:
    from typing import Any, Dict, List, Optional, Sequence

    from footplate.sdk.blob_transfer import Source
    from footplate.sdk.exceptions import Kinds
    from footplate.sdk.runs import details, files, metrics, recorder, shipping, snapshots
else:
    details = Deferred("footplate.sdk.runs.details")
    files = Deferred("footplate.sdk.runs.files")
    metrics = Deferred("footplate.sdk.runs.metrics")
    recorder = Deferred("footplate.sdk.runs.recorder")
    shipping = Deferred("footplate.sdk.runs.shipping")
    snapshots = Deferred("footplate.sdk.runs.snapshots")


@explained
class StoredRun(LoggingRun):
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
            recorder.flush_all(self._session)
        shipping.recover_run(self._session, self._id)
        series_by_run = self._session.api.metrics.read(self._id, name=name, recursive=recursive)
        if recursive and run_type is not None:
            below = self._session.api.runs.list(self.view.workspace, ancestor=self._id, parent="any", type=run_type)
            chosen = {self._id if self.type == run_type else None, *(view.id for view in below)}
            series_by_run = {run: series for run, series in series_by_run.items() if run in chosen}
        shaped = {run: metrics.shapes(series, run) for run, series in series_by_run.items()}
        if populate:
            shaped = {run: files.populate(self._session, run, values) for run, values in shaped.items()}
        return {run: values for run, values in shaped.items() if values} if recursive else shaped.get(self._id, {})

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
        files.upload(self._session, self._id, [(name, path_or_stream)])

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
        files.upload(self._session, self._id, list(zip(names, paths)))

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
        files.upload_folder(self._session, self._id, name, path)

    def get_file_names(self) -> List[str]:
        """Return the names of the run's artifacts and logs.

        Returns:
            A list of names, such as `outputs/model.pkl`.

        Example:
            print([name for name in run.get_file_names() if name.startswith("outputs/")])
        """
        return files.names(self._session, self._id)

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
        files.download(self._session, self._id, name, output_file_path)

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
        files.download_many(self._session, self._id, prefix, output_directory, output_paths, append_prefix)

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
                f"run {self._id} has a snapshot already: {self.view.snapshot}",
                hint="a run has one snapshot; start another run",
            )
        snapshot = snapshots.take(self._session, os.fspath(path))
        kinds: Kinds = {"conflict": SnapshotException}
        self._known = self._session.api_for(kinds).runs.set_snapshot(self._id, snapshot.id)
        return snapshot.id

    def get_snapshot_id(self) -> str:
        """Return the id of the run's snapshot.

        Returns:
            The id.

        Raises:
            SnapshotException: The run has no snapshot.

        Example:
            print(run.get_snapshot_id())
        """
        snapshot = self.view.snapshot or self._refresh().snapshot
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
        return snapshots.restore(self._session, snapshot_id or self.get_snapshot_id(), path)

    # ── details and waiting ───────────────────────────────────────────────────────────────────────────────────────────

    def get_details(self) -> Dict[str, Any]:
        """Return everything known about the run, in the form of Azure's SDK.

        Returns:
            A dict with `runId`, `status`, `startTimeUtc`, `properties`, `inputDatasets`, `runDefinition`,
            `logFiles` and more; `error` if the run failed.

        Example:
            print(run.get_details()["status"])
        """
        return details.details(self._session, self._refresh())

    def get_details_with_logs(self) -> Dict[str, Any]:
        """Return the details with the text of all logs.

        Returns:
            The dict of `get_details()`, with the text of each log in `logFiles`.

        Example:
            for name, text in run.get_details_with_logs()["logFiles"].items():
                print(name, len(text))
        """
        return details.details_with_logs(self._session, self._refresh())

    def get_detailed_status(self) -> Dict[str, Any]:
        """Return the status with the reason for it.

        Returns:
            A dict with `status` and `details`.

        Example:
            print(run.get_detailed_status())
        """
        return details.detailed_status(self._refresh())

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
        return files.download_logs(self._session, self._id, folder)
