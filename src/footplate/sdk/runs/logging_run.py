"""The logging methods of a run: values, lists, rows, tables, images and Azure's chart documents."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING, Any, Iterable, Mapping, Optional

from footplate.sdk import runs
from footplate.sdk.exceptions import AzureMLException
from footplate.sdk.runs import metrics
from footplate.sdk.runs.handle import RunHandle

if TYPE_CHECKING:
    from footplate.job.journal import Journal
    from footplate.sdk.blob_transfer import Source


class LoggingRun(RunHandle):
    @property
    def _journal(self) -> Journal:
        return runs.recorder.open_recorder(self._session, self._id).journal

    def log(self, name: Any, value: Any = ..., description: str = "", step: Optional[float] = None) -> None:
        """Log one value of a series: a number, a string, a bool or None.

        `log({"loss": 0.1, "accuracy": 0.9}, step=3)` logs several series, and `log("val", {"loss": 0.1})` logs
        `val/loss`.
        """
        if value is ... or isinstance(value, dict):
            for each, one in metrics.named_values(name, value):
                self._journal.log(each, metrics.scalar(one, each), step, description or "")
        else:
            self._journal.log(name, metrics.scalar(value, name), step, description or "")

    def log_list(self, name: str, value: Iterable[Any], description: str = "") -> None:
        values = metrics.scalars(value, name)
        if values:
            self._journal.log_list(name, values, description or "")

    def log_row(self, name: str, description: Optional[str] = None, **kwargs: Any) -> None:
        self._journal.log_row(name, metrics.row(kwargs, name), description or "")

    def log_table(self, name: str, value: Mapping[str, Any], description: str = "") -> None:
        self._journal.log_table(name, metrics.table(value, name), description or "")

    def log_image(self, name: str, path: Optional[str] = None, plot: Any = None, description: str = "") -> None:
        """Log an image: a file (`path`), or anything with `savefig` (`plot`), including matplotlib.pyplot itself."""
        if (path is None) == (plot is None):
            raise AzureMLException(f"image {name!r} needs either path or plot", hint="pass exactly one of the two")
        artifact, content = runs.files.image(name, path, plot)
        self._log_artifact(name, artifact, content, "image", description)

    def log_confusion_matrix(self, name: str, value: Any, description: str = "") -> None:
        self._log_json(name, value, "confusion_matrix", description)

    def log_accuracy_table(self, name: str, value: Any, description: str = "") -> None:
        self._log_json(name, value, "accuracy_table", description)

    def log_residuals(self, name: str, value: Any, description: str = "") -> None:
        self._log_json(name, value, "residuals", description)

    def log_predictions(self, name: str, value: Any, description: str = "") -> None:
        self._log_json(name, value, "predictions", description)

    def _log_json(self, name: str, value: Any, kind: str, description: str) -> None:
        content = io.BytesIO(metrics.json_document(value, name).encode("utf-8"))
        self._log_artifact(name, name, content, kind, description)

    def _log_artifact(self, name: str, artifact: str, content: Source, kind: str, description: str) -> None:
        runs.files.upload(self._session, self._id, [(artifact, content)])
        self._journal.log_artifact(name, runs.files.clean_name(artifact), kind, description or "")

    def flush(self, timeout_seconds: float = 300) -> None:
        """Return when the server has everything logged so far."""
        runs.recorder.flush_recorder(self._session, self._id)
