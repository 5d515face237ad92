"""The cost of an idle server."""

from __future__ import annotations

import time

import psutil

from bench.harness import Options, Report, Row, Target
from bench.homes import footplate_home
from bench.machine import temporary_folder
from footplate import Experiment, ScriptRunConfig
from footplate.client.launcher import server_status

OURS = "footplate server and helper, RSS"
PSS = "footplate server and helper, PSS"
ALONE = "footplate server alone, RSS"
CPU_LIMIT = 0.5

CAVEATS = """
Measured after a run has gone through it, so that all that is ever loaded is loaded, and after five quiet seconds.

The helper is the process that agents are forked from; the server ends it when it has not been needed for minutes.

PSS divides pages shared with other processes among them, RSS counts them whole, in each process anew, so that their sum
is more than the two take. The target is held against the PSS of both, which is what they take.

CPU is the process's own time, user and system, as a share of one core; the kernel counts it in steps of 10 ms.
"""


def run(options: Options) -> Report:
    report = Report("idle_server", "an idle server", "MB", OURS, CAVEATS)
    window = options.pick(30, 10)
    with temporary_folder() as folder, footplate_home(folder) as workspace:
        source = folder / "source"
        source.mkdir()
        (source / "train.py").write_text("from footplate import Run\nRun.get_context().log('loss', 0.5)\n")
        submitted = Experiment(workspace, "idle").submit(ScriptRunConfig(str(source), "train.py"))
        submitted.wait_for_completion()
        report.check("the run went through", submitted.get_metrics() == {"loss": 0.5}, submitted.get_status())
        process = psutil.Process(int(server_status(str(folder / "home"))["pid"]))
        time.sleep(5)
        family = [process, *process.children(recursive=True)]
        report.rows, share = _watch(family, window)
        report.check("all lived through the whole time", all(p.is_running() for p in family), f"{window} s")
        report.check("there is at most one helper", len(family) <= 2, f"{len(family) - 1}")
    report.targets = [
        Target("memory of server and helper, PSS, median", report.row(PSS).median, "MB", at_most=100),
        Target(f"CPU of both over {window} s", share, "%", at_most=CPU_LIMIT),
    ]
    return report


def _watch(family: list[psutil.Process], window: int) -> tuple[list[Row], float]:
    """Return the memory in MB for each second, and the share of one core in percent over the whole window."""
    samples: dict[str, list[float]] = {OURS: [], PSS: [], ALONE: []}
    before, begin = _cpu_seconds(family), time.monotonic()
    for _ in range(window):
        time.sleep(1)
        memory = [process.memory_full_info() for process in family]
        samples[OURS].append(sum(one.rss for one in memory) / 1e6)
        samples[PSS].append(sum(one.pss for one in memory) / 1e6)
        samples[ALONE].append(memory[0].rss / 1e6)
    used, passed = _cpu_seconds(family) - before, time.monotonic() - begin
    return [Row(who, tuple(values)) for who, values in samples.items()], 100 * used / passed


def _cpu_seconds(family: list[psutil.Process]) -> float:
    times = [process.cpu_times() for process in family]
    return sum(one.user + one.system for one in times)
