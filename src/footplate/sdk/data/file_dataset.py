"""A dataset of files: read as a folder, downloaded, mounted, or passed to runs."""

from __future__ import annotations

import os
import random
import tempfile
from numbers import Integral
from typing import Any, Dict, List, Optional, Tuple

from footplate.sdk.data import worker_client
from footplate.sdk.data.base import AbstractDataset
from footplate.sdk.data.consumption import DatasetConsumptionConfig
from footplate.sdk.data.expressions import Expression, Fields
from footplate.sdk.data.mount_context import MountContext
from footplate.sdk.exceptions import UserErrorException
from footplate.sdk.progress import bar


class FileDataset(AbstractDataset):
    """A dataset of files. Nothing is read before it is needed."""

    kind = "file"

    # ── reading ──

    def to_path(self) -> List[str]:
        """Return the files as paths below the mount point, beginning with `/`.

        Among several web files, each begins with its host.
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
        """Download the files to a folder, or a temporary one if none is given. Return their paths."""
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
                found = worker_client.call("download", arguments, report)
        self._record_read()
        return found

    def mount(self, mount_point: Optional[str] = None, **kwargs: Any) -> MountContext:
        """Return a context that shows the files as a folder: `with dataset.mount() as at: at.mount_point`."""
        return MountContext(self, mount_point)

    def hold_mounted(self, at: str, scratch: str) -> worker_client.Held:
        """Show the files at the path `at` until the result is closed; the folder `scratch` must live as long."""
        arguments = {
            "definition": self._definition,
            "listing": self._pinned_listing(scratch),
            "digest": self._view.listing if self._view else None,
            "stores": self._stores(),
            "target": at,
            "scratch": scratch,
            "cache": worker_client.cache_folder(),
        }
        held = worker_client.hold("mount", arguments)
        self._record_read()
        return held

    # ── choosing ──

    def skip(self, count: int) -> FileDataset:
        return self._with({"do": "skip", "count": _count(count)})

    def take(self, count: int) -> FileDataset:
        return self._with({"do": "take", "count": _count(count)})

    def take_sample(self, probability: float, seed: Optional[int] = None) -> FileDataset:
        """Draw each file with this probability.

        Without a seed one is chosen now, so that every reading gives the same files.
        """
        return self._with({"do": "sample", "probability": _share(probability), "seed": _seed(seed)})

    def random_split(self, percentage: float, seed: Optional[int] = None) -> Tuple[FileDataset, FileDataset]:
        """Split into two disjoint datasets: about this share of the files (0 … 1), and the others."""
        step: Dict[str, Any] = {"do": "split", "percentage": _share(percentage), "seed": _seed(seed)}
        return self._with(dict(step, first=True)), self._with(dict(step, first=False))

    def filter(self, expression: Expression) -> FileDataset:
        """Keep matching files: `ds.filter(ds.file_metadata['Size'] > 100000)`, or by a column of the partition."""
        if not isinstance(expression, Expression):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise UserErrorException(
                f"filter takes an expression, not {expression!r}", hint="ds.filter(ds.file_metadata['Size'] > 1000)"
            )
        return self._with({"do": "filter", "expression": expression.data})

    @property
    def file_metadata(self) -> Fields:
        """Size, LastModifiedTime and CreatedTime of each file, for `filter`."""
        return Fields(("Size", "LastModifiedTime", "CreatedTime", "Path"))

    def __getitem__(self, column: str) -> Expression:
        """Return a column of the partition, for `filter`."""
        return Fields()[column]

    # ── for runs ──

    def as_mount(self, path_on_compute: Optional[str] = None) -> DatasetConsumptionConfig:
        return self.as_named_input(self._auto_name()).as_mount(path_on_compute)

    def as_download(self, path_on_compute: Optional[str] = None) -> DatasetConsumptionConfig:
        return self.as_named_input(self._auto_name()).as_download(path_on_compute)

    def as_hdfs(self) -> Any:
        raise UserErrorException("Footplate has no HDFS", hint="use as_mount or as_download")

    def _auto_name(self) -> str:
        return f"input__{(self.id or self.fingerprint())[:8]}"


def _count(count: int) -> int:
    if isinstance(count, bool) or not isinstance(count, int) or count < 0:  # pyright: ignore
        raise UserErrorException(f"count is {count!r}", hint="give a whole number, 0 or more")
    return count


def _share(value: float) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 <= value <= 1:  # pyright: ignore
        raise UserErrorException(f"{value!r} is not a share of a dataset", hint="give a number between 0 and 1")
    return float(value)


def _seed(seed: Optional[int]) -> int:
    if seed is not None and not isinstance(seed, Integral):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise UserErrorException(f"seed is {seed!r}", hint="give a whole number")
    return random.randrange(1 << 31) if seed is None else int(seed)
