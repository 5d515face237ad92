"""Thousands of queued runs, and 200 that run: the cost of the server at rest, and the cost of one event."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil

from bench.copies import Values, copy_rows, open_database
from bench.harness import Options, Report, Row, Target, percentile, wait_for
from bench.homes import footplate_home
from bench.machine import temporary_folder
from footplate.api import ApiClient
from footplate.client import connect
from footplate.client.launcher import server_status, stop_server
from footplate.domain.orders import Program
from footplate.domain.shipments import LOG, FilePiece, Shipment, encode
from footplate.domain.specs import EnvironmentSpec, RunSpec
from footplate.engines.base import Observation
from footplate.node.delivery.reporting import HEARTBEAT_SECONDS
from footplate.testing.simulated_engine import SimulatedCluster

FEW = 100
SLOTS = {"engine": 10_000, "server": 5}
"""The nodes of the target, by the queue that holds the runs."""

SETTINGS = "[engines]\nsimulated = footplate.testing.simulated_engine:SimulatedEngine\n"

CAVEATS = """
The engine is simulated: it answers at once, and no agent ever runs. Queued runs are copies of one real run, written to
the database while the server is away; the server then starts with them, as after a restart.

In the first part the engine's queue holds the runs: the target has enough nodes, the engine does not. In the second
part the server's own queue holds them: the target has five nodes.

The cost of an event is the CPU time of the server, user and system, for a batch of events until their effects are
visible in the API, less that of the idle server in the same time. It contains the requests. A change is another reason
from the engine in the first part, and a canceled run that waits in the second.

The last part plays the agents of runs that run: each sends a heartbeat every three seconds, and every second time a
line of its log. A beat is late if the next one was due before the server had answered.
"""


@dataclass(frozen=True)
class Costs:
    """Costs of a server with queued runs: of doing nothing, and milliseconds of CPU for one event by its name."""

    share: float  # percent of a core
    memory: float  # MB
    polls: float  # per second
    events: dict[str, float]
    ages: list[float]  # seconds until a change in the engine is visible


def run(options: Options) -> Report:
    report = Report("queue_scale", "queued runs", "ms", "", CAVEATS)
    thousand, many = options.pick(1000, 200), options.pick(9_900, 400)
    for holder in SLOTS:
        sizes = (FEW, thousand, many)
        few, some, most = (_measure(holder, size, options) for size in sizes)
        for event in few.events:
            for size, costs in zip(sizes, (few, some, most), strict=True):
                report.rows.append(Row(f"{event}, {size:,} in the queue of the {holder}", (costs.events[event],)))
            growth = most.events[event] / few.events[event]
            report.targets.append(Target(f"{event}, {holder}: {many:,} beside {FEW}", growth, "×", at_most=1.5))
        where = f"{thousand:,} in the queue of the {holder}"
        report.targets += [
            Target(f"{where}: memory (with {many:,}: {most.memory:.0f} MB)", some.memory, "MB", at_most=250),
            Target(f"… CPU at rest (with {many:,}: {most.share:.1f} %)", some.share, "%", at_most=20),
        ]
        if some.ages:
            report.targets += [
                Target("… calls of the engine per second", some.polls, "", at_most=1.1),
                Target("… age of a state, 95th percentile", percentile(some.ages, 95), "s", at_most=3),
            ]
    _report_running(report, options)
    return report


def _report_running(report: Report, options: Options) -> None:
    count = options.pick(200, 30)
    with temporary_folder() as folder, footplate_home(folder) as workspace:
        crowd = _Crowd(folder, workspace.id, "engine")
        share, memory, answers = crowd.run_all(count, options.pick(30, 6))
        age = crowd.watch_the_end()
    report.rows.append(Row(f"a heartbeat of {count} running runs", tuple(1e3 * each for each in answers)))
    report.check("no heartbeat was late", max(answers) < HEARTBEAT_SECONDS, f"{max(answers):.2f} s at most")
    report.targets += [
        Target(f"{count} running: memory", memory, "MB", at_most=250),
        Target("… CPU, with heartbeats and logs", share, "%", at_most=20),
        Target("… age of a lost node", age, "s", at_most=3),
    ]


def _measure(holder: str, size: int, options: Options) -> Costs:
    with temporary_folder() as folder, footplate_home(folder) as workspace:
        crowd = _Crowd(folder, workspace.id, holder)
        crowd.fill(size)
        share, memory, polls = crowd.rest(options.pick(8, 3))
        repeats = options.pick(3, 1)
        acts = {
            "a submit": crowd.submit,
            "a change": crowd.change if holder == "engine" else crowd.cancel,
            "an end": crowd.cancel if holder == "engine" else crowd.end,
        }
        events = {event: crowd.cost(act, repeats, share) for event, act in acts.items()}
        return Costs(share, memory, polls, events, crowd.ages)


class _Crowd:
    """A server with many queued runs."""

    def __init__(self, folder: Path, workspace: str, holder: str) -> None:
        self._home, self._workspace, self._holder = folder / "home", workspace, holder
        self._cluster = SimulatedCluster(folder / "cluster")
        stop_server(str(self._home))
        (self._home / "settings.ini").write_text(SETTINGS)
        self._api = ApiClient(connect(str(self._home)))
        options = {"folder": str(folder / "cluster")}
        self._api.computes.put(workspace, "crowded", max_nodes=SLOTS[holder], engine="simulated", options=options)
        self._sent = 0
        self._waiting: list[str] = []
        self._running: list[_PlayedAgent] = []
        self.ages: list[float] = []

    def fill(self, size: int) -> None:
        """Have so many runs wait, and those that hold the nodes before them."""
        first = self._send(SLOTS[self._holder] + 1 if self._holder == "server" else 1)
        stop_server(str(self._home))
        self._waiting = [f"copy{number}" for number in range(1, size + 1)]
        with closing(open_database(self._home / "footplate.db")) as database, database:
            key = database.execute("SELECT key FROM runs WHERE id = ?", (first[-1],)).fetchone()[0]
            for table, change in (("runs", _other_run), ("run_specs", _other_owner), ("story", _other_owner)):
                copy_rows(database, table, {"key" if table == "runs" else "run": key}, size, change)
            database.execute("UPDATE experiments SET last_number = last_number + ?", (size,))
        if self._holder == "engine":
            job, folder = self._cluster.job(first[-1]), self._cluster.job(first[-1])["options"]["folder"]
            lines = [{"call": "submit", "handle": f"{r}/1@{folder}", "job": {**job, "run": r}} for r in self._waiting]
            self._cluster.write(lines)
        self._api = ApiClient(connect(str(self._home)))
        self._settle(self._waiting[-1:])

    def rest(self, window: float) -> tuple[float, float, float]:
        """Return the share of a core in percent, the memory in MB, and calls of the engine per second."""
        rounds = self._cluster.calls()["poll"] + 3  # the first ones look at every run
        wait_for("the third round", lambda: _true(self._cluster.calls()["poll"] >= rounds), pause=0.1)
        process, before = self._process(), self._cluster.calls()["poll"]
        used, begin = _cpu_seconds(process), time.monotonic()
        time.sleep(window)
        passed = time.monotonic() - begin
        share = 100 * (_cpu_seconds(process) - used) / passed
        return share, process.memory_info().rss / 1e6, (self._cluster.calls()["poll"] - before) / passed

    def cost(self, act: Callable[[], int], repeats: int, share: float) -> float:
        process, count = self._process(), 0
        used, begin = _cpu_seconds(process), time.monotonic()
        for _ in range(repeats):
            count += act()
        idle = share / 100 * (time.monotonic() - begin)
        return 1e3 * (_cpu_seconds(process) - used - idle) / count

    # ── Running ───────────────────────────────────────────────────────────────────────────────────────────────────────

    def run_all(self, count: int, seconds: float) -> tuple[float, float, list[float]]:
        """Have so many runs run for a while. Return the share of a core in percent, MB, and seconds of each beat."""
        self._running = [_PlayedAgent(self._home, self._cluster.job(run), run) for run in self._send(count)]
        self._cluster.order([agent.run for agent in self._running], Observation("running"))
        with ThreadPoolExecutor(32) as pool:
            list(pool.map(_PlayedAgent.start, self._running))
            process, answers = self._process(), list[float]()
            used, begin = _cpu_seconds(process), time.monotonic()
            for number in range(round(seconds / HEARTBEAT_SECONDS * count)):
                time.sleep(max(0.0, begin + number * HEARTBEAT_SECONDS / count - time.monotonic()))
                pool.submit(lambda agent: answers.append(agent.beat()), self._running[number % count])
        share = 100 * (_cpu_seconds(process) - used) / (time.monotonic() - begin)
        return share, process.memory_info().rss / 1e6, answers

    def watch_the_end(self) -> float:
        """Lose the node of a run. Return the seconds until the end of the run is visible."""
        run, begin = self._running[-1].run, time.monotonic()
        self._cluster.order([run], Observation("exited", {0: None}, ended_by="node_lost"))
        self._api.runs.get(run, until="ended", wait=30)
        return time.monotonic() - begin

    # ── Events ────────────────────────────────────────────────────────────────────────────────────────────────────────

    def submit(self) -> int:
        self._waiting += (sent := self._send(20))
        return len(sent)

    def change(self) -> int:
        changed, reason = self._waiting[-20:], f"reason {len(self.ages)}"
        begin = time.monotonic()
        self._cluster.order(changed, Observation("queued", reason=reason))
        for run in changed:
            wait_for(f"the reason of {run}", lambda run=run: _true(self._reason(run) == reason), pause=0.02)
            self.ages.append(time.monotonic() - begin)
        return len(changed)

    def cancel(self) -> int:
        return self._cancel([self._waiting.pop() for _ in range(20)])

    def end(self) -> int:
        """End the runs that hold the nodes; as many begin."""
        query = {"status": ["Provisioning"], "limit": 100}
        return self._cancel([view.id for view in self._api.runs.list(self._workspace, **query)])

    def _cancel(self, runs: Sequence[str]) -> int:
        for run in runs:
            self._api.runs.cancel(run)
        for run in runs:
            self._api.runs.get(run, until="ended", wait=30)
        return len(runs)

    def _send(self, count: int) -> list[str]:
        sent = [f"run{self._sent + number}" for number in range(count)]
        self._sent += count
        environment = EnvironmentSpec(builder="existing", interpreter=sys.executable)
        spec = RunSpec("lab", program=Program(script="train.py"), environment=environment, target="crowded")
        for run in sent:
            self._api.runs.submit(self._workspace, run, spec)
        self._settle(sent)
        return sent

    def _settle(self, runs: Sequence[str]) -> None:
        """Wait until each run has nodes or a reason to wait."""
        for run in runs:
            wait_for(f"the reason of {run}", lambda run=run: _true(self._reason(run) is not None), pause=0.02)

    def _reason(self, run: str) -> str | None:
        waiting = self._api.runs.get(run).waiting
        return None if waiting is None else waiting.reason

    def _process(self) -> psutil.Process:
        return psutil.Process(int(server_status(str(self._home))["pid"]))


class _PlayedAgent:
    """The requests of an agent whose script prints a line from time to time."""

    def __init__(self, home: Path, job: dict[str, Any], run: str) -> None:
        self._api, self.run, self._beats = ApiClient(connect(str(home))).nodes, run, 0
        self._attempt = int(job["attempt"])

    def start(self) -> None:
        self._api.join(self.run, 0, attempt=self._attempt, host="played", address="127.0.0.1", info={})
        self._api.report_prepared(self.run, 0, ports=[], attempt=self._attempt)
        self._api.report(self.run, 0, "started", attempt=self._attempt)

    def beat(self) -> float:
        begin, line = time.monotonic(), b"a line of the log\n"
        if self._beats % 2:
            piece = FilePiece("user_logs/std_log.txt", LOG, len(line) * (self._beats // 2), encode(line))
            self._api.ship(self.run, 0, Shipment(self._attempt, pieces=(piece,)))
        self._api.heartbeat(self.run, 0, self._attempt)
        self._beats += 1
        return time.monotonic() - begin


def _other_run(row: Values, number: int) -> None:
    row["id"], row["key"], row["number"] = f"copy{number}", row["key"] + number, row["number"] + number
    row["handle"] = row["handle"] and f"copy{number}/1@{row['handle'].partition('@')[2]}"


def _other_owner(row: Values, number: int) -> None:
    row["run"] += number


def _cpu_seconds(process: psutil.Process) -> float:
    times = process.cpu_times()
    return times.user + times.system


def _true(holds: bool) -> bool | None:
    return holds or None
