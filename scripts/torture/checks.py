"""Whatever must hold after the torture: contents of runs, statuses, and nothing left behind."""

from __future__ import annotations

import contextlib
import os
import signal
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

from jobs import STEPS, Job

from footplate import Run
from footplate.disk import is_locked
from footplate.sdk.exceptions import AzureMLException

SETTLE_SECONDS = 600.0


def check(job: Job, folder: Path, done: Counter[str]) -> None:
    """Note everything that is wrong with a run."""
    run = job.run
    if run is None:
        return
    status, error = run.get_status(), str(run.get_details().get("error", ""))
    done[f"status {status}"] += 1
    allowed = {"fails": {"Failed"}, "canceled": {"Canceled", "Completed"}}.get(job.kind, {"Completed"})
    if "rank" in job.harmed or (job.kind == "gang" and "agent" in job.harmed):
        allowed = {"Failed", "Completed"}
    if done["disk"] and any(word in error for word in ("space", "full")):
        allowed = {"Failed"}
    if status not in allowed:
        job.problems.append(f"{status} instead of {sorted(allowed)}: {error}")
    ranks = ["0", "1"] if job.kind == "gang" else ["0"]
    whole = status == "Completed" or (job.kind == "fails" and "exit code 3" in error and "disk" not in job.harmed)
    _check_contents(job, run, ranks, whole, folder / "downloaded")


def _check_contents(job: Job, run: Run, ranks: list[str], whole: bool, copy: Path) -> None:
    steps = [float(i) for i in range(STEPS)]
    metrics, names = run.get_metrics(), run.get_file_names()
    logs = [name for name in names if "std_log" in name]
    for name in logs:
        run.download_file(name, str(copy))
        lines = copy.read_text().splitlines()
        _compare(job, name, lines, [f"line {i}" for i in range(STEPS)], whole)
    for rank in ranks:
        values = metrics.get(f"value_{rank}", [])
        _compare(job, f"value_{rank}", values if isinstance(values, list) else [values], steps, whole)
    files = sorted(name for name in names if name.startswith("outputs/"))
    wanted = sorted(f"outputs/{rank}_{i}.txt" for rank in ranks for i in range(STEPS))
    if (whole and files != wanted) or not set(files) <= set(wanted) or (whole and len(logs) != len(ranks)):
        job.problems.append(f"{len(files)} of {len(wanted)} files and {len(logs)} logs")


def _compare(job: Job, name: str, found: list[Any], wanted: list[Any], whole: bool) -> None:
    if found != (wanted if whole else wanted[: len(found)]):
        job.problems.append(f"{name} has {len(found)} entries, and they are not the first ones of {len(wanted)}")


def leftovers(folder: Path, server: int) -> list[str]:
    """Stop the server; return everything that is left, although all runs have ended."""
    deadline = time.monotonic() + SETTLE_SECONDS
    while list((folder / "home" / "work").glob("*")) and time.monotonic() < deadline:
        time.sleep(0.5)
    with contextlib.suppress(ProcessLookupError):
        os.kill(server, signal.SIGTERM)
    while (found := _leftovers(folder)) and time.monotonic() < deadline:
        time.sleep(0.5)
    return found


def _leftovers(folder: Path) -> list[str]:
    found = [f"process {pid}: {line}" for pid, line in processes_of(folder).items()]
    found += [f"mount {line.split()[1]}" for line in Path("/proc/mounts").read_text().splitlines()
              if line.split()[1].startswith(f"{folder}/home/")]  # fmt: skip
    found += [f"lock {path}" for path in folder.rglob("*.lock") if is_locked(path)]
    return found + [f"folder {path}" for path in (folder / "home" / "work").glob("*")]


# ── Small helpers ─────────────────────────────────────────────────────────────────────────────────────────────────────


def insist(call: Callable[[], Any]) -> Any:
    """Repeat a call until the server is there and has room."""
    deadline = time.monotonic() + SETTLE_SECONDS
    while True:
        try:
            return call()
        except (AzureMLException, OSError):
            if time.monotonic() > deadline:
                raise
            time.sleep(0.3)


def pids() -> list[int]:
    return [int(name) for name in os.listdir("/proc") if name.isdigit()]


def environment_of(pid: int) -> list[bytes]:
    try:
        return Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
    except OSError:
        return []


def parent_of(pid: int) -> int:
    return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])


def processes_of(folder: Path) -> dict[int, str]:
    """Return {pid: command line} of the processes whose home is in this folder, without this one."""
    starts = (f"FOOTPLATE_HOME={folder}".encode(), f"FOOTPLATE_NODE_HOME={folder}".encode())
    found: dict[int, str] = {}
    for pid in pids():
        if pid != os.getpid() and any(value.startswith(starts) for value in environment_of(pid)):
            with contextlib.suppress(OSError):
                line = Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
                if line:  # a zombie has none
                    found[pid] = line[:200]
    return found
