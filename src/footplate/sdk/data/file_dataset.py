"""A dataset of files: read as a folder, downloaded, mounted, or passed to runs."""

from __future__ import annotations

import os
import shutil
import tempfile
from typing import Any, List, Optional

from footplate.sdk.data import worker_client
from footplate.sdk.data.base import AbstractDataset
from footplate.sdk.data.consumption import DatasetConsumptionConfig
from footplate.sdk.data.expressions import Expression, Fields
from footplate.sdk.display.status_line import bar
from footplate.sdk.exceptions import UserErrorException
from footplate.sdk.values.wrong_types import explained


class MountContext:
    """A mount, used with `start` and `stop` or in `with`. The folder `mount_point` contains the files of `to_path`."""

    def __init__(self, dataset: FileDataset, mount_point: Optional[str] = None) -> None:
        if mount_point is not None and os.path.isdir(mount_point) and os.listdir(mount_point):
            raise UserErrorException(f"the mount point {mount_point!r} is not empty", hint="give an empty folder")
        self._dataset = dataset
        self._own = tempfile.mkdtemp(prefix="footplate-mount-")
        self._at = os.path.abspath(mount_point) if mount_point is not None else os.path.join(self._own, "data")
        self._held: Optional[worker_client.Held] = None

    @property
    def mount_point(self) -> str:
        return self._at

    def start(self) -> None:
        if self._held is None:
            os.makedirs(self._own, exist_ok=True)
            self._held = self._dataset.hold_mounted(self._at, self._own)

    def stop(self) -> None:
        if self._held is not None:
            self._held.close()
            self._held = None
        shutil.rmtree(self._own, ignore_errors=True)

    def __enter__(self) -> MountContext:
        self.start()
        return self

    def __exit__(self, *_: Any) -> None:
        self.stop()


@explained
class FileDataset(AbstractDataset):
    """A dataset of files, created with `Dataset.File`. Nothing is read before it is needed.

    Example:
        datastore = ws.get_default_datastore()
        datastore.upload("src", "code", show_progress=False)
        files = Dataset.File.from_files((datastore, "code"))
        print(files.to_path(), files.download("code", overwrite=True, show_progress=False))
        first, others = files.take(10).skip(0).random_split(0.5, seed=1)
        sample = files.take_sample(0.5, seed=1)
        scripts = files.filter(files.file_metadata["Size"] > 10)
        print(scripts.as_mount().mode, scripts.as_download().mode)
    """

    kind = "file"
    _condition = "ds.file_metadata['Size'] > 1000"

    # ── reading ──

    def to_path(self) -> List[str]:
        """Return the files as paths below the mount point, beginning with `/`.

        Returns:
            The paths; among several web files, each begins with its host.
        """
        with self.listing() as files:
            return ["/" + item.name for item in files]

    def download(
        self,
        target_path: Optional[str] = None,
        overwrite: bool = False,
        ignore_not_found: bool = False,
        show_progress: bool = True,
    ) -> List[str]:
        """Download the files.

        Args:
            target_path: The local directory; a temporary one by default.
            overwrite: Whether to replace files that exist; otherwise they are an error.
            ignore_not_found: Whether to skip files that do not exist any more.
            show_progress: Whether to show a progress bar.

        Returns:
            The local paths.

        Raises:
            UserErrorException: A file exists, or cannot be read.
        """
        target = os.path.abspath(target_path) if target_path else tempfile.mkdtemp(prefix="footplate-data-")
        with self._listing_file() as path:
            arguments = {
                "listing": path,
                "stores": self._stores(),
                "target": target,
                "overwrite": "replace" if overwrite else "refuse",
                "ignore_not_found": ignore_not_found,
            }
            with bar(f"Downloading {self.name or 'dataset'}", show_progress) as report:
                paths = worker_client.call("download", arguments, report)
        self._record_read()
        return paths

    def mount(self, mount_point: Optional[str] = None, **kwargs: Any) -> MountContext:
        """Show the files as a directory of this machine.

        Args:
            mount_point: The directory; a temporary one by default.
            **kwargs: Azure's options of mounts, accepted and ignored.

        Returns:
            A context with `mount_point`.

        Example:
            def names(files: FileDataset) -> None:
                with files.mount() as mounted:
                    print(mounted.mount_point)
        """
        return MountContext(self, mount_point)

    def hold_mounted(self, at: str, scratch: str) -> worker_client.Held:
        """Show the files at a path until the result is closed. `mount` is the usual way.

        Args:
            at: The path.
            scratch: A directory for temporary files, which must live as long.

        Returns:
            The open mount.

        Example:
            def names(files: FileDataset) -> None:
                held = files.hold_mounted("/mnt/code", "/tmp/scratch")
                held.close()
        """
        arguments = {
            "definition": self._definition,
            "listing": self._fetch_pinned_listing(scratch),
            "digest": self._view.listing if self._view else None,
            "stores": self._stores(),
            "target": at,
            "scratch": scratch,
            "cache": worker_client.cache_folder(),
        }
        mounted = worker_client.hold("mount", arguments)
        self._record_read()
        return mounted

    # ── choosing ──

    @property
    def file_metadata(self) -> Fields:
        """Size, LastModifiedTime and CreatedTime of each file, for `filter`."""
        return Fields(("Size", "LastModifiedTime", "CreatedTime", "Path"))

    def __getitem__(self, column: str) -> Expression:
        """Return a column of the partition, for `filter`."""
        return Fields()[column]

    # ── for runs ──

    def as_mount(self, path_on_compute: Optional[str] = None) -> DatasetConsumptionConfig:
        """Make the dataset an input of a run, mounted, under a name of its own.

        Args:
            path_on_compute: The path on the node.

        Returns:
            The input.
        """
        return self.as_named_input(self._auto_name()).as_mount(path_on_compute)

    def as_download(self, path_on_compute: Optional[str] = None) -> DatasetConsumptionConfig:
        """Make the dataset an input of a run, copied before the script starts.

        Args:
            path_on_compute: The path on the node.

        Returns:
            The input.
        """
        return self.as_named_input(self._auto_name()).as_download(path_on_compute)

    def as_hdfs(self) -> Any:
        """Raise an error: Footplate has no HDFS.

        Returns:
            Nothing.

        Raises:
            UserErrorException: Always; use `as_mount` or `as_download`.

        Example:
            def given(files: FileDataset) -> None:
                print(files.as_mount())  # not files.as_hdfs()
        """
        raise UserErrorException("Footplate has no HDFS", hint="use as_mount or as_download")

    def _auto_name(self) -> str:
        return f"input__{(self.id or self.fingerprint())[:8]}"
