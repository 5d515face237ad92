"""`make torture`: hundreds of runs under random kills, full disks, floods, clock jumps and a lossy network.

    PYTHONPATH=$PWD/tests python scripts/torture [--runs 200] [--seed N] [--part near|far]

Two parts run at the same time. `near`: a server on demand and its agents on this machine, with a home on a small disk.
`far`: a team server and agents in other network namespaces, which lose 5 % of all packets. A seed fixes the kinds of
the runs and the mishaps, in their order. At the end every line, point and file of every run must exist exactly once,
the statuses must be right, and no process, mount, lock or working directory may be left. It needs root on Linux.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path

from arena import Arena
from checks import check, insist, leftovers

from azureml.core.compute import ComputeTarget
from footplate.testing.waiting import wait_until
from support.namespace_engine import register
from support.networks import PrivateNetwork, ServerInside

WORKERS = 6
FAR_SHARE = 0.15
DISK_MEGABYTES = 256
LOSS = ["-m", "statistic", "--mode", "random", "--probability", "0.05", "-j", "DROP"]
# Put on the path of servers: their wall clock is ahead by as many seconds as a file says.
JUMPING_CLOCK = """
import os, time
real, path = time.time, os.environ["FOOTPLATE_HOME"] + "/jump"
def jumping():
    try:
        with open(path) as file:
            return real() + float(file.read() or 0)
    except OSError:
        return real()
time.time = jumping
"""


@contextlib.contextmanager
def near(arena: Arena, _: threading.Event) -> Iterator[None]:
    """Put the home on a small disk."""
    disk = ["mount", "-t", "tmpfs", "-o", f"size={DISK_MEGABYTES}m,mode=0700", "torture", str(arena.home)]
    subprocess.run(disk, check=True)
    try:
        config = ComputeTarget.engine_configuration("local", max_nodes=4)
        insist(lambda: ComputeTarget.attach(arena.workspace(), "near", config))
        yield
    finally:
        subprocess.run(["umount", "--lazy", str(arena.home)], check=True)


@contextlib.contextmanager
def far(arena: Arena, over: threading.Event) -> Iterator[None]:
    """Start a server and nodes in a network that loses packets; restart the server whenever it was killed."""
    network = PrivateNetwork(nodes=2)
    register(arena.home)
    server = ServerInside(network, arena.home)

    def keep_up() -> None:
        while not over.is_set():
            subprocess.run(server.command, check=False, stderr=subprocess.DEVNULL)

    keeper = threading.Thread(target=keep_up)
    keeper.start()
    try:
        for node in network.nodes:
            for chain in ("INPUT", "OUTPUT"):
                subprocess.run([*network.enter(node), "iptables", "-A", chain, *LOSS], check=True)
        wait_until((arena.home / "server.json").exists)
        config = ComputeTarget.engine_configuration(
            "namespaces", max_nodes=2, namespaces=",".join(network.nodes), root=str(arena.folder / "nodes"),
            hide=str(arena.home),
        )  # fmt: skip
        insist(lambda: ComputeTarget.attach(arena.workspace(), "far", config))
        yield
    finally:
        over.set()
        keeper.join()
        network.close()


def run_part(part: str, runs: int, seed: int, folder: Path) -> int:
    """Torture one part; print its figures and return the number of problems."""
    began, arena, stopping = time.monotonic(), Arena(part, folder, runs, seed), threading.Event()
    with (near if part == "near" else far)(arena, stopping):
        workers = [threading.Thread(target=arena.work) for _ in range(WORKERS if part == "near" else 2)]
        tormentor = threading.Thread(target=arena.torment)
        for thread in (*workers, tormentor):
            thread.start()
        for thread in workers:
            thread.join()
        arena.over.set()
        tormentor.join()
        for job in arena.jobs:
            insist(lambda job=job: check(job, folder, arena.done))
        stopping.set()
        left = leftovers(folder, arena.server_pid)
    problems = [f"{job.number} ({job.kind}, {job.run.id if job.run else 'no run'}): {words}"
                for job in arena.jobs for words in job.problems]  # fmt: skip
    for words in (*problems, *left):
        print(f"{part}: {words}")
    figures = ", ".join(f"{name} {count}" for name, count in sorted(arena.done.items()))
    print(f"{part}: seed {seed}, {runs} runs in {time.monotonic() - began:.0f} s: {figures}; "
          f"{len(problems)} problems, {len(left)} leftovers", flush=True)  # fmt: skip
    return len(problems) + len(left)


def main() -> int:
    parser = argparse.ArgumentParser(prog="python scripts/torture")
    parser.add_argument("--runs", type=int, default=200)
    parser.add_argument("--seed", type=int, default=int(time.time()))
    parser.add_argument("--part", choices=["near", "far"])
    parser.add_argument("--client", type=int, help=argparse.SUPPRESS)
    parser.add_argument("--folder", type=Path, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.client is not None:
        Arena("near", given.folder, 0, 0).submit("plain", given.client)
        return 0
    if given.part is None:
        return both(given.runs, given.seed)
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    folder = Path(tempfile.mkdtemp(prefix="t", dir="/tmp"))  # short: a socket's path has at most 107 bytes
    (folder / "home").mkdir(mode=0o700)
    (folder / "clock").mkdir()
    (folder / "clock" / "sitecustomize.py").write_text(JUMPING_CLOCK)
    path = os.pathsep.join([str(folder / "clock"), os.environ["PYTHONPATH"]])
    os.environ.update(FOOTPLATE_HOME=str(folder / "home"), PYTHONPATH=path)
    problems = run_part(given.part, given.runs, given.seed, folder)
    if not problems:
        shutil.rmtree(folder, ignore_errors=True)
    return min(problems, 1)


def both(runs: int, seed: int) -> int:
    away = round(runs * FAR_SHARE)
    counts = {"near": runs - away, "far": away}
    parts = [
        subprocess.Popen([sys.executable, __file__, "--part", part, "--runs", str(count), "--seed", str(seed)])
        for part, count in counts.items()
    ]
    return max([part.wait() for part in parts])


if __name__ == "__main__":
    sys.exit(main())
