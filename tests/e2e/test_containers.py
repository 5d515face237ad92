"""Runs in containers, with a real podman and an image that is built here."""

from __future__ import annotations

import json
import os
import signal
import sys
import sysconfig
from pathlib import Path
from typing import Any

import pytest

from footplate import (
    Dataset,
    Datastore,
    Environment,
    Experiment,
    MpiConfiguration,
    OutputFileDatasetConfig,
    PyTorchConfiguration,
    ScriptRunConfig,
)
from footplate.client.launcher import ensure_server, stop_server
from footplate.sdk.environments.sections import DockerBuildContext
from footplate.sdk.run import Run
from footplate.sdk.workspace import Workspace
from footplate.testing.waiting import wait_until
from support.conda_channel import make_channel, module, python_package
from support.images import ENGINE
from support.wheels import make_wheel

PYTHON = f"{sys.version_info.major}.{sys.version_info.minor}"
pytestmark = [pytest.mark.slow, pytest.mark.root]


@pytest.fixture
def box(python_image: str, workspace: Workspace) -> Box:
    return Box(workspace, python_image)


class Box:
    """A helper that submits scripts to containers."""

    def __init__(self, workspace: Workspace, image: str) -> None:
        self.workspace, self.image = workspace, image

    def submit(self, script: str, environment: Environment | None = None, **settings: Any) -> Run:
        Path("train.py").write_text(script)
        if "command" not in settings:
            settings["script"] = "train.py"
        config = ScriptRunConfig(".", environment=environment or self.environment(), **settings)
        return Experiment(self.workspace, "boxed").submit(config)

    def environment(self, *arguments: str) -> Environment:
        made = Environment.from_docker_image("boxed", self.image)
        made.docker.arguments = list(arguments)
        return made


def log_of(run: Run, name: str = "user_logs/std_log.txt") -> str:
    return b"".join(run._session.api.files.read(run.id, name)).decode()  # pyright: ignore


def wait_for_log(run: Run, text: str) -> None:
    wait_until(lambda: any(n.startswith("user_logs") for n in run.get_file_names()) and text in log_of(run))


def ends(run: Run) -> str:
    run.wait_for_completion(raise_on_error=False)
    return run.get_status()


def why(run: Run) -> str:
    return str(run.get_details().get("error"))


def test_script_runs_in_an_unchanged_image(box: Box) -> None:
    run = box.submit(
        "import os, sys\n"
        "from azureml.core import Run\n"
        "run = Run.get_context()\n"
        "print(os.environ['FROM_IMAGE'], sys.prefix, sys.argv[1], os.path.exists('/root/.pyenv/versions'))\n"
        "print('PATH', os.environ['PATH'])\n"
        "print(repr(os.environ['ODD']))\n"
        "for step in range(3): run.log('loss', 1 / (step + 1))\n"
        "os.makedirs('outputs', exist_ok=True)\n"
        "open('outputs/model.txt', 'w').write('weights')\n"
        "run.upload_file('early.txt', 'outputs/model.txt')\n"
        "run.tag('from', 'inside')\n",
        environment_variables(box, ODD="two\nlines='x'"),
        arguments=["--epochs=$AZUREML_RUN_ID"],
    )
    assert ends(run) == "Completed", why(run)
    text = log_of(run)
    assert text.startswith(f"yes /usr/local --epochs={run.id} "), text
    assert "PATH /usr/local/bin:/bin" in text
    assert repr("two\nlines='x'") in text
    assert run.get_metrics()["loss"] == [1.0, 0.5, 1 / 3]
    assert {"outputs/model.txt", "early.txt"} <= set(run.get_file_names())
    assert run.get_tags()["from"] == "inside"
    assert run.get_details()["warnings"] == []


TENSORFLOW_2 = {
    "tensorflow/__init__.py": "",
    "tensorflow/compat/__init__.py": "",
    "tensorflow/compat/v1.py": "placeholder = 'of version 1'\ndef disable_v2_behavior(): pass\n",
}


def test_packages_are_installed_into_an_image_and_a_dockerfile(box: Box, tmp_path: Path) -> None:
    make_wheel(tmp_path / "wheels", "tiny", "1.0")
    make_wheel(tmp_path / "wheels", "tensorflow", "2.11.0", files=TENSORFLOW_2)
    lines = ["--no-index", f"--find-links {tmp_path / 'wheels'}", "tiny", "azureml-defaults", "tensorflow==1.13.1"]
    Path("requirements.txt").write_text("\n".join(lines))
    made = Environment.from_dockerfile(
        "boxed",
        f"FROM {box.image}\nENV STEP=built\nRUN echo from the build > /built\n",
        pip_requirements="requirements.txt",
    )
    script = "import os, tiny; print(tiny.version, os.environ['STEP'], open('/built').read())"
    run = box.submit(f"{script}\nimport tensorflow; print('placeholder is', tensorflow.placeholder)", made)
    assert ends(run) == "Completed", why(run)
    assert log_of(run).startswith("1.0 built from the build")
    assert "placeholder is of version 1" in log_of(run)
    built = log_of(run, "azureml-logs/20_image_build_log.txt")
    assert "the environment is complete" in built
    assert str(tmp_path) not in os.popen(f"{ENGINE} history --no-trunc {box.image}").read()


# The Python of the tests' channel looks for its standard library where this machine has it.
LINKED = """FROM {image}
RUN ["python", "-c", "import os; os.makedirs({folder!r}, exist_ok=True); os.symlink({inside!r}, {stdlib!r})"]
"""


def test_conda_packages_are_mounted_and_the_image_is_unchanged(box: Box, tmp_path: Path) -> None:
    channel = make_channel(tmp_path / "channel", [python_package(), module("alpha", "1.0"), module("beta", "2.0")])
    make_wheel(tmp_path / "wheels", "tiny", "1.0")
    Path("conda.yml").write_text(
        f"channels: [{channel}]\ndependencies: [python={PYTHON}, alpha=1, beta, "
        f"{{pip: [--no-index, '--find-links {tmp_path / 'wheels'}', tiny, azureml-defaults]}}]\n"
    )
    stdlib = sysconfig.get_path("stdlib")
    text = LINKED.format(
        image=box.image, folder=os.path.dirname(stdlib), stdlib=stdlib, inside=f"/usr/local/lib/python{PYTHON}"
    )
    made = Environment.from_dockerfile("boxed", text, conda_specification="conda.yml")
    run = box.submit(
        "import alpha, beta, tiny, os, shutil, sys\n"
        "from azureml.core import Run\nRun.get_context().log('seen', 1)\n"
        "print(alpha.version, beta.version, tiny.version, os.environ['FROM_IMAGE'])\n"
        "print(sys.prefix == os.environ['CONDA_PREFIX'], shutil.which('python') == sys.executable, sys.prefix)\n"
        "try: open(os.path.join(sys.prefix, 'written'), 'w')\n"
        "except OSError: print('read-only')\n",
        made,
    )
    assert ends(run) == "Completed", why(run)
    first, second, third = log_of(run).splitlines()[:3]
    assert (first, third) == ("1.0 2.0 1.0 yes", "read-only")
    same, found, prefix = second.split()
    assert (same, found) == ("True", "True")
    assert run.get_metrics()["seen"] == 1
    assert run.get_details()["warnings"] == []
    built = {view.builder: view for view in box.workspace.session.api.locks.list_built()}
    assert built["conda"].path == prefix
    image = json.loads((Path(built["container"].path) / "image.json").read_text())
    layers = os.popen(f"{ENGINE} image inspect -f '{{{{len .RootFS.Layers}}}}' {image['image']} {image['base']}").read()
    assert layers == "2\n2\n", "nothing was put into the image"


def test_build_context_honours_dockerignore(box: Box, tmp_path: Path) -> None:
    folder = tmp_path / "context"
    (folder / "docker").mkdir(parents=True)
    (folder / "docker" / "Dockerfile").write_text(f"FROM {box.image}\nCOPY . /context\nADD a.txt /added/\n")
    for name in ("a.txt", "b.log"):
        (folder / name).write_text(name)
    (folder / ".dockerignore").write_text("*.log\n")
    context = DockerBuildContext.from_local_directory(box.workspace, str(folder), "docker/Dockerfile")
    made = Environment.from_docker_build_context("boxed", context)
    run = box.submit("import os; print(sorted(os.listdir('/context')), os.listdir('/added'))", made)
    assert ends(run) == "Completed", why(run)
    assert log_of(run).strip() == "['.dockerignore', 'a.txt', 'docker'] ['a.txt']"


def test_inputs_are_visible_inside_and_outputs_come_out(box: Box, tmp_path: Path) -> None:
    (tmp_path / "raw" / "in").mkdir(parents=True)
    (tmp_path / "raw" / "in" / "a.txt").write_text("a")
    store = Datastore.register_folder(box.workspace, "raw", str(tmp_path / "raw"))
    dataset = Dataset.File.from_files((store, "in"))
    made = OutputFileDatasetConfig("made", (store, "made"))
    sent = OutputFileDatasetConfig("sent", (store, "sent")).as_upload()
    script = """
import os, sys
mounted, copied, made, sent = sys.argv[1:]
assert os.listdir(mounted) == os.listdir(copied) == ["a.txt"], (os.listdir(mounted), os.listdir(copied))
for folder in (made, sent):
    open(os.path.join(folder, "b.txt"), "w").write(open(os.path.join(mounted, "a.txt")).read())
"""
    given = [dataset.as_named_input("one").as_mount(), dataset.as_named_input("two").as_download(), made, sent]
    run = box.submit(script, arguments=given)
    assert ends(run) == "Completed", why(run)
    assert [(tmp_path / "raw" / name / "b.txt").read_text() for name in ("made", "sent")] == ["a", "a"]


def test_command_returns_its_exit_code(box: Box) -> None:
    run = box.submit("", command="python -c 'import sys; print(sys.prefix)' && exit 5")
    assert ends(run) == "Failed"
    assert "ended with exit code 5" in why(run)
    assert log_of(run).strip() == "/usr/local"


def test_failures_are_reported_as_without_a_container(box: Box) -> None:
    run = box.submit("import os\nprint(os.getpid(), flush=True)\nraise ValueError('too small: 3')\n")
    assert ends(run) == "Failed"
    assert "ValueError: too small: 3" in why(run)
    run = box.submit("import os, signal\nos.kill(os.getpid(), signal.SIGSEGV)\n")
    assert ends(run) == "Failed"
    assert "SIGSEGV" in why(run)
    run = box.submit("", box.environment("--no-such-option"))
    assert ends(run) == "Failed"
    assert "the container could not be started" in why(run)


def test_out_of_memory_is_named(box: Box) -> None:
    run = box.submit("x = bytearray(300 << 20); print(len(x))", box.environment("--memory=64m"))
    assert ends(run) == "Failed"
    assert "out-of-memory killer" in why(run)


LISTENS = """
import signal, sys, time
def hear(number, frame):
    print('heard', number, flush=True)
    time.sleep(0.5)
    sys.exit(0)
signal.signal(signal.SIGTERM, hear)
print('ready', flush=True)
time.sleep(600)
"""


def test_cancel_arrives_once_and_leaves_no_container(box: Box) -> None:
    run = box.submit(LISTENS)
    wait_for_log(run, "ready")
    run.cancel()
    assert ends(run) == "Canceled"
    assert log_of(run).split("\n", 1)[1].strip() == "heard 15"


def test_rank_that_ignores_sigterm_is_killed(box: Box) -> None:
    run = box.submit(
        "import signal, time\nsignal.signal(signal.SIGTERM, signal.SIG_IGN)\n"
        "print('ready', flush=True)\ntime.sleep(600)",
        environment_variables(box, FOOTPLATE_GRACE_SECONDS="1"),
    )
    wait_for_log(run, "ready")
    run.cancel()
    assert ends(run) == "Canceled"


def agent_of(folder: Path) -> int:
    return int(json.loads((folder / "agent.lock").read_text())["pid"])


def environment_variables(box: Box, **variables: str) -> Environment:
    made = box.environment()
    made.environment_variables = variables
    return made


def test_killed_agent_loses_nothing(box: Box, home: Path) -> None:
    run = box.submit(
        "import time, os\nprint('ready', flush=True)\n"
        "while not os.path.exists('go'): time.sleep(0.05)\nprint('went on', flush=True)\n"
    )
    wait_for_log(run, "ready")
    folder = home / "work" / run.id / "node_0"
    os.kill(agent_of(folder), signal.SIGKILL)
    (folder / "wd" / "go").touch()
    assert ends(run) == "Completed", why(run)
    assert log_of(run).split() == ["ready", "went", "on"]


def test_killed_agent_of_a_canceled_run_leaves_no_container(box: Box, home: Path) -> None:
    run = box.submit("import time\nprint('ready', flush=True)\ntime.sleep(600)\n")
    wait_for_log(run, "ready")
    folder = home / "work" / run.id / "node_0"
    os.kill(agent_of(folder), signal.SIGKILL)
    run.cancel()
    assert ends(run) == "Canceled"


def test_calls_continue_after_a_server_restart(box: Box, home: Path) -> None:
    run = box.submit(
        "import os, time\nfrom azureml.core import Run\nrun = Run.get_context()\n"
        "for name in ('before', 'after'):\n"
        "    open(name, 'w').write(name)\n"
        "    run.upload_file(name + '.txt', name)\n"
        "    run.tag(name, 'inside')\n"
        "    print(name, flush=True)\n"
        "    while not os.path.exists('go'): time.sleep(0.05)\n"
    )
    wait_for_log(run, "before")
    stop_server(str(home))
    ensure_server(str(home))
    (home / "work" / run.id / "node_0" / "wd" / "go").touch()
    assert ends(run) == "Completed", why(run)
    assert {"before.txt", "after.txt"} <= set(run.get_file_names())
    assert run.get_tags()["after"] == "inside"


def test_several_ranks_share_a_node(box: Box) -> None:
    run = box.submit(
        "import os\nfrom azureml.core import Run\n"
        "Run.get_context().log('rank', int(os.environ['RANK']))\n"
        "print('rank', os.environ['RANK'], os.environ['WORLD_SIZE'])\n",
        distributed_job_config=PyTorchConfiguration("Gloo", process_count=2),
    )
    assert ends(run) == "Completed", why(run)
    assert sorted(run.get_metrics()["rank"]) == [0, 1]
    assert log_of(run, "user_logs/std_log_process_01.txt").strip() == "rank 1 2"


def test_several_nodes_start_together(box: Box) -> None:
    run = box.submit(
        "import os\nprint('rank', os.environ['RANK'], os.environ['WORLD_SIZE'], os.environ['NODE_RANK'])\n"
        "open('seen_' + os.environ['RANK'], 'w').write('yes')\n",
        distributed_job_config=PyTorchConfiguration("Gloo", node_count=2),
    )
    assert ends(run) == "Completed", why(run)
    logs = [name for name in run.get_file_names() if name.startswith("user_logs/")]
    assert sorted(log_of(run, name).strip() for name in logs) == ["rank 0 2 0", "rank 1 2 1"]


MPI = """
import os, sys
from mpi4py import MPI
from azureml.core import Run
world = MPI.COMM_WORLD
rank, size = world.Get_rank(), world.Get_size()
total = world.allreduce(rank + 1)
Run.get_context().log('total', total)
print('rank', rank, 'of', size, 'sum', total, os.environ['FROM_IMAGE'], sys.prefix)
"""


@pytest.mark.parametrize(("nodes", "per_node"), [(1, 2), (2, 1)])
def test_mpi_runs_inside_an_image_without_mpirun(box: Box, nodes: int, per_node: int) -> None:
    Path("requirements.txt").write_text("mpi4py\n")  # the image has no MPI, so Open MPI is added
    made = Environment.from_docker_image("boxed", box.image, pip_requirements="requirements.txt")
    shape = MpiConfiguration(process_count_per_node=per_node, node_count=nodes)
    run = box.submit(MPI, made, distributed_job_config=shape)
    assert ends(run) == "Completed", why(run)
    logs = sorted(name for name in run.get_file_names() if name.startswith("user_logs/"))
    expected = [f"rank {rank} of 2 sum 3 yes /opt/footplate/environment" for rank in range(2)]
    assert sorted(log_of(run, name).strip() for name in logs) == expected
    assert run.get_metrics()["total"] == [3, 3]


def test_missing_mpirun_inside_is_an_error(box: Box) -> None:
    run = box.submit("", distributed_job_config=MpiConfiguration(process_count_per_node=2))
    assert ends(run) == "Failed"
    assert "there is no mpirun in its container" in why(run)


def test_removed_image_is_rebuilt_and_gc_removes_it(box: Box, footplate: Any, tmp_path: Path) -> None:
    make_wheel(tmp_path / "wheels", "tiny", "1.0")
    Path("requirements.txt").write_text(f"--no-index\n--find-links {tmp_path / 'wheels'}\ntiny\n")
    made = Environment.from_docker_image("boxed", box.image, pip_requirements="requirements.txt")
    first = box.submit("import tiny", made)
    assert ends(first) == "Completed", why(first)
    (built,) = footplate.json("env", "list")
    assert built["builder"] == "container" and built["size"] > 0 and built["packages"] == 1
    image = json.loads((Path(built["path"]) / "image.json").read_text())["image"]
    assert os.system(f"{ENGINE} rmi -f {image} >/dev/null") == 0
    second = box.submit("import tiny", made)
    assert ends(second) == "Completed", why(second)
    assert os.system(f"{ENGINE} image inspect {image} >/dev/null 2>&1") == 0
    assert len(footplate.json("env", "gc", "--days", "0")["environments"]) == 1
    assert os.system(f"{ENGINE} image inspect {image} >/dev/null 2>&1") != 0
