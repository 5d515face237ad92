"""The newest and the best hundred of a hundred thousand runs."""

from __future__ import annotations

import random
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

import mlflow
from mlflow.entities import ViewType

from bench.copies import Values, copy_rows, open_database
from bench.harness import Options, Report, Row, Target, interleave, seconds
from bench.homes import WORKSPACE, footplate_home
from bench.machine import temporary_folder
from footplate import Experiment
from footplate.api import ApiClient
from footplate.client import connect
from footplate.client.launcher import stop_server
from footplate.storage import RunQuery, Storage

EXPERIMENT = "search"
PAGE = 100
Ask = Callable[[], list[int]]
MOST_FOR_MLFLOW_TO_SORT = 10_000
COLORS = ("red", "green", "blue", "grey", "white", "black", "brown", "pink", "cyan", "gold")

CAVEATS = """
Runs are rows copied from one real run (two metrics, two tags) with values of their own; both databases are SQLite.

Ours is asked over HTTP on the Unix socket, and once more without HTTP; MLflow in this process, without HTTP.

All runs are in one experiment. Flat is taken as: 100 times the runs take at most twice the time.

Sorting by a metric, MLflow on SQLite took 0.04 s with 2,000 runs, 0.8 s with 10,000, and had not answered after four
minutes with 100,000, so that question is put to it with at most 10,000.
"""


@dataclass(frozen=True)
class Question:
    """The same query for both contestants, and in Python for the expected result."""

    title: str
    query: Values
    filter: str
    order: str
    holds: Callable[[float, str], bool]
    by_loss: bool


QUESTIONS = (
    Question(
        title="newest 100 with loss ≤ 0.5",
        query={"metric": "loss", "metric_max": 0.5},
        filter="metrics.loss <= 0.5",
        order="attributes.start_time DESC",
        holds=lambda loss, color: loss <= 0.5,
        by_loss=False,
    ),
    Question(
        title="lowest 100 by loss of color=blue",
        query={"tags": (("color", "blue"),), "order": "metric:loss", "ascending": True},
        filter="tags.color = 'blue'",
        order="metrics.loss ASC",
        holds=lambda loss, color: color == "blue",
        by_loss=True,
    ),
    Question(
        title="newest 100 with loss ≤ 0.04",
        query={"metric": "loss", "metric_max": 0.04},
        filter="metrics.loss <= 0.04",
        order="attributes.start_time DESC",
        holds=lambda loss, color: loss <= 0.04,
        by_loss=False,
    ),
    Question(
        title="newest 100 with loss ≤ 0.002 (rare)",
        query={"metric": "loss", "metric_max": 0.002},
        filter="metrics.loss <= 0.002",
        order="attributes.start_time DESC",
        holds=lambda loss, color: loss <= 0.002,
        by_loss=False,
    ),
)


@dataclass(frozen=True)
class Data:
    """The values of run number i; number 0 is the real run that the others were copied from."""

    losses: Sequence[float]
    colors: Sequence[str]

    def first(self, count: int) -> Data:
        return Data(self.losses[:count], self.colors[:count])

    def answer(self, question: Question) -> list[int]:
        matching = [i for i in range(len(self.losses)) if question.holds(self.losses[i], self.colors[i])]
        matching.sort(key=(lambda i: self.losses[i]) if question.by_loss else (lambda i: -i))
        return matching[:PAGE]


def run(options: Options) -> Report:
    large = options.pick(100_000, 10_000)
    main = _who("footplate, HTTP", QUESTIONS[1], large)
    report = Report("search", f"a page of 100 out of {large:,} runs", "ms", main, CAVEATS)
    rounds = options.pick(15, 5)
    for size in (1000, large):
        with temporary_folder() as folder:
            data = _data(size)
            with _contestants(folder, data, report) as contestants:
                samples = interleave(rounds, contestants, {who: 3 for who in contestants if who.startswith("MLflow")})
        report.rows += [Row(who, values) for who, values in samples.items()]
    few, many = ([_over_http_median(report, q, size) for q in QUESTIONS] for size in (1000, large))
    growth = [
        more / less for less, more in zip(few[:2], many[:2], strict=True)
    ]  # for the others, 1,000 runs do not fill a page
    report.targets = [
        Target(f"slowest of the four of {large:,}, over HTTP, median", max(many), "ms", at_most=50),
        Target(f"growth from 1,000 to {large:,} runs, the worse of the first two", max(growth), "×", at_most=2),
    ]
    return report


def _who(name: str, question: Question, size: int) -> str:
    return f"{name}, {question.title}, {size:,} runs"


def _over_http_median(report: Report, question: Question, size: int) -> float:
    return report.row(_who("footplate, HTTP", question, size)).median


def _data(size: int) -> Data:
    dice = random.Random(7)
    losses = [dice.random() for _ in range(size)]
    return Data(losses, [dice.choice(COLORS) for _ in range(size)])


@contextmanager
def _contestants(folder: Path, data: Data, report: Report) -> Iterator[dict[str, Callable[[], float]]]:
    """Return all queries, after running each once and checking its result."""
    with footplate_home(folder) as workspace:
        first = _first_footplate_run(workspace, data)
        stop_server(str(folder / "home"))
        with closing(open_database(folder / "home" / "footplate.db")) as database:
            _fill_footplate(database, first, data)
        with closing(Storage.open(folder / "home")) as store:
            asks = _questions(folder, store, data)
            wrong = [who for who, (ask, answer) in asks.items() if ask() != answer]
            title = f"all {len(asks)} answers from {len(data.losses):,} runs are the right runs in the right order"
            report.check(title, not wrong, ", ".join(wrong))
            yield {who: _timed(ask) for who, (ask, _) in asks.items()}


def _questions(folder: Path, store: Storage, data: Data) -> dict[str, tuple[Ask, list[int]]]:
    """Yield contestant, query, call and expected result."""
    api = ApiClient(connect(str(folder / "home")))
    workspace, size = next(api.workspaces.list(name=WORKSPACE)).id, len(data.losses)
    asks: dict[str, tuple[Ask, list[int]]] = {}
    for question in QUESTIONS:
        query = {"experiment": EXPERIMENT, "limit": PAGE, **question.query}
        answer = data.answer(question)
        asks[_who("footplate, HTTP", question, size)] = _over_http(api, workspace, query), answer
        asks[_who("footplate, store", question, size)] = _in_store(store, workspace, query), answer
        fewer = data.first(MOST_FOR_MLFLOW_TO_SORT if question.by_loss else size)
        who = _who("MLflow, search_runs", question, len(fewer.losses))
        asks[who] = _in_mlflow(folder, fewer, question), fewer.answer(question)
    return asks


def _timed(ask: Ask) -> Callable[[], float]:
    return lambda: seconds(ask) * 1000


# ── Footplate ─────────────────────────────────────────────────────────────────────────────────────────────────────────


def _first_footplate_run(workspace: Any, data: Data) -> str:
    made = Experiment(workspace, EXPERIMENT).start_logging(outputs=False, snapshot_directory=None)
    made.log("loss", data.losses[0])
    made.log("accuracy", 0.5)
    made.set_tags({"color": data.colors[0], "kind": "copy"})
    made.complete()
    return made.id


def _fill_footplate(database: sqlite3.Connection, first: str, data: Data) -> None:
    count = len(data.losses) - 1
    key, created = database.execute("SELECT key, created FROM runs WHERE id = ?", (first,)).fetchone()
    (last,) = database.execute("SELECT max(key) FROM runs").fetchone()

    def change_run(row: Values, i: int) -> None:
        row.update(key=last + i, id=f"copy_{i}", number=row["number"] + i, created=created + i, display_name=str(i))

    def change_label(row: Values, i: int) -> None:
        row["run"] = last + i
        if row["name"] == "color":
            row.update(head=data.colors[i], value=data.colors[i])

    def change_series(row: Values, i: int) -> None:
        row["run"] = last + i
        if row["name"] == "loss":
            row.update(last=repr(data.losses[i]), rank=data.losses[i], min=data.losses[i], max=data.losses[i])

    def change_owner(row: Values, i: int) -> None:
        row["run"] = last + i

    with database:
        copy_rows(database, "runs", {"key": key}, count, change_run)
        copy_rows(database, "run_labels", {"run": key}, count, change_label)
        copy_rows(database, "series", {"run": key}, count, change_series)
        for table in ("run_specs", "story", "journals"):
            copy_rows(database, table, {"run": key}, count, change_owner)


def _number(run_id: str) -> int:
    return int(run_id[len("copy_") :]) if run_id.startswith("copy_") else 0


def _over_http(api: ApiClient, workspace: str, query: Values) -> Ask:
    asked = dict(query)
    tags = asked.pop("tags", ())
    if tags:
        asked["tag"] = [f"{name}={value}" for name, value in tags]
    # The first page: `list` would go on to the next one.
    return lambda: [_number(run.id) for run in islice(api.runs.list(workspace, **asked), PAGE)]


def _in_store(store: Storage, workspace: str, query: Values) -> Ask:
    asked = RunQuery(workspace=workspace, **query)
    return lambda: [_number(view.id) for view in store.runs.list(asked)[0]]


# ── MLflow ────────────────────────────────────────────────────────────────────────────────────────────────────────────


def _fill_mlflow(client: mlflow.MlflowClient, path: Path, data: Data) -> str:
    experiment = client.create_experiment(EXPERIMENT)
    made = client.create_run(experiment, tags={"color": data.colors[0], "kind": "copy"})
    first = made.info.run_id
    client.log_metric(first, "loss", data.losses[0])
    client.log_metric(first, "accuracy", 0.5)
    client.set_terminated(first)
    count = len(data.losses) - 1

    def change_run(row: Values, i: int) -> None:
        row.update(run_uuid=f"copy_{i}", start_time=row["start_time"] + i, end_time=row["end_time"] + i)

    def change_tag(row: Values, i: int) -> None:
        row["run_uuid"] = f"copy_{i}"
        if row["key"] == "color":
            row["value"] = data.colors[i]

    def change_metric(row: Values, i: int) -> None:
        row["run_uuid"] = f"copy_{i}"
        if row["key"] == "loss":
            row["value"] = data.losses[i]

    with closing(open_database(path)) as database, database:
        copy_rows(database, "runs", {"run_uuid": first}, count, change_run)
        copy_rows(database, "tags", {"run_uuid": first}, count, change_tag)
        copy_rows(database, "metrics", {"run_uuid": first}, count, change_metric)
        copy_rows(database, "latest_metrics", {"run_uuid": first}, count, change_metric)
    return experiment


def _experiment(client: mlflow.MlflowClient) -> str:
    found = client.get_experiment_by_name(EXPERIMENT)
    assert found is not None
    return found.experiment_id


def _in_mlflow(folder: Path, data: Data, question: Question) -> Ask:
    """Query a database with these runs, which is created on first use."""
    path = folder / f"mlflow_{len(data.losses)}.db"
    is_new = not path.exists()
    client = mlflow.MlflowClient(f"sqlite:///{path}")
    experiment = _fill_mlflow(client, path, data) if is_new else _experiment(client)

    def ask() -> list[int]:
        found = client.search_runs([experiment], question.filter, ViewType.ACTIVE_ONLY, PAGE, [question.order])
        return [_number(one.info.run_id) for one in found]

    return ask
