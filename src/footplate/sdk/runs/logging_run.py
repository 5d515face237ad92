"""The logging methods of a run: values, lists, rows, tables, images and Azure's chart documents."""

from __future__ import annotations

import io

from footplate.lazy import Deferred
from footplate.sdk.exceptions import AzureMLException
from footplate.sdk.runs.handle import RunHandle
from footplate.sdk.values.wrong_types import explained

TYPE_CHECKING = False  # typing is not imported: a script that only logs does without it
if TYPE_CHECKING:
    from typing import Any, Iterable, Mapping, Optional, Union

    from footplate.job.journal import Journal
    from footplate.sdk.blob_transfer import Source
    from footplate.sdk.runs import files, metrics, recorder
else:
    files = Deferred("footplate.sdk.runs.files")
    metrics = Deferred("footplate.sdk.runs.metrics")
    recorder = Deferred("footplate.sdk.runs.recorder")


@explained
class LoggingRun(RunHandle):
    @property
    def _journal(self) -> Journal:
        return recorder.open_recorder(self._session, self._id).journal

    def log(
        self,
        name: Union[str, Mapping[str, Any]],
        value: Any = ...,
        description: str = "",
        step: Optional[float] = None,
    ) -> None:
        """Log one value of a series. The call returns at once; a background thread sends the values.

        Args:
            name: The name of the series, or a dict that maps names to values.
            value: A number, a string, a bool or None. A dict logs one series for each key: `val/loss`.
            description: A text about the series.
            step: The position on the x axis, such as the epoch; without one, values are counted.

        Raises:
            UserErrorException: The value is missing, or is not a single value; the hint names the method for
                lists, tables and images.

        Example:
            run = experiment.start_logging(snapshot_directory=None)
            run.log("loss", 0.5, step=1)
            run.log({"loss": 0.4, "accuracy": 0.9}, step=2)
            run.log("val", {"loss": 0.45}, step=2)  # the series val/loss
            run.complete()
        """
        if value is ... or isinstance(value, dict) or isinstance(name, dict):
            for each, one in metrics.named_values(name, value):
                self._journal.log(each, metrics.scalar(one, each), step, description or "")
        else:
            self._journal.log(name, metrics.scalar(value, name), step, description or "")

    def log_list(self, name: str, value: Iterable[Any], description: str = "") -> None:
        """Log several values of one series at once. An empty list logs nothing.

        Args:
            name: The name of the series.
            value: The values: numbers, strings, bools or None.
            description: A text about the series.

        Raises:
            AzureMLException: `value` is not a list, or an element is not a single value.
        """
        values = metrics.scalars(value, name)
        if values:
            self._journal.log_list(name, values, description or "")

    def log_row(self, name: str, description: Optional[str] = None, **kwargs: Any) -> None:
        """Log one row of a table; further calls add rows.

        Args:
            name: The name of the table.
            description: A text about the table.
            **kwargs: The columns of the row.

        Raises:
            AzureMLException: There are no columns, or a cell is not a single value.
        """
        self._journal.log_row(name, metrics.row(kwargs, name), description or "")

    def log_table(self, name: str, value: Mapping[str, Any], description: str = "") -> None:
        """Log several rows of a table.

        Args:
            name: The name of the table.
            value: Columns by name. Each is a list; a single value counts as a list of one.
            description: A text about the table.

        Raises:
            AzureMLException: `value` is not a dict of columns of equal length.
        """
        self._journal.log_table(name, metrics.table(value, name), description or "")

    def log_image(self, name: str, path: Optional[str] = None, plot: Any = None, description: str = "") -> None:
        """Log an image: a file, or a plot.

        Args:
            name: The name of the image.
            path: The path of a PNG, JPEG, GIF, BMP, TIFF, WebP or SVG file.
            plot: Anything with `savefig`: a matplotlib figure, or `matplotlib.pyplot` itself.
            description: A text about the image.

        Raises:
            AzureMLException: Not exactly one of `path` and `plot` was given, the file cannot be read or is
                not an image, or the plot cannot be saved.

        Example:
            with open("curve.svg", "w") as file:
                file.write('<svg xmlns="http://www.w3.org/2000/svg"/>')
            with experiment.start_logging(snapshot_directory=None) as run:
                run.log_image("curve", path="curve.svg")
        """
        if (path is None) == (plot is None):
            raise AzureMLException(f"image {name!r} needs either path or plot", hint="pass exactly one of the two")
        artifact, content = files.image(name, path, plot)
        self._log_artifact(name, artifact, content, "image", description)

    def log_confusion_matrix(self, name: str, value: Any, description: str = "") -> None:
        """Log a confusion matrix as the JSON document that Azure's charts use.

        Args:
            name: The name of the metric.
            value: The document as a dict or as JSON text.
            description: A text about the metric.

        Raises:
            UserErrorException: `value` is not valid JSON or cannot be written as JSON.
        """
        self._log_json(name, value, "confusion_matrix", description)

    def log_accuracy_table(self, name: str, value: Any, description: str = "") -> None:
        """Log an accuracy table as the JSON document that Azure's charts use.

        Args:
            name: The name of the metric.
            value: The document as a dict or as JSON text.
            description: A text about the metric.

        Raises:
            UserErrorException: `value` is not valid JSON or cannot be written as JSON.

        Example:
            data = {"class_labels": ["0", "1"], "probability_tables": [[[8, 2, 0, 0], [5, 0, 2, 3]]]}
            document = {"schema_type": "accuracy_table", "schema_version": "1.0.1", "data": data}
            with experiment.start_logging(snapshot_directory=None) as run:
                run.log_accuracy_table("accuracy", document)
        """
        self._log_json(name, value, "accuracy_table", description)

    def log_residuals(self, name: str, value: Any, description: str = "") -> None:
        """Log a histogram of residuals as the JSON document that Azure's charts use.

        Args:
            name: The name of the metric.
            value: The document as a dict or as JSON text.
            description: A text about the metric.

        Raises:
            UserErrorException: `value` is not valid JSON or cannot be written as JSON.

        Example:
            data = {"bin_edges": [-1.0, 0.0, 1.0], "bin_counts": [4, 6]}
            document = {"schema_type": "residuals", "schema_version": "1.0.0", "data": data}
            with experiment.start_logging(snapshot_directory=None) as run:
                run.log_residuals("residuals", document)
        """
        self._log_json(name, value, "residuals", description)

    def log_predictions(self, name: str, value: Any, description: str = "") -> None:
        """Log predictions by bin as the JSON document that Azure's charts use.

        Args:
            name: The name of the metric.
            value: The document as a dict or as JSON text.
            description: A text about the metric.

        Raises:
            UserErrorException: `value` is not valid JSON or cannot be written as JSON.

        Example:
            data = {"bin_averages": [0.25, 0.75], "bin_errors": [0.01, 0.02], "bin_counts": [4, 6]}
            document = {"schema_type": "predictions", "schema_version": "1.0.0", "data": data}
            with experiment.start_logging(snapshot_directory=None) as run:
                run.log_predictions("predictions", document)
        """
        self._log_json(name, value, "predictions", description)

    def _log_json(self, name: str, value: Any, kind: str, description: str) -> None:
        content = io.BytesIO(metrics.json_document(value, name).encode("utf-8"))
        self._log_artifact(name, name, content, kind, description)

    def _log_artifact(self, name: str, artifact: str, content: Source, kind: str, description: str) -> None:
        files.upload(self._session, self._id, [(artifact, content)])
        self._journal.log_artifact(name, files.clean_name(artifact), kind, description or "")

    def flush(self, timeout_seconds: float = 300) -> None:
        """Wait until the server has everything logged so far.

        Args:
            timeout_seconds: Accepted for compatibility; the wait ends when everything was sent.
        """
        recorder.flush_recorder(self._session, self._id)
