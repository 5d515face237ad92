"""A home with its server, the runs in it, and the mishaps that befall them."""

from __future__ import annotations

import contextlib
import json
import os
import random
import signal
import socket
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

from checks import SETTLE_SECONDS, environment_of, insist, parent_of, pids, processes_of
from jobs import KINDS, SCRIPT, Job

from azureml.core.runconfig import PyTorchConfiguration
from footplate import Environment, Experiment, Run, ScriptRunConfig, Workspace
from footplate.testing.waiting import wait_until

FLOOD = 1500
MISHAPS = {
    "near": ["server", "agent", "nursery", "rank", "server and agent", "disk", "flood", "clock"],
    "far": ["server", "agent", "rank", "flood", "clock"],
}


class Arena:
    """A home with its server, the runs in it, and the mishaps that befall them."""

    def __init__(self, part: str, folder: Path, count: int, seed: int) -> None:
        self.part, self.folder, self.home = part, folder, folder / "home"
        self.chance = random.Random(f"{seed}{part}")
        self.jobs = [Job(number, self._kind(part)) for number in range(count)]
        self.done: Counter[str] = Counter()
        self._next = iter(self.jobs)
        self._guard = threading.Lock()
        self._workspace: Workspace | None = None
        self.over = threading.Event()
        self.environment = Environment("here")
        self.environment.python.user_managed_dependencies = True
        self.environment.python.interpreter_path = sys.executable
        (folder / "source").mkdir(exist_ok=True)
        (folder / "source" / "train.py").write_text(SCRIPT)

    def _kind(self, part: str) -> str:
        kind = self.chance.choice(KINDS)
        return "plain" if part == "far" and kind == "client_killed" else kind

    # ── The runs ──────────────────────────────────────────────────────────────────────────────────────────────────────

    def work(self) -> None:
        while True:
            with self._guard:
                job = next(self._next, None)
            if job is None:
                return
            try:
                self.perform(job)
            except Exception as error:
                job.problems.append(f"{type(error).__name__}: {error}")

    def perform(self, job: Job) -> None:
        chance = random.Random(f"{job.number}{self.part}")
        if job.kind == "client_killed":
            self.kill_client(job, chance.uniform(0.2, 3.0))
        else:
            job.run = insist(lambda: self.submit(job.kind, job.number))
        if job.run is None:
            return
        if job.kind == "canceled":
            time.sleep(chance.uniform(0.0, 2.0))
            insist(job.run.cancel)
        run = job.run
        wait_until(lambda: insist(run.get_status) in ("Completed", "Failed", "Canceled"), SETTLE_SECONDS, 0.2)

    def submit(self, kind: str, number: int) -> Run:
        known = self.find(number)
        if known is not None:
            return known
        target = "far" if self.part == "far" else "near" if kind == "gang" else "local"
        gang = PyTorchConfiguration("Gloo", process_count=2, node_count=2) if kind == "gang" else None
        config = ScriptRunConfig(
            str(self.folder / "source"), "train.py", ["fails"] if kind == "fails" else [], compute_target=target,
            environment=self.environment, distributed_job_config=gang, max_run_duration_seconds=1800,
        )  # fmt: skip
        return Experiment(self.workspace(), "torture").submit(config, tags={"number": str(number)})

    def find(self, number: int) -> Run | None:
        found = list(Experiment(self.workspace(), "torture").get_runs(tags={"number": str(number)}))
        assert len(found) < 2, f"number {number} was submitted {len(found)} times"
        return found[0] if found else None

    def kill_client(self, job: Job, after: float) -> None:
        argv = [sys.executable, str(Path(__file__).parent), "--client", str(job.number), "--folder", str(self.folder)]
        client = subprocess.Popen(argv, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        with contextlib.suppress(subprocess.TimeoutExpired):
            client.wait(after)
        client.kill()
        client.wait()
        self.done["client"] += 1
        job.run = insist(lambda: self.find(job.number))

    def workspace(self) -> Workspace:
        with self._guard:
            if self._workspace is None:
                self._workspace = Workspace.create("torture", subscription_id="s", resource_group="g", exist_ok=True)
            return self._workspace

    # ── The mishaps ───────────────────────────────────────────────────────────────────────────────────────────────────

    def torment(self) -> None:
        acts: dict[str, Callable[[], bool]] = {
            "server": self.kill_server, "agent": self.kill_agent, "nursery": self.kill_nursery, "rank": self.kill_rank,
            "server and agent": lambda: self.kill_server() and self.kill_agent(), "disk": self.fill_disk,
            "flood": self.flood, "clock": self.jump,
        }  # fmt: skip
        slower = 1 if self.part == "near" else 3  # each restart of a connection takes longer there
        while not self.over.wait(slower * self.chance.uniform(0.2, 1.5)):
            mishap = self.chance.choice(MISHAPS[self.part])
            with contextlib.suppress(OSError, ValueError, KeyError):  # the victim was gone already
                self.done[mishap] += acts[mishap]()

    def active(self) -> list[Job]:
        return [job for job in self.jobs if job.run is not None and self.folders(job)]

    def folders(self, job: Job) -> list[Path]:
        """Return the directories of the job's agents."""
        run = job.run.id if job.run is not None else "none"
        found = self.folder.glob(f"{'nodes/*' if self.part == 'far' else 'home'}/work/{run}/node_*/agent.lock")
        return [path.parent for path in found]

    @property
    def server_pid(self) -> int:
        return int(json.loads((self.home / "server.json").read_text())["pid"])

    def kill_server(self) -> bool:
        os.kill(self.server_pid, signal.SIGKILL)
        return True

    def kill_agent(self) -> bool:
        candidates = [job for job in self.active() if job.agent_kills < 2]
        if not candidates:
            return False
        job = self.chance.choice(candidates)
        job.agent_kills += 1
        if job.kind == "gang":
            job.harmed.add("agent")  # a gang that loses a node fails
        lock = self.chance.choice(self.folders(job)) / "agent.lock"
        os.kill(int(json.loads(lock.read_text())["pid"]), signal.SIGKILL)
        return True

    def kill_nursery(self) -> bool:
        forked = [pid for pid, line in processes_of(self.home).items() if "--nursery" in line]
        nurseries = [pid for pid in forked if parent_of(pid) == self.server_pid]  # the others are agents
        for pid in nurseries:
            os.kill(pid, signal.SIGKILL)
        return bool(nurseries)

    def kill_rank(self) -> bool:
        for job in self.active():
            if job.kind == "rank_killed" and "rank" not in job.harmed and job.run is not None:
                marks = {f"FOOTPLATE_RUN_ID={job.run.id}".encode(), b"FOOTPLATE_RANK=0"}
                ranks = [pid for pid in pids() if marks <= set(environment_of(pid))]
                if ranks:
                    job.harmed.add("rank")
                    os.kill(ranks[0], signal.SIGKILL)
                    return True
        return False

    def fill_disk(self) -> bool:
        for job in self.active():
            job.harmed.add("disk")
        ballast = self.home / "ballast"
        with contextlib.suppress(OSError), open(ballast, "wb", buffering=0) as file:
            while True:
                file.write(bytes(1 << 20))
        self.over.wait(self.chance.uniform(0.2, 2.0))
        ballast.unlink()
        return True

    def flood(self) -> bool:
        path = json.loads((self.home / "server.json").read_text())["socket"]
        with contextlib.ExitStack() as held:
            for _ in range(FLOOD):
                connection = held.enter_context(socket.socket(socket.AF_UNIX, socket.SOCK_STREAM))
                connection.settimeout(1)
                connection.connect(path)
                connection.sendall(b"GET /api/v1/server HTTP/1.1\r\nHo")
            self.over.wait(1.0)
        return True

    def jump(self) -> bool:
        (self.home / "jump").write_text(str(self.chance.choice([-3600, 0, 3600, 7200])))
        return True
