"""A real Ray cluster for tests: a head and workers as separate raylets, each in namespaces of its own.

The nodes do not see the directories that `hide` covers with an empty file system. They cannot do without the Python
environment of the tests, which holds the package `ray`; its editable installs point to directories that can be hidden.
Nothing listens outside the private network, and `close` ends every process of the cluster by its pid.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import urllib.request
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from footplate.errors import Unavailable
from footplate.testing.waiting import wait_until
from support.networks import Forwarder, PrivateNetwork

TOKEN = "a-token-for-the-ray-cluster-of-the-tests-000000"
JOBS_PORT = 8265
HEAD_OPTIONS = {"num-cpus": "0", "dashboard-host": "0.0.0.0"}
"""Options of `ray start` on the head, as the guide to Kubernetes has them."""

NVIDIA_SMI = """#!/bin/sh
for gpu in {gpus}; do
    case "$1" in
    *uuid*) echo "$gpu, GPU-fake-$gpu, Fake, 1024" ;;
    *) echo "$gpu, 0, 0, 1024" ;;
    esac
done
"""
_HEAD_ID = "f" * 51 + "00000"  # as Ray's own provider of fake nodes names it
_PROVIDER = """
import os, time
from ray.autoscaler._private.fake_multi_node.node_provider import FakeMultiNodeProvider

class GatedProvider(FakeMultiNodeProvider):
    def create_node_with_resources_and_labels(self, *arguments):
        while not os.path.exists({gate!r}):
            time.sleep(0.05)
        super().create_node_with_resources_and_labels(*arguments)
"""
_HEAD_PORT = 6379
_STORE_BYTES = 80_000_000  # the smallest object store that Ray accepts, nearly

# Ray notices a lost raylet within seconds, starts no idle workers, and reports nothing to anybody.
SETTINGS = {
    "RAY_health_check_initial_delay_ms": "1000",
    "RAY_health_check_period_ms": "500",
    "RAY_health_check_timeout_ms": "10000",
    "RAY_health_check_failure_threshold": "5",
    "RAY_enable_worker_prestart": "0",
    "RAY_prestart_worker_first_driver": "0",
    "RAY_USAGE_STATS_ENABLED": "0",
    "RAY_AUTH_MODE": "token",
    "RAY_AUTH_TOKEN": TOKEN,
}


class RayCluster:
    """The first namespace of `network.nodes` holds the head, each other one a worker. The constructor starts them all.

    `address` is the head's Jobs API inside the network; `outside` reaches the same from the process of the tests.
    `gpus` is how many GPUs each worker claims to have, to Ray and in the answers of its nvidia-smi.
    `autoscaler` is the generation (1 or 2) of Ray's autoscaler, which adds raylets beside the head once
    `new_nodes_may_join` exists.
    """

    def __init__(
        self,
        network: PrivateNetwork,
        cpus: int = 1,
        gpus: int = 0,
        resources: Mapping[str, float] | None = None,
        autoscaler: int | None = None,
    ) -> None:
        self.network, self._cpus, self._gpus, self._resources = network, cpus, gpus, dict(resources or {})
        self._autoscaler = autoscaler
        self.address = f"http://{network.address(0)}:{JOBS_PORT}"
        # Not below TMPDIR: the path of a Unix socket is short.
        self._folder = Path(tempfile.mkdtemp(prefix="fpr", dir="/tmp"))
        (self._folder / "ray").mkdir()
        self.new_nodes_may_join = self._folder / "gate"
        self._hidden: list[str] = []
        self._nodes: dict[int, subprocess.Popen[bytes]] = {}
        self._write_nvidia_smi()
        self._forwarder = Forwarder(network, network.server, network.address(0), JOBS_PORT)
        self.outside = self._forwarder.address
        try:
            self._start_all()
        except BaseException:
            self.close()
            raise

    def __enter__(self) -> RayCluster:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _start_all(self) -> None:
        for node in range(len(self.network.nodes)):
            self.start_node(node)
        self.wait_until_ready()

    def wait_until_ready(self) -> None:
        """Wait until every node that was started has joined and the head accepts jobs."""
        try:
            wait_until(self._is_ready, interval=0.2)
        except AssertionError:
            raise Unavailable(f"the Ray cluster did not start: {self.logs()}", "see its own messages") from None

    def _is_ready(self) -> bool:
        assert all(process.poll() is None for process in self._nodes.values()), "a node has ended"
        return len(self.alive_nodes()) == len(self._nodes) and self._has_job_agent()

    def hide(self, *directories: Path | str) -> None:
        """Cover directories, on all nodes, with an empty file system. Processes that already run do not see them."""
        for directory in map(str, directories):
            self._hidden.append(directory)
            for process in self._nodes.values():
                _enter_mounts(process.pid, "mount", "-t", "tmpfs", "-o", "size=4k,mode=755", "hidden", directory)

    def reveal(self, *directories: Path | str) -> None:
        """Undo `hide`."""
        for directory in map(str, directories):
            self._hidden.remove(directory)
            for process in self._nodes.values():
                _enter_mounts(process.pid, "umount", "--lazy", directory)

    # ── Nodes ─────────────────────────────────────────────────────────────────────────────────────────────────────────

    def start_node(self, node: int) -> None:
        """Start a node: 0 is the head, which runs no jobs' agents itself."""
        own = self._folder / f"ray{node}"  # nodes use the head's path; on each it is a directory of its own
        own.mkdir(exist_ok=True)
        covers = [f"mount -t tmpfs -o size=4k,mode=755 hidden '{each}'" for each in self._hidden]
        script = " && ".join([f"mount --bind {own} {self._folder / 'ray'}", *covers, 'exec "$@"'])
        inside = ["unshare", "--mount", "sh", "-c", script, "node", *self._command(node)]
        with (self._folder / f"node{node}.log").open("ab") as log:
            self._nodes[node] = subprocess.Popen(
                [*self.network.enter(self.network.nodes[node]), *inside],
                stdin=subprocess.DEVNULL, stdout=log, stderr=log, cwd="/", env=self._variables(node),
                start_new_session=True,
            )  # fmt: skip

    def kill_node(self, node: int) -> None:
        """End every process of a node at once, as a power failure would."""
        _kill(lambda: self._pids(node))
        self._nodes.pop(node).wait()

    def restart(self) -> None:
        """Start all nodes again: the head has forgotten everything, and its workers with it."""
        for node in list(self._nodes):
            self.kill_node(node)
        # With this note, Ray refuses to start while a head of another test, in another namespace, has our address.
        (self._folder / "ray0" / "ray_current_cluster").unlink(missing_ok=True)
        self._start_all()

    def kill_raylet(self, node: int) -> None:
        """Kill only the raylet of a node. Its workers notice that and end; processes that they started may not."""
        for pid in self._pids(node):
            if _command_line(pid).partition(b"\0")[0].endswith(b"/raylet"):
                os.kill(pid, signal.SIGKILL)

    def close(self) -> None:
        _kill(self._pids)
        for process in self._nodes.values():
            process.wait()
        self._forwarder.close()
        shutil.rmtree(self._folder, ignore_errors=True)

    def _command(self, node: int) -> list[str]:
        ray = str(Path(sys.executable).with_name("ray"))
        own = ["--block", "--disable-usage-stats", "--node-ip-address", self.network.address(node)]
        own += ["--object-store-memory", str(_STORE_BYTES), "--include-log-monitor", "false"]
        head = f"{self.network.address(0)}:{_HEAD_PORT}"
        if node == 0:
            own += ["--head", "--port", str(_HEAD_PORT), "--temp-dir", str(self._folder / "ray")]
            own += [f"--{name}={value}" for name, value in HEAD_OPTIONS.items()]
            own += [f"--autoscaling-config={self._write_autoscaler()}"] if self._autoscaler else []
            return [ray, "start", *own, "--dashboard-port", str(JOBS_PORT)]
        own += ["--num-cpus", str(self._cpus), "--num-gpus", str(self._gpus)]
        own += ["--resources", json.dumps(self._resources)]
        return [ray, "start", *own, "--address", head]

    def _variables(self, node: int) -> dict[str, str]:
        kept = {name: os.environ[name] for name in ("PATH", "LANG", "TMPDIR") if name in os.environ}
        own = f"{self._folder / 'bin'}{os.pathsep}{Path(sys.executable).parent}"
        path = f"{own}{os.pathsep}{kept.get('PATH', os.defpath)}"
        home = self._folder / f"home{node}"
        home.mkdir(exist_ok=True)
        return {**kept, **SETTINGS, "PATH": path, "HOME": str(home), **self._autoscaler_variables()}

    def _write_nvidia_smi(self) -> None:
        (self._folder / "bin").mkdir()
        if self._gpus:
            self.write_program("nvidia-smi", NVIDIA_SMI.format(gpus=" ".join(map(str, range(self._gpus)))))

    def write_program(self, name: str, text: str) -> None:
        """Install a program on all nodes, before any other of this name."""
        program = self._folder / "bin" / name
        program.write_text(text)
        program.chmod(0o755)

    def _write_autoscaler(self) -> Path:
        """Write the configuration of the autoscaler and the provider of its nodes. Return the first."""
        (self._folder / "gated_provider.py").write_text(_PROVIDER.format(gate=str(self.new_nodes_may_join)))
        provider = {"type": "external", "module": "gated_provider.GatedProvider", "use_node_id_as_ip": True,
                    "disable_node_updaters": True, "disable_launch_config_check": True,
                    "launch_multiple": True, "head_node_id": _HEAD_ID}  # fmt: skip
        resources = {"CPU": self._cpus, "object_store_memory": _STORE_BYTES, **self._resources}
        types = {
            "ray.head.default": {"resources": {"CPU": 0}, "node_config": {}, "max_workers": 0},
            "worker": {"resources": resources, "node_config": {}, "min_workers": 0, "max_workers": 4},
        }
        path = self._folder / "autoscaler.json"
        nothing = ("initialization_commands", "setup_commands", "head_setup_commands", "worker_setup_commands",
                   "head_start_ray_commands", "worker_start_ray_commands", "cluster_synced_files", "rsync_exclude",
                   "rsync_filter")  # fmt: skip
        path.write_text(json.dumps({
            "cluster_name": "tests", "max_workers": 4, "idle_timeout_minutes": 60, "upscaling_speed": 1.0,
            "provider": provider, "available_node_types": types, "head_node_type": "ray.head.default", "docker": {},
            "auth": {"ssh_user": "nobody"}, "file_mounts": {}, "file_mounts_sync_continuously": False,
            **{name: [] for name in nothing},
        }))  # fmt: skip
        return path

    def _autoscaler_variables(self) -> dict[str, str]:
        if not self._autoscaler:
            return {}
        found = {"AUTOSCALER_UPDATE_INTERVAL_S": "1", "RAY_FAKE_CLUSTER": "1", "PYTHONPATH": str(self._folder)}
        if self._autoscaler == 2:
            identity = dict.fromkeys(("RAY_CLOUD_INSTANCE_ID", "RAY_OVERRIDE_NODE_ID_FOR_TESTING"), _HEAD_ID)
            found |= {"RAY_enable_autoscaler_v2": "1", **identity}
        return found

    def processes_with(self, variable: str) -> dict[int, str]:
        """Return the command lines of the cluster's processes that were started with such a variable."""
        wanted = variable.encode()
        return {
            pid: _command_line(pid).replace(b"\0", b" ").decode(errors="replace")
            for pid in self._pids()
            if any(each.startswith(wanted) for each in _environment(pid).split(b"\0"))
        }

    def home(self, node: int) -> Path:
        """Return the home directory of the user on this node."""
        return self._folder / f"home{node}"

    def _pids(self, node: int | None = None) -> list[int]:
        """Return the processes of the cluster or of one node: those in its network namespace."""
        names = self.network.nodes if node is None else [self.network.nodes[node]]
        wanted = {f"net:[{os.stat(f'/run/netns/{name}').st_ino}]" for name in names}
        return [pid for pid in (int(name) for name in os.listdir("/proc") if name.isdigit()) if _network(pid) in wanted]

    # ── The head's answers ────────────────────────────────────────────────────────────────────────────────────────────

    def ask(self, path: str, method: str = "GET", body: Mapping[str, Any] | None = None) -> Any:
        """Return the head's answer to a request of another client."""
        data = None if body is None else json.dumps(body).encode()
        headers = {"Authorization": f"Bearer {TOKEN}", "Content-Type": "application/json"}
        request = urllib.request.Request(f"{self.outside}{path}", data, headers, method=method)
        with urllib.request.urlopen(request, timeout=30) as answer:
            return json.load(answer)

    def end_jobs(self) -> None:
        """Stop all jobs and wait until they have ended, for the next test."""
        for job in [each["submission_id"] for each in self.ask("/api/jobs/") if each["submission_id"]]:
            self.ask(f"/api/jobs/{job}/stop", "POST")
            wait_until(lambda job=job: self._has_ended(job), interval=0.1)

    def _has_ended(self, job: str) -> bool:
        return self.ask(f"/api/jobs/{job}")["status"] in ("STOPPED", "SUCCEEDED", "FAILED")

    def alive_nodes(self) -> list[str]:
        """Return the addresses of the nodes that the head considers alive; none if it does not answer."""
        try:
            found: Iterable[dict[str, Any]] = self.ask("/api/v0/nodes?limit=1000")["data"]["result"]["result"]
        except (OSError, ValueError, KeyError, TypeError):
            return []
        return [each["node_ip"] for each in found if each["state"] == "ALIVE"]

    def _has_job_agent(self) -> bool:
        """Whether the head can take a job: the first seconds after its start it cannot."""
        try:
            return isinstance(self.ask("/api/jobs/"), list)
        except (OSError, ValueError):
            return False

    def logs(self) -> str:
        """Return the end of the nodes' own output, for the message of a test that failed."""
        return "\n".join(path.read_text(errors="replace")[-2000:] for path in sorted(self._folder.glob("node*.log")))


def _enter_mounts(pid: int, *command: str) -> None:
    subprocess.run(["nsenter", f"--mount=/proc/{pid}/ns/mnt", *command], check=True, capture_output=True, text=True)


def _kill(find: Any) -> None:
    def none_left() -> bool:
        left = find()
        for pid in left:
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
        return not left

    wait_until(none_left)


def _network(pid: int) -> str:
    try:
        return os.readlink(f"/proc/{pid}/ns/net")
    except OSError:
        return ""


def _environment(pid: int) -> bytes:
    try:
        return Path(f"/proc/{pid}/environ").read_bytes()
    except OSError:
        return b""


def _command_line(pid: int) -> bytes:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return b""
