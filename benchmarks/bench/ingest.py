"""Metric points into the store: what a server does with the journals that agents ship."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import mlflow
from mlflow.entities import Metric

from bench.harness import Options, Report, Row, Target
from bench.homes import footplate_home
from bench.machine import temporary_folder
from footplate import Experiment
from footplate.api import ApiClient
from footplate.client import connect
from footplate.job.journal import Journal
from footplate.job.journal_format import finished_prefix, read_text
from footplate.storage import Storage

OURS = "footplate, Store.metrics.append"
OURS_HTTP = "footplate, PUT /runs/…/journals"
MLFLOW = "MLflow, log_batch (SQLite)"
SERIES = 10
CHUNK = 256 * 1024
BATCH = 1000

CAVEATS = f"""
{SERIES} series in turn, floats with steps, as run.log writes them, handed over in pieces of {CHUNK // 1024} kB; the
summaries (count, last, min, max of each series) are brought up to date with every piece.

MLflow gets batches of {BATCH}, the most it takes, through MlflowClient on SQLite in this process, and keeps every
point as a row; ours keeps the bytes of the journal and decodes them when asked.
"""


def run(options: Options) -> Report:
    report = Report("ingest", "metric points into the store", "points/s", OURS, CAVEATS, more_is_better=True)
    points = options.pick(1_000_000, 100_000)
    rounds = options.pick(5, 2)
    with temporary_folder() as folder, footplate_home(folder) as workspace:
        journal = _write_journal(folder / "journal", points)
        experiment = Experiment(workspace, "ingest")
        runs = [experiment.start_logging(outputs=False, snapshot_directory=None) for _ in range(2 * rounds)]
        api = ApiClient(connect(str(folder / "home")))
        with closing(Storage.open(folder / "home")) as store:
            direct = [_append(store, made.id, journal) for made in runs[:rounds]]
        over_http = [_put(api, made.id, journal) for made in runs[rounds:]]
        for who, made in ((OURS, runs[0]), (OURS_HTTP, runs[-1])):
            report.check(f"{who}: summaries and values are right", *_is_right(made, api, points))
        for made in runs:
            made.complete()
    theirs = _mlflow(points // 50, rounds, report)
    report.rows = [
        Row(OURS, tuple(points / s for s in direct)),
        Row(OURS_HTTP, tuple(points / s for s in over_http)),
        Row(MLFLOW, theirs),
    ]
    report.targets = [Target("into the store, median", report.row(OURS).median, "points/s", at_least=200_000)]
    return report


def _write_journal(folder: Path, points: int) -> tuple[bytes, bytes]:
    """Return slots and text of a journal with this many points, written by the code behind `run.log`."""
    with Journal(str(folder), "writer") as journal:
        names = [f"metric_{number}" for number in range(SERIES)]
        for number in range(points):
            journal.log(names[number % SERIES], float(number), number // SERIES)
    slots = b"".join(_pieces_of_file(str(folder / "writer.slots")))
    return slots, read_text(str(folder / "writer.text"), 0)


def _pieces_of_file(path: str) -> Iterator[bytes]:
    offset = 0
    while piece := finished_prefix(path, offset):
        yield piece
        offset += len(piece)


def _pieces(data: bytes) -> Iterator[tuple[int, bytes]]:
    return ((offset, data[offset : offset + CHUNK]) for offset in range(0, len(data), CHUNK))


def _append(store: Storage, run: str, journal: tuple[bytes, bytes]) -> float:
    slots, text = journal
    begin = time.perf_counter()
    store.metrics.append(run, "writer", "text", 0, text, False)
    for offset, piece in _pieces(slots):
        store.metrics.append(run, "writer", "slots", offset, piece, False)
    return time.perf_counter() - begin


def _put(api: ApiClient, run: str, journal: tuple[bytes, bytes]) -> float:
    slots, text = journal
    begin = time.perf_counter()
    api.metrics.append(run, "writer", "text", text, 0)
    for offset, piece in _pieces(slots):
        api.metrics.append(run, "writer", "slots", piece, offset)
    return time.perf_counter() - begin


def _is_right(made, api: ApiClient, points: int) -> tuple[bool, str]:
    """Check the count, minimum, maximum and last value of each series in the summary, and all its values."""
    summary = {item.name: vars(item) for item in api.metrics.summary(made.id)}
    each = points // SERIES
    wanted = {
        f"metric_{i}": {"count": each, "min": i, "max": points - SERIES + i, "last": points - SERIES + i}
        for i in range(SERIES)
    }
    summaries = all({key: summary[name][key] for key in want} == want for name, want in wanted.items())
    values = made.get_metrics(name="metric_3")["metric_3"] == [float(n) for n in range(3, points, SERIES)]
    return summaries and values, f"{sum(item['count'] for item in summary.values()):,} points"


def _mlflow(points: int, rounds: int, report: Report) -> tuple[float, ...]:
    rates: list[float] = []
    with temporary_folder() as folder:
        client = mlflow.MlflowClient(f"sqlite:///{folder / 'mlflow.db'}")
        experiment = client.create_experiment("ingest")
        for _ in range(rounds):
            made = client.create_run(experiment)
            batches = [_batch(start) for start in range(0, points, BATCH)]
            begin = time.perf_counter()
            for batch in batches:
                client.log_batch(made.info.run_id, metrics=batch)
            rates.append(points / (time.perf_counter() - begin))
        kept = len(client.get_metric_history(made.info.run_id, "metric_3"))
    report.check(f"{MLFLOW}: every point is there", kept == points // SERIES, kept)
    return tuple(rates)


def _batch(start: int) -> list[Metric]:
    when = int(time.time() * 1000)
    return [Metric(f"metric_{n % SERIES}", float(n), when, n // SERIES) for n in range(start, start + BATCH)]
