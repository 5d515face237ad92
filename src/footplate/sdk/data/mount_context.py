"""A dataset as a temporary folder of this machine."""

from __future__ import annotations

import os
import shutil
import tempfile
from typing import TYPE_CHECKING, Any, Optional

from footplate.sdk.data import worker_client
from footplate.sdk.exceptions import UserErrorException

if TYPE_CHECKING:
    from footplate.sdk.data.file_dataset import FileDataset


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
