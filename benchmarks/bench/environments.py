"""From a lock to a running interpreter: new, changed, warm; beside `python -m venv` and pip with its cache."""

from __future__ import annotations

import os
import shutil
import statistics
import subprocess
import sys
import time
from pathlib import Path

from bench.harness import Options, Report, Row, Target, confidence, interleave, pairs, seconds
from bench.homes import footplate_home
from bench.machine import temporary_folder
from footplate import CondaDependencies, Environment, Experiment, Run, ScriptRunConfig, Workspace
from footplate.domain.orders import Lock
from footplate.domain.specs import EnvironmentSpec
from footplate.environments import built_environments
from footplate.environments.base import ResolverSettings
from footplate.environments.venv import VenvBuilder

OURS = "footplate, new: scikit-learn and pandas"
NEW = ("scikit-learn", "pandas")
SMALL = ("six", "attrs")  # for --quick: to check that it works
PIP = "python -m venv, pip install"
CHANGED = "footplate, large with one package changed"
LARGE = ("torch==2.13.0", "scikit-learn", "pandas", "matplotlib")
SIX = ("1.10.0", "1.11.0", "1.12.0", "1.13.0", "1.14.0", "1.15.0", "1.16.0", "1.17.0", "1.9.0", "1.8.0")
PYTHON = f"{sys.version_info.major}.{sys.version_info.minor}"

SCRIPT = """
import time
start = time.time()
from footplate import Run
Run.get_context().log("start", start)
"""

CAVEATS = """
Wheels are in the caches of both, uv's and pip's, and all of it is in the page cache. pip gets exact versions, as we do.
pip resolves and compiles bytecode for each environment; we have resolved before (the lock) and compiled before, once
per wheel. The row of the change includes the resolution.

Warm reuse is measured in pairs: a run with a built environment, and one that names the interpreter of that environment
as it is, so that both start the very same Python; one right after the other, each first by turns, from submit to the
script's first line. The figure is the median of the differences; its note has the range that holds the true median with
95 % confidence.

Imports are timed from outside, in environments that were built a moment before, with bytecode that nobody may write
(PYTHONDONTWRITEBYTECODE): what is not there when the environment is built is compiled at every start.
"""


def run(options: Options) -> Report:
    report = Report("environments", "environments, from a lock to an interpreter", "s", OURS, CAVEATS)
    with temporary_folder() as folder:
        bench = Bench(folder / "environments")
        _new(report, bench, options, folder)
        if not options.quick:
            _changed(report, bench)
            _shared(report, bench)
        _imports(report, bench, options)
        _warm(report, options, folder)
    return report


class Bench:
    """Environments in a folder, without a server."""

    def __init__(self, root: Path) -> None:
        self.root = root

    def lock(self, *requirements: str) -> Lock:
        spec = EnvironmentSpec(builder="venv", python=PYTHON, requirements=requirements)
        return VenvBuilder().lock(spec, ResolverSettings(self.root), _quiet)

    def build(self, lock: Lock) -> str:
        return VenvBuilder().build(lock, self.root, _quiet).argv[0]

    def build_new(self, lock: Lock) -> float:
        """Return the seconds to build a new environment from warm caches."""
        built_environments.remove(self.root / lock.digest)
        return seconds(lambda: self.build(lock))


def _quiet(_line: str) -> None:
    pass


def _ask(python: str, code: str) -> str:
    return subprocess.run([python, "-c", code], capture_output=True, text=True, check=True).stdout.strip()


# ── New, beside pip ───────────────────────────────────────────────────────────────────────────────────────────────────


def _new(report: Report, bench: Bench, options: Options, folder: Path) -> None:
    wanted = SMALL if options.quick else NEW
    lock = bench.lock(*wanted)
    pins = [line.split(" ")[0] for line in str(lock.content["requirements"]).splitlines() if "==" in line]

    def pip() -> float:
        shutil.rmtree(folder / "pip", ignore_errors=True)
        install = [str(folder / "pip" / "bin" / "pip"), "install", "--quiet", "--disable-pip-version-check", *pins]
        make = [sys.executable, "-m", "venv", str(folder / "pip")]
        return seconds(lambda: [subprocess.run(argv, check=True) for argv in (make, install)])

    contestants = {OURS: lambda: bench.build_new(lock), PIP: pip}
    for fill_the_cache in contestants.values():
        fill_the_cache()
    samples = interleave(options.pick(4, 1), contestants)
    report.rows += [Row(who, values) for who, values in samples.items()]
    report.targets += [
        Target("a new environment, median", report.row(OURS).median, "s", at_most=2),
        Target("beside venv and pip, median", report.ratio(PIP), "×", at_least=5),
    ]
    versions = f"from importlib.metadata import version; print(*map(version, {wanted!r}))"
    ours, theirs = _ask(bench.build(lock), versions), _ask(str(folder / "pip" / "bin" / "python"), versions)
    report.check("the same versions can be imported in both", ours == theirs, ours)


# ── Large ─────────────────────────────────────────────────────────────────────────────────────────────────────────────


def _changed(report: Report, bench: Bench) -> None:
    bench.build(bench.lock(*LARGE, f"six=={SIX[0]}"))
    samples = list[float]()
    for version in SIX[1:4]:
        begin = time.perf_counter()
        python = bench.build(bench.lock(*LARGE, f"six=={version}"))
        samples.append(time.perf_counter() - begin)
        seen = _ask(python, "import six, torch; print(six.__version__, torch.__version__)")
        report.check("the changed package is there, and torch", seen.startswith(f"{version} 2.13.0"), seen)
    report.rows.append(Row(CHANGED, tuple(samples), "resolved and built"))
    report.targets.append(
        Target("one changed package in a large environment", statistics.median(samples), "s", at_most=5)
    )


def _shared(report: Report, bench: Bench) -> None:
    """Build ten environments with torch and measure their disk usage, counting every file once."""
    locks = [bench.lock("torch==2.13.0", f"six=={version}") for version in SIX]
    bench.build(locks[0])
    one = _bytes(bench.root / locks[0].digest)
    before = _bytes(bench.root)
    for lock in locks[1:]:
        bench.build(lock)
    more = _bytes(bench.root) - before
    report.rows.append(Row("one environment with torch, MB", (one / 1e6,)))
    report.rows.append(Row("nine more of them, MB", (more / 1e6,)))
    report.targets.append(Target("ten that share torch, beside one, on disk", (one + more) / one, "×", at_most=1.1))
    report.check("there are ten", len({lock.digest for lock in locks}) == len(SIX), len(locks))


def _bytes(folder: Path) -> int:
    found = dict[tuple[int, int], int]()
    for where, _, names in os.walk(folder):
        for name in names:
            info = os.lstat(os.path.join(where, name))
            found[info.st_dev, info.st_ino] = info.st_blocks * 512
    return sum(found.values())


# ── Imports ───────────────────────────────────────────────────────────────────────────────────────────────────────────


def _imports(report: Report, bench: Bench, options: Options) -> None:
    names = {"attr": SMALL}
    if not options.quick:
        names = {"torch": ("torch==2.13.0",), "tensorflow": ("tensorflow-cpu",)}
    for name, requirements in names.items():
        lock = bench.lock(*requirements)
        bench.build(lock)
        first, second = list[float](), list[float]()
        for _ in range(options.pick(5, 1)):
            bench.build_new(lock)
            python = bench.build(lock)
            first.append(_import(python, name))
            second.append(_import(python, name))
        report.rows.append(Row(f"first import {name} in a new environment", tuple(first)))
        report.rows.append(Row(f"second import {name}", tuple(second)))
        ratio = statistics.median(first) / statistics.median(second)
        report.targets.append(Target(f"the first import {name}, beside the second", ratio, "×", at_most=1.1))


def _import(python: str, name: str) -> float:
    environment = {**os.environ, "PYTHONDONTWRITEBYTECODE": "1", "TF_CPP_MIN_LOG_LEVEL": "3"}
    return seconds(
        lambda: subprocess.run([python, "-c", f"import {name}"], env=environment, check=True, stderr=subprocess.DEVNULL)
    )


# ── Warm reuse ────────────────────────────────────────────────────────────────────────────────────────────────────────


def _warm(report: Report, options: Options, folder: Path) -> None:
    source = folder / "source"
    source.mkdir()
    (source / "train.py").write_text(SCRIPT)
    with footplate_home(folder) as workspace:
        built, plain = Environment("built"), Environment("plain")
        built.python.conda_dependencies = CondaDependencies.create(python_version=PYTHON, pip_packages=["six==1.17.0"])
        built.build(workspace).wait_for_completion(show_output=False)
        plain.python.user_managed_dependencies = True
        plain.python.interpreter_path = str(built.get_image_details(workspace).interpreter_path)
        ended: list[Run] = []
        contestants = {
            "a run with a built environment": lambda: _latency(workspace, source, built, ended),
            "a run with that interpreter as it is": lambda: _latency(workspace, source, plain, ended),
        }
        for warm_up in contestants.values():
            warm_up()
        samples = pairs(options.pick(60, 3), contestants)
        report.check("all runs completed", {one.get_status() for one in ended} == {"Completed"}, len(ended))
    report.rows += [Row(who, values) for who, values in samples.items()]
    with_one, without = samples.values()
    added = sorted((one - other) * 1000 for one, other in zip(with_one, without, strict=True))
    low, high = confidence(added)
    note = f"{low:.1f} to {high:.1f} ms"
    report.rows.append(Row("added by the environment", tuple(one / 1000 for one in added), note))
    report.targets.append(Target("warm reuse adds to a run, median", statistics.median(added), "ms", at_most=20))


def _latency(workspace: Workspace, source: Path, environment: Environment, ended: list[Run]) -> float:
    """Return the seconds from submit to the script's first line."""
    begin = time.time()
    run = Experiment(workspace, "warm").submit(ScriptRunConfig(str(source), "train.py", environment=environment))
    run.wait_for_completion()
    ended.append(run)
    return float(run.get_metrics()["start"]) - begin
