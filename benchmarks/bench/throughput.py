"""Steps per second of training over several ranks under Footplate, beside the same processes started by hand."""

from __future__ import annotations

import statistics
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import psutil

from bench.distributed import Stage
from bench.environments import Bench
from bench.harness import Options, Report, Row, Target, confidence, pairs
from bench.homes import footplate_home
from bench.machine import temporary_folder
from footplate.client.launcher import server_status
from footplate.sdk.config.run_configuration import PyTorchConfiguration

SECONDS = 6
LEAST = 0.99

TRAINING = """
layers = nn.Linear(64, 512), nn.ReLU(), nn.Linear(512, 512), nn.ReLU(), nn.Linear(512, 8)
model = DistributedDataParallel(nn.Sequential(*layers))
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
inputs, labels = torch.randn(256, 64), torch.randint(0, 8, (256,))
def step():
    optimizer.zero_grad()
    nn.functional.cross_entropy(model(inputs), labels).backward()
    optimizer.step()
def result():
    return sum(float(part.detach().double().sum()) for part in model.parameters())
"""
EXCHANGE = """
gradient = torch.ones(250_000)
def step():
    dist.all_reduce(gradient)
    gradient.div_(dist.get_world_size())
def result():
    return float(gradient.double().sum())
"""
SCRIPT = """
import os, sys, time
import torch, torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel
dist.init_process_group("gloo")
torch.manual_seed(7 + dist.get_rank())
WORK
marks, steps = sys.argv[2], int(sys.argv[1])
for _ in range(50):
    step()
dist.barrier()
began = time.perf_counter()
for _ in range(steps):
    step()
rate = steps / (time.perf_counter() - began)
with open(os.path.join(marks, f"{dist.get_rank()}.txt"), "w") as file:
    file.write(f"{rate} {result()!r}")
dist.barrier()
dist.destroy_process_group()
"""
CAVEATS = """
By hand means plain processes with the variables of torch, the same addresses and one thread each, in sessions of their
own, as torchrun has its ranks: Linux shares cores by session. Under Footplate the ranks are on two virtual nodes, so
that two agents and the server share the cores with them.

Training is a network with 1.2 MB of gradients in DistributedDataParallel; the exchange is the all_reduce of 1 MB alone,
which suffers most from whoever else wants a core. Both contestants do the same number of steps from the same seed, and
must end with the same result.

A machine that does nothing else still gives the same processes ten percent more or less from one start to the next.
So it is measured in pairs, one right after the other, each first by turns; the figure is the median of the ratios, and
its note has the range that holds the true median with 95 % confidence. Sixteen pairs tell five percent from nothing,
not one; all of them together come closer, and what server and agents take of the cores is known exactly.
"""


def run(options: Options) -> Report:
    report = Report("throughput", "steps a second of several ranks", "steps/s", "", CAVEATS, more_is_better=True)
    with temporary_folder() as folder:
        bench = Bench(folder / "environments")
        python = bench.build(bench.lock("torch==2.13.0", "numpy"))
        with footplate_home(folder) as workspace:
            works = {"training": TRAINING, "exchange": EXCHANGE}
            scripts = {f"{name}.py": SCRIPT.replace("WORK", work) for name, work in works.items()}
            stage = Stage(folder, workspace, options, scripts)
            ratios = [one for work in works for ranks in (2, 4) for one in _compare(report, stage, python, work, ranks)]
    _judge(report, "all pairs", ratios)
    return report


def _compare(report: Report, stage: Stage, python: str, work: str, ranks: int) -> list[float]:
    common = {"MASTER_ADDR": "127.0.0.2", "MASTER_PORT": str(29600 + ranks), "WORLD_SIZE": str(ranks)}
    each = [{**common, "RANK": str(rank), "LOCAL_RANK": str(rank)} for rank in range(ranks)]
    job = PyTorchConfiguration("Gloo", ranks, 2)
    used: list[float] = []
    results: set[float] = set()

    def rate(start: Callable[[Path], None]) -> float:
        _, found = stage.marks(ranks, start)
        results.update(result for _, result in found)
        return min(rate for rate, _ in found)

    def by_hand(steps: int) -> Callable[[Path], None]:
        return stage.by_hand(*[[python, f"{work}.py", str(steps)]] * ranks, each=each)

    steps = int(rate(by_hand(200)) * stage.options.pick(SECONDS, 1))
    results.clear()

    def ours() -> float:
        with _house(stage.folder / "home", used):
            return rate(stage.ours(f"{work}.py", python, job, str(steps)))

    names = [f"{who}, {work}, {ranks} ranks" for who in ("footplate", "by hand")]
    samples = pairs(stage.options.pick(16, 1), {names[0]: ours, names[1]: lambda: rate(by_hand(steps))})
    report.rows += [Row(who, values) for who, values in samples.items()]
    ratios = [one / other for one, other in zip(*samples.values(), strict=True)]
    _judge(report, f"{work}, {ranks} ranks", ratios)
    if used:  # --quick is too short for this
        report.rows.append(Row(f"server and agents meanwhile, {work}, {ranks} ranks, % of a core", tuple(used)))
    report.check(f"{work}, {ranks} ranks: all came to the same result", len(results) == 1, sorted(results))
    return ratios


def _judge(report: Report, what: str, ratios: Sequence[float]) -> None:
    low, high = confidence(sorted(ratios))
    report.rows.append(Row(f"{what}, ratio of pairs, ×", tuple(ratios), f"{low:.3f} to {high:.3f}"))
    middle = statistics.median(ratios)
    report.targets.append(Target(f"{what}, beside by hand, median of pairs", middle, "×", at_least=LEAST))


# ── What the house itself takes ───────────────────────────────────────────────────────────────────────────────────────


@contextmanager
def _house(home: Path, used: list[float]) -> Iterator[None]:
    """Add the CPU time of server and agents in the middle of the run: after the start, before the end."""
    over = threading.Event()

    def look() -> None:
        over.wait(4.0)
        began, before = time.monotonic(), _spent(home)
        over.wait(SECONDS - 1.5)
        after, seconds = _spent(home), time.monotonic() - began
        if not over.is_set():
            used.append(sum(after[thread] - before[thread] for thread in before if thread in after) / seconds * 100.0)

    thread = threading.Thread(target=look)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


def _spent(home: Path) -> dict[Path, float]:
    """Return the CPU seconds by thread of the server, its helper, and the agents, which are children of the helper."""
    server = psutil.Process(server_status(str(home))["pid"])
    helpers = server.children()
    agents = [agent for helper in helpers for agent in helper.children()]
    threads = [
        path for one in (server, *helpers, *agents) for path in Path(f"/proc/{one.pid}/task").glob("*/schedstat")
    ]
    return {path: int(path.read_text().split()[0]) / 1e9 for path in threads}
