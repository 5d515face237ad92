"""Submitting an unchanged folder of ten thousand files again."""

from __future__ import annotations

import shutil
import subprocess
import time
import zipfile
from pathlib import Path

from bench.harness import Options, Report, Row, Target, interleave, seconds
from bench.homes import footplate_home
from bench.machine import temporary_folder
from footplate import Experiment, Run, ScriptRunConfig
from footplate.sdk.runs import snapshots

OURS = "footplate, scan and snapshot"
SUBMIT = "footplate, experiment.submit returns"
GIT = "git status"
COPY = "cp -r"

CAVEATS = """
Files of 1 to 4 kB in 100 folders, with a .gitignore of ten patterns; all of it is in the page cache, for everyone.

git has a fresh index (git status ran before), we have a cache of what each file hashed to.

Scan and snapshot is what the SDK does with the folder on each submit: the scan, the manifest, and git's own account of
it (commit, branch, what is not committed), which runs git status once more beside the scan. The second row is the whole
call, with the request to the server; the working copy is made on the node when it has returned.
"""
IGNORED = "__pycache__/\n*.pyc\n*.tmp\n.venv/\n/data/raw/**\n!keep.tmp\nbuild/\n*.log\n.cache/\nnotes/*.bak\n"


def run(options: Options) -> Report:
    report = Report("resubmit", "an unchanged folder of 10,000 files, again", "ms", OURS, CAVEATS)
    with temporary_folder() as folder, footplate_home(folder) as workspace:
        source = _make_folder(folder / "source", folder / "repository")
        experiment = Experiment(workspace, "resubmit")
        submitted: list[Run] = []

        def submit() -> float:
            begin = time.perf_counter()
            submitted.append(experiment.submit(ScriptRunConfig(str(source), "train.py")))
            passed = time.perf_counter() - begin
            submitted[-1].wait_for_completion()
            return passed * 1000

        cold = submit()
        contestants = {
            OURS: lambda: 1000 * seconds(lambda: snapshots.take(workspace.session, str(source))),
            SUBMIT: submit,
            GIT: lambda: 1000 * seconds(lambda: _git(source, "status", "--porcelain")),
            COPY: lambda: _copy(source, folder / "copy"),
        }
        for measure in contestants.values():
            measure()
        samples = interleave(options.pick(20, 4), contestants, {SUBMIT: 4, COPY: 4})
        ids = {one.get_snapshot_id() for one in submitted}
        report.check("the same folder, the same snapshot", len(ids) == 1, ", ".join(ids))
        _change_a_file(source)
        submit()
        report.check("one changed file, another snapshot", submitted[-1].get_snapshot_id() not in ids)
        report.check("all runs completed", {one.get_status() for one in submitted} == {"Completed"}, len(submitted))
        with zipfile.ZipFile(submitted[0].restore_snapshot(path=str(folder / "restored"))) as archive:
            names = {name for name in archive.namelist() if not name.endswith("/")}
        report.check("the snapshot holds every file but the ignored ones", names == _wanted(source), f"{len(names):,}")
    report.rows = [Row(who, values) for who, values in samples.items()]
    report.rows.append(Row("footplate, the first submit of the folder", (cold,)))
    report.targets = [
        Target("beside git status, median", report.row(OURS).median / report.row(GIT).median, "×", at_most=2)
    ]
    return report


def _make_folder(source: Path, repository: Path) -> Path:
    """Create 10,000 files, the script, .gitignore and ten ignored files. git's own files are elsewhere."""
    for number in range(100):
        part = source / f"part_{number:02}"
        part.mkdir(parents=True)
        for file in range(100):
            text = f"file {file} of part {number}\n" * (40 + (file * number) % 120)
            (part / f"file_{file:02}.txt").write_text(text)
    (source / "train.py").write_text("print('trained')\n")
    (source / ".gitignore").write_text(IGNORED)
    (source / "build").mkdir()
    for file in range(10):
        (source / "build" / f"ignored_{file}").write_text("left out")
    _git(source, "init", "-q", f"--separate-git-dir={repository}")
    _git(source, "config", "gc.auto", "0")  # otherwise git would clean up in the background during the measurement
    _git(source, "config", "maintenance.auto", "false")
    _git(source, "add", ".")
    _git(source, "-c", "user.name=bench", "-c", "user.email=bench@localhost", "commit", "-q", "-m", "all")
    return source


def _git(source: Path, *arguments: str) -> str:
    return subprocess.run(["git", *arguments], cwd=source, check=True, capture_output=True, text=True).stdout


def _copy(source: Path, target: Path) -> float:
    passed = seconds(lambda: subprocess.run(["cp", "-r", str(source), str(target)], check=True))
    shutil.rmtree(target)
    return passed * 1000


def _change_a_file(source: Path) -> None:
    """Replace a file by one of the same size, so that only its times or bytes differ."""
    file = source / "part_50" / "file_50.txt"
    file.write_text(file.read_text().replace("file", "FILE"))


def _wanted(source: Path) -> set[str]:
    return set(_git(source, "ls-files").splitlines())
