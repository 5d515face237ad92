"""A Slurm cluster for tests: munge, slurmctld and a slurmd for each node of a private network.

slurmctld listens in the namespace of the server. Each slurmd has the network namespace, the host name and the mounts of
a machine of its own: empty file systems cover the directories `hide`, and `scratch` is a disk that no other node sees.
Several clusters live side by side, because each has its own network, its own directory and its own munge.
"""

from __future__ import annotations

import os
import pwd
import shlex
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from footplate.testing.networks import SERVER, PrivateNetwork
from footplate.testing.waiting import wait_until

_PROGRAMS = ("munged", "slurmctld", "slurmd", "nsenter", "setpriv", "unshare")
_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

# Seconds are short, so that the tests of failures are. KillWait is the time between SIGTERM and SIGKILL.
_SETTINGS = """
ClusterName=test
SlurmctldHost=controller({server})
SlurmctldPort=6817
SlurmdPort=6818
AuthType=auth/munge
AuthInfo=socket={base}/munge.sock
CredType=cred/munge
SlurmUser=root
SlurmdUser=root
StateSaveLocation={base}/state
SlurmdSpoolDir={base}/spool.%n
SlurmctldPidFile={base}/slurmctld.pid
SlurmdPidFile={base}/slurmd.%n.pid
SlurmctldLogFile={base}/slurmctld.log
SlurmdLogFile={base}/slurmd.%n.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
MpiDefault=none
AccountingStorageType=accounting_storage/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core_Memory
SchedulerType=sched/backfill
SchedulerParameters=sched_interval=1,bf_interval=1,sched_min_interval=0,batch_sched_delay=0
PreemptType=preempt/partition_prio
PreemptMode=REQUEUE
ReturnToService=2
SlurmdTimeout=6
KillWait=2
MinJobAge=3600
MessageTimeout=10
GresTypes=gpu
SlurmdParameters=config_overrides
PartitionName=cpu Nodes=ALL Default=YES MaxTime=INFINITE PriorityTier=1
PartitionName=urgent Nodes=ALL MaxTime=INFINITE PriorityTier=10
PartitionName=brief Nodes=ALL MaxTime=1 PriorityTier=1
"""


def why_no_slurm() -> str | None:
    """Return the reason why this machine cannot run a cluster; None if it can."""
    missing = [name for name in _PROGRAMS if shutil.which(name, path=_PATH) is None]
    return f"{', '.join(missing)} is not installed" if missing else None


class SlurmCluster:
    """A cluster whose nodes are n0, n1, … on `network`. The constructor starts it; `close` ends and removes it.

    `scratch` is a directory of which each node has its own; the server sees it empty. `commands` is a directory of
    Slurm's commands for a process outside the network, to be put first in PATH.
    """

    def __init__(self, network: PrivateNetwork, hide: Sequence[Path] = (), settings: str = "") -> None:
        # Not below TMPDIR: the path of a Unix socket is short, and other users must be able to enter.
        self.folder = Path(tempfile.mkdtemp(prefix="fp-slurm-", dir="/tmp"))
        self.network, self._hide = network, [str(path) for path in hide]
        self.nodes = [f"n{index}" for index in range(len(network.nodes))]
        self.scratch = self.folder / "scratch"
        self.commands = self.folder / "commands"
        self.variables = {"SLURM_CONF": str(self.folder / "slurm.conf")}
        self._processes: dict[str, subprocess.Popen[Any]] = {}
        try:
            self._configure(settings)
            self._start_munge()
            self.start_controller()
            for node in self.nodes:
                self.start_node(node)
            self.wait_for_nodes(*self.nodes)
        except BaseException:
            self.close()
            raise

    def __enter__(self) -> SlurmCluster:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # ── Use ───────────────────────────────────────────────────────────────────────────────────────────────────────────

    def call(self, *command: str) -> str:
        """Run a client of Slurm beside slurmctld and return its output."""
        done = subprocess.run(
            [*self.network.enter(self.network.server), *command],
            check=True, capture_output=True, text=True, env={"PATH": _PATH, **self.variables},
        )  # fmt: skip
        return done.stdout.strip()

    def wait_for_nodes(self, *nodes: str, state: str = "idle") -> None:
        def states() -> set[str]:
            return set(self.call("sinfo", "-h", "-N", "-n", ",".join(nodes), "-o", "%T").split())

        wait_until(lambda: states() == {state})

    def disk(self, node: str) -> Path:
        """Return the directory that this node sees as `scratch`."""
        return self.folder / f"disk.{node}"

    # ── Failures ──────────────────────────────────────────────────────────────────────────────────────────────────────

    def kill_node(self, node: str) -> None:
        """Kill slurmd and everything that runs on this node, as a power failure would."""
        self._processes[node].kill()
        self._processes.pop(node).wait()
        _kill_all(self._namespace(node))

    def start_node(self, node: str) -> None:
        mounts = [f"mount -t tmpfs -o size=4k,mode=755 hidden {shlex.quote(path)}" for path in self._hide]
        mounts.append(f"mount --bind {self.disk(node)} {self.scratch}")
        steps = [f"hostname {node}", *mounts, f"exec slurmd -D -N {node}"]
        argv = [*self.network.enter(self._namespace(node)), "unshare", "--mount", "--uts"]
        self._spawn(node, [*argv, "sh", "-ec", "\n".join(steps)])

    def stop_controller(self) -> None:
        """Stop slurmctld as an administrator does: a killed one may not have stored its newest jobs."""
        self._processes["slurmctld"].terminate()
        self._processes.pop("slurmctld").wait()

    def start_controller(self) -> None:
        argv = [*self.network.enter(self.network.server), "unshare", "--uts"]
        self._spawn("slurmctld", [*argv, "sh", "-ec", "hostname controller\nexec slurmctld -D -i"])
        wait_until(self._answers)

    def _answers(self) -> bool:
        assert self._processes["slurmctld"].poll() is None, (self.folder / "slurmctld.out").read_text()
        try:
            return "UP" in self.call("scontrol", "ping")
        except subprocess.CalledProcessError:
            return False

    # ── The end ───────────────────────────────────────────────────────────────────────────────────────────────────────

    def close(self) -> None:
        """End every process of the cluster, also those of jobs that still run, and remove its directory."""
        for process in self._processes.values():
            process.kill()
            process.wait()
        for node in self.nodes:
            _kill_all(self._namespace(node))
        shutil.rmtree(self.folder)

    # ── Starting ──────────────────────────────────────────────────────────────────────────────────────────────────────

    def _configure(self, settings: str) -> None:
        self.folder.chmod(0o755)
        for name in ("state", "scratch", *(f"spool.{node}" for node in self.nodes)):
            (self.folder / name).mkdir()
        for index, node in enumerate(self.nodes):
            self.disk(node).mkdir()
            self.disk(node).chmod(0o1777)
            address = f"10.77.0.{11 + index}"
            settings += f"\nNodeName={node} NodeAddr={address} CPUs=2 RealMemory=4000 Gres=gpu:2"
        text = _SETTINGS.format(base=self.folder, server=SERVER) + settings + "\n"
        (self.folder / "slurm.conf").write_text(text)
        for number in range(2):  # a character device stands in for a GPU
            os.mknod(self.folder / f"gpu{number}", 0o20666, os.makedev(1, 3))
        (self.folder / "gres.conf").write_text(f"Name=gpu File={self.folder}/gpu[0-1]\n")

        self.write_commands(self.commands)

    def write_commands(self, folder: Path, user: str = "root") -> None:
        """Write Slurm's commands for a process outside the network, which call Slurm as this user."""
        known = pwd.getpwnam(user)
        become = f"setpriv --reuid={known.pw_uid} --regid={known.pw_gid} --clear-groups"
        enter = f"PATH={_PATH} SLURM_CONF={self.variables['SLURM_CONF']} exec nsenter --net=/run/netns/"
        folder.mkdir()
        for name in ("sbatch", "squeue", "scancel", "sacct", "sinfo"):
            script = folder / name
            script.write_text(f'#!/bin/sh\n{enter}{self.network.server} {become} {name} "$@"\n')
            script.chmod(0o755)

    def _start_munge(self) -> None:
        key, socket = self.folder / "munge.key", self.folder / "munge.sock"
        key.write_bytes(os.urandom(1024))
        key.chmod(0o400)
        files = [f"--{name}-file={self.folder}/munge.{name}" for name in ("key", "pid", "log", "seed")]
        self._spawn("munged", ["munged", "--foreground", "--force", f"--socket={socket}", *files])
        wait_until(socket.exists)

    def _spawn(self, name: str, argv: list[str]) -> None:
        variables = {"PATH": _PATH, "HOME": "/", **self.variables}
        with (self.folder / f"{name}.out").open("ab") as log:
            self._processes[name] = subprocess.Popen(
                argv, stdin=subprocess.DEVNULL, stdout=log, stderr=log, cwd="/", env=variables
            )

    def _namespace(self, node: str) -> str:
        return self.network.nodes[self.nodes.index(node)]


def _kill_all(namespace: str) -> None:
    """Kill every process in a network namespace. Each of them descends from the slurmd that was started there."""

    def pids() -> list[int]:
        done = subprocess.run(["ip", "netns", "pids", namespace], check=True, capture_output=True, text=True)
        return [int(pid) for pid in done.stdout.split()]

    def kill_those_left() -> bool:
        left = pids()
        for pid in left:
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
        return not left

    wait_until(kill_those_left)
