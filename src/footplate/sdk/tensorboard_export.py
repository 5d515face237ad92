"""export_to_tensorboard: the metrics of runs as event files, written with TensorBoard's own classes."""

from __future__ import annotations

import importlib
import math
import os
from typing import Any, Callable, Dict, Iterator, List, Mapping, NamedTuple, Optional, Sequence, Tuple, Union, cast

from footplate.domain.floats import untag_float
from footplate.domain.replies import MetricSeries
from footplate.sdk.exceptions import AzureMLException
from footplate.sdk.experiment import Experiment
from footplate.sdk.run import Run
from footplate.sdk.runs.files import Artifact
from footplate.sdk.tensorboard import INSTALL, runs_of
from footplate.sdk.values.wrong_types import explained


class _Point(NamedTuple):
    tag: str
    time: float
    step: int
    value: Any


class _Library(NamedTuple):
    open_writer: Callable[[str], Any]
    event: Any
    summary: Any


@explained
def export_to_tensorboard(
    run_data: Union[Run, Experiment, Sequence[Run]], logsdir: str, logger: Any = None, recursive: bool = True
) -> None:
    """Write the metrics of runs as TensorBoard event files, to `<logsdir>/<run id>`.

    Numbers, lists and columns of tables become curves, and images become images.

    Args:
        run_data: A run, several runs, or an experiment.
        logsdir: The local directory.
        logger: A `logging.Logger` that gets one line for each run.
        recursive: Whether to include child runs.

    Raises:
        AzureMLException: TensorBoard is not installed.

    Example:
        export_to_tensorboard(run, "tensorboard-logs")
    """
    library = _library()
    for run in runs_of(run_data):
        session = run.experiment.workspace.session
        for run_id, series in session.api.metrics.read(run.id, recursive=recursive).items():
            _write(library, run, run_id, series, os.path.join(logsdir, run_id))
            if logger is not None:
                logger.info("exported %d metrics of run %s", len(series), run_id)


def _library() -> _Library:
    try:
        writer = importlib.import_module("tensorboard.summary.writer.event_file_writer")
        events = importlib.import_module("tensorboard.compat.proto.event_pb2")
        summaries = importlib.import_module("tensorboard.compat.proto.summary_pb2")
    except ImportError as error:
        raise AzureMLException("TensorBoard is not installed", error, hint=INSTALL) from error
    return _Library(writer.EventFileWriter, events.Event, summaries.Summary)


def _write(library: _Library, run: Run, run_id: str, series: List[MetricSeries], folder: str) -> None:
    writer = library.open_writer(folder)
    try:
        for each in series:
            for point in _images(run, run_id, each) if each.kind == "artifact" else _numbers(each):
                content: Dict[str, Any] = {"simple_value": point.value}
                if each.kind == "artifact":
                    content = {"image": library.summary.Image(encoded_image_string=point.value)}
                summary = library.summary(value=[library.summary.Value(tag=point.tag, **content)])
                writer.add_event(library.event(wall_time=point.time, step=point.step, summary=summary))
    finally:
        writer.close()


def _numbers(series: MetricSeries) -> Iterator[_Point]:
    """Yield the numbers of a metric; without steps of their own, they are counted."""
    counts: Dict[str, int] = {}
    for time, step, value in series.points:
        for tag, cell in _cells(series.name, value):
            number = _number(untag_float(cell))
            if number is not None:
                at = counts.get(tag, 0)
                counts[tag] = at + 1
                yield _Point(tag, time, at if step is None else int(step), number)


def _cells(name: str, value: Any) -> Iterator[Tuple[str, Any]]:
    if isinstance(value, Mapping):  # rows of a table: one curve per column
        for column, cells in cast("Mapping[str, Any]", value).items():
            yield from _cells(f"{name}/{column}", cells)
    elif isinstance(value, list):
        for cell in cast("List[Any]", value):
            yield name, cell
    else:
        yield name, value


def _number(value: Any) -> Optional[float]:
    if isinstance(value, (int, float)) and not (isinstance(value, float) and math.isnan(value)):
        return float(value)
    return None


def _images(run: Run, run_id: str, series: MetricSeries) -> Iterator[_Point]:
    session = run.experiment.workspace.session
    for at, (time, step, value) in enumerate(series.points):
        path = str(value["path"])
        if path.lower().endswith((".png", ".jpg", ".jpeg", ".gif")):
            yield _Point(series.name, time, at if step is None else int(step), Artifact(session, run_id, path).read())
