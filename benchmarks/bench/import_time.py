"""The cost of having Footplate: the import and the installation."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

from bench.harness import Options, Report, Row, Target, interleave
from bench.machine import temporary_folder, tool

PROJECT = Path(__file__).resolve().parents[2]
NOTHING = "python -c pass"
OURS = "import footplate"
CORE = "from footplate import Workspace, Experiment, Run"
ALL = "from footplate import Workspace, …, ScriptRunConfig"

PEERS = {"import mlflow": "import mlflow", "import ray": "import ray"}
ALL_CODE = "from footplate import Environment, Experiment, Model, Run, ScriptRunConfig, Workspace"

CAVEATS = """
Whole processes, from start to end: the interpreter's own start is in every row and taken off none.

Each name is imported when it is first used, so a script waits for the row that names what it uses.

Footplate is in a fresh environment that its wheel was installed into, the peers are in the benchmarks' own; all with
bytecode.

import azureml.core took 0.70 s, 853 MB and 158 packages on such a machine: the issue's figure, not measured here.
"""


def run(options: Options) -> Report:
    report = Report("import_time", "import footplate, and its install", "ms", OURS, CAVEATS)
    with temporary_folder() as folder:
        python = _install(folder)
        size, packages = _measure_install(folder / "venv")
        contestants = {
            NOTHING: lambda: _process([str(python), "-c", "pass"]),
            OURS: lambda: _process([str(python), "-c", "import footplate"]),
            CORE: lambda: _process([str(python), "-c", CORE]),
            ALL: lambda: _process([str(python), "-c", ALL_CODE]),
            **{who: _peer(code) for who, code in PEERS.items()},
        }
        for measure in contestants.values():
            measure()
        samples = interleave(options.pick(20, 5), contestants, every=dict.fromkeys(PEERS, 2))
        report.check("the wheel's own copy was imported", *_imported_from(python, folder))
        report.check("footplate's own command answers", *_command_works(folder))
    report.rows = [Row(who, values) for who, values in samples.items()]
    report.targets = [
        Target("import footplate, median", report.row(OURS).median, "ms", at_most=80),
        Target(f"{CORE}, median", report.row(CORE).median, "ms", at_most=60),
        Target("core install, uv and bytecode included", size, "MB", at_most=120),
        Target("packages in it", len(packages), "", at_most=40),
    ]
    report.check("uv is one of them", "uv" in packages, ", ".join(packages))
    return report


def _install(folder: Path) -> Path:
    """Install the wheel of this checkout and its dependencies into a new environment."""
    uv = tool("uv")
    environment = {**os.environ, "UV_FIND_LINKS": os.environ.get("UV_FIND_LINKS", os.environ.get("PIP_FIND_LINKS", ""))}
    python = folder / "venv" / "bin" / "python"

    def call(*arguments: str) -> None:
        subprocess.run([uv, *arguments], env=environment, check=True, capture_output=True)

    call("build", "--wheel", "--out-dir", str(folder / "dist"), str(PROJECT))
    call("venv", "--python", sys.executable, str(folder / "venv"))
    wheel = next((folder / "dist").glob("footplate-*.whl"))
    call("pip", "install", "--link-mode=copy", "--compile-bytecode", "--python", str(python), str(wheel))
    return python


def _measure_install(venv: Path) -> tuple[float, list[str]]:
    """Return the megabytes on disk, as `du` counts them, and the names of the packages."""
    blocks = {(info.st_dev, info.st_ino): info.st_blocks for info in (p.lstat() for p in venv.rglob("*"))}
    listing = subprocess.run(
        [tool("uv"), "pip", "list", "--format=json", "--python", str(venv / "bin" / "python")],
        check=True,
        capture_output=True,
        text=True,
    )
    return sum(blocks.values()) * 512 / 1e6, sorted(package["name"] for package in json.loads(listing.stdout))


def _process(command: list[str]) -> float:
    begin = time.perf_counter()
    subprocess.run(command, check=True, cwd="/", stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return (time.perf_counter() - begin) * 1000


def _peer(code: str) -> Callable[[], float]:
    return lambda: _process([sys.executable, "-c", code])


def _imported_from(python: Path, folder: Path) -> tuple[bool, str]:
    code = "import footplate; print(footplate.__file__)"
    place = subprocess.run(
        [str(python), "-c", code], check=True, capture_output=True, text=True, cwd="/"
    ).stdout.strip()
    return place.startswith(str(folder)), place


def _command_works(folder: Path) -> tuple[bool, str]:
    done = subprocess.run(
        [str(folder / "venv" / "bin" / "footplate"), "--version"], capture_output=True, text=True, check=False
    )
    return done.returncode == 0, (done.stdout or done.stderr).strip()
