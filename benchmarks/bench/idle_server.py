"""What a server costs when nobody asks it anything."""

from __future__ import annotations

import time

import psutil

from bench.harness import Options, Report, Row, Target
from bench.homes import footplate_home
from bench.machine import temporary_folder
from footplate import Experiment, ScriptRunConfig
from footplate.client.launcher import server_status

OURS = "footplate server, PSS"
RSS = "footplate server, RSS"
CPU_LIMIT = 0.5

CAVEATS = """
Measured after a run has gone through it, so that all that is ever loaded is loaded, and after five quiet seconds.

PSS divides pages shared with other processes among them, RSS counts them whole; the target is held against RSS.

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
        pss, rss, share = _watch(process, window)
        report.check("it lived through the whole time", process.is_running(), f"{window} s")
        helpers = process.children(recursive=True)
        report.check("it keeps no process beside it", not helpers, [child.name() for child in helpers])
    report.rows = [Row(OURS, pss), Row(RSS, rss)]
    report.targets = [
        Target("memory (RSS), median", report.row(RSS).median, "MB", at_most=100),
        Target(f"CPU over {window} s", share, "%", at_most=CPU_LIMIT),
    ]
    return report


def _watch(process: psutil.Process, window: int) -> tuple[tuple[float, ...], tuple[float, ...], float]:
    """PSS and RSS in MB each second, and the share of one core in percent over the whole window."""
    pss: list[float] = []
    rss: list[float] = []
    before, begin = _cpu_seconds(process), time.monotonic()
    for _ in range(window):
        time.sleep(1)
        memory = process.memory_full_info()
        pss.append(memory.pss / 1e6)
        rss.append(memory.rss / 1e6)
    used, passed = _cpu_seconds(process) - before, time.monotonic() - begin
    return tuple(pss), tuple(rss), 100 * used / passed


def _cpu_seconds(process: psutil.Process) -> float:
    times = process.cpu_times()
    return times.user + times.system
