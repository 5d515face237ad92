"""A Slurm cluster for tests: munge, slurmctld and a slurmd for each node of a private network.

slurmctld listens in the namespace of the server. Each slurmd has the network namespace, the host name and the mounts of
a machine of its own: empty file systems cover the directories `hide`, and `scratch` is a disk that no other node sees.
Several clusters live side by side, because each has its own network, its own directory and its own munge. A cluster
with accounting also has its own slurmdbd, and behind it a MariaDB server on a Unix socket.
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

from footplate.testing.waiting import wait_until
from support.networks import SERVER, PrivateNetwork

_PROGRAMS = ("munged", "slurmctld", "slurmd", "nsenter", "setpriv", "unshare")
_ACCOUNTING_PROGRAMS = ("slurmdbd", "mariadbd")
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

_NO_ACCOUNTING = "AccountingStorageType=accounting_storage/none\n"
_ACCOUNTING = """
AccountingStorageType=accounting_storage/slurmdbd
AccountingStorageHost={server}
AccountingStoragePass={base}/munge.sock
"""
_SLURMDBD_SETTINGS = """
AuthType=auth/munge
AuthInfo=socket={base}/munge.sock
DbdHost=controller
DbdAddr={server}
SlurmUser=root
PidFile={base}/slurmdbd.pid
LogFile={base}/slurmdbd.log
StorageType=accounting_storage/mysql
StorageUser=root
"""

_CGROUPS = Path("/sys/fs/cgroup")
_MEMORY_LIMITS = "TaskPlugin=task/cgroup\n"

# Tests need no durability, and everybody who can open the socket is its owner.
_MARIADB_OPTIONS = (
    "--no-defaults", "--user=root", "--innodb-flush-log-at-trx-commit=0", "--skip-innodb-doublewrite",
    "--innodb-log-file-size=4M", "--innodb-buffer-pool-size=16M",
)  # fmt: skip
_MARIADB_TABLES = Path("/usr/share/mysql/mysql_system_tables.sql")


def why_no_slurm(accounting: bool = False, limits_memory: bool = False) -> str | None:
    """Return the reason why this machine cannot run a cluster; None if it can."""
    wanted = (*_PROGRAMS, *_ACCOUNTING_PROGRAMS) if accounting else _PROGRAMS
    missing = [name for name in wanted if shutil.which(name, path=_PATH) is None]
    if limits_memory and not (_CGROUPS / "memory").is_dir():
        return "this machine has no control groups of version 1 for memory"
    return f"{', '.join(missing)} is not installed" if missing else None


class SlurmCluster:
    """A cluster whose nodes are n0, n1, … on `network`. The constructor starts it; `close` ends and removes it.

    `accounting` adds a database, so that sacct answers. With `limits_memory`, jobs cannot use more memory than they
    have requested, and the names of the nodes begin with the name of the network.

    `scratch` is a directory of which each node has its own; the server sees it empty. `commands` is a directory of
    Slurm's commands for a process outside the network, to be put first in PATH.
    """

    def __init__(
        self,
        network: PrivateNetwork,
        hide: Sequence[Path] = (),
        settings: str = "",
        accounting: bool = False,
        limits_memory: bool = False,
    ) -> None:
        # Not below TMPDIR: the path of a Unix socket is short, and other users must be able to enter.
        self.folder = Path(tempfile.mkdtemp(prefix="fp-slurm-", dir="/tmp"))
        self.network, self._hide = network, [str(path) for path in hide]
        # Slurm names the control groups of a node after it, and those are the same for all clusters on the machine.
        prefix = f"{network.server}-n" if limits_memory else "n"
        self.nodes = [f"{prefix}{index}" for index in range(len(network.nodes))]
        self.scratch = self.folder / "scratch"
        self.commands = self.folder / "commands"
        self.variables = {"SLURM_CONF": str(self.folder / "slurm.conf")}
        self._processes: dict[str, subprocess.Popen[Any]] = {}
        try:
            self._configure(settings + _MEMORY_LIMITS * limits_memory, accounting)
            self._start_munge()
            if accounting:
                self._start_accounting()
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
        self.kill_slurmd(node)
        _kill_all(self._namespace(node))

    def kill_slurmd(self, node: str) -> None:
        """Kill only the daemon of this node. What runs there goes on, and slurmctld soon takes the node for lost."""
        self._processes[node].kill()
        self._processes.pop(node).wait()

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

    def stop_accounting(self) -> None:
        self._processes["slurmdbd"].terminate()
        self._processes.pop("slurmdbd").wait()

    def _answers(self) -> bool:
        assert self._processes["slurmctld"].poll() is None, (self.folder / "slurmctld.out").read_text()
        return "UP" in (self._try("scontrol", "ping") or "")

    def _try(self, *command: str) -> str | None:
        try:
            return self.call(*command)
        except subprocess.CalledProcessError:
            return None

    # ── The end ───────────────────────────────────────────────────────────────────────────────────────────────────────

    def close(self) -> None:
        """End every process of the cluster, also those of jobs that still run, and remove its directory."""
        for process in self._processes.values():
            process.kill()
            process.wait()
        for node in self.nodes:
            _kill_all(self._namespace(node))
            for group in _CGROUPS.glob(f"*/slurm_{node}"):
                _remove_cgroup(group)
        shutil.rmtree(self.folder)

    # ── Starting ──────────────────────────────────────────────────────────────────────────────────────────────────────

    def _configure(self, settings: str, accounting: bool) -> None:
        self.folder.chmod(0o755)
        for name in ("state", "scratch", *(f"spool.{node}" for node in self.nodes)):
            (self.folder / name).mkdir()
        for index, node in enumerate(self.nodes):
            self.disk(node).mkdir()
            self.disk(node).chmod(0o1777)
            address = f"10.77.0.{11 + index}"
            settings += f"\nNodeName={node} NodeAddr={address} CPUs=2 RealMemory=4000 Gres=gpu:2"
        common = _SETTINGS + (_ACCOUNTING if accounting else _NO_ACCOUNTING)
        text = common.format(base=self.folder, server=SERVER) + settings + "\n"
        (self.folder / "slurm.conf").write_text(text)
        for number in range(2):  # a character device stands in for a GPU
            os.mknod(self.folder / f"gpu{number}", 0o20666, os.makedev(1, 3))
        (self.folder / "gres.conf").write_text(f"Name=gpu File={self.folder}/gpu[0-1]\n")
        (self.folder / "cgroup.conf").write_text("CgroupPlugin=cgroup/v1\nCgroupAutomount=no\nConstrainRAMSpace=yes\n")
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

    def _start_accounting(self) -> None:
        self._start_mariadb()
        settings = self.folder / "slurmdbd.conf"
        settings.write_text(_SLURMDBD_SETTINGS.format(base=self.folder, server=SERVER))
        settings.chmod(0o600)  # slurmdbd insists on it
        argv = [*self.network.enter(self.network.server), "unshare", "--uts"]
        steps = f"hostname controller\nMYSQL_UNIX_PORT={self.folder}/mariadb.sock exec slurmdbd -D"
        self._spawn("slurmdbd", [*argv, "sh", "-ec", steps])
        wait_until(lambda: self._try("sacctmgr", "--immediate", "add", "cluster", "test") is not None)

    def _start_mariadb(self) -> None:
        data, socket = self.folder / "mariadb", self.folder / "mariadb.sock"
        data.mkdir(mode=0o700)
        options = [*_MARIADB_OPTIONS, f"--datadir={data}"]
        tables = f"CREATE DATABASE mysql;\nUSE mysql;\n{_MARIADB_TABLES.read_text()}"
        subprocess.run(
            ["mariadbd", *options, "--bootstrap"],
            check=True, capture_output=True, text=True, input=tables, env={"PATH": _PATH},
        )  # fmt: skip
        self._spawn(
            "mariadbd", ["mariadbd", *options, "--skip-networking", "--skip-grant-tables", f"--socket={socket}"]
        )
        wait_until(socket.exists)

    def _spawn(self, name: str, argv: list[str]) -> None:
        variables = {"PATH": _PATH, "HOME": "/", **self.variables}
        with (self.folder / f"{name}.out").open("ab") as log:
            self._processes[name] = subprocess.Popen(
                argv, stdin=subprocess.DEVNULL, stdout=log, stderr=log, cwd="/", env=variables
            )

    def _namespace(self, node: str) -> str:
        return self.network.nodes[self.nodes.index(node)]


def _remove_cgroup(group: Path) -> None:
    for each in group.iterdir():
        if each.is_dir():
            _remove_cgroup(each)
    group.rmdir()


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
