"""The environment of a script that runs under Footplate, and the reports about failed scripts."""

from __future__ import annotations

import itertools
import json
import os
import subprocess
import sys
import time
import urllib.request
from pathlib import Path
from typing import Any

import pytest

from footplate import Environment, Experiment, Run, ScriptRunConfig, Workspace
from footplate.api import ApiClient
from footplate.client import connect
from footplate.sdk.compute.targets import AmlCompute, ComputeTarget
from footplate.sdk.config.run_configuration import PyTorchConfiguration
from footplate.testing.waiting import wait_until
from support.ops_tools import finish, write_source

pytestmark = pytest.mark.shared_home


def finished(workspace: Workspace, project: Path, script: str, **options: Any) -> Run:
    config = ScriptRunConfig(source_directory=str(write_source(project, script)), script="train.py", **options)
    return finish(Experiment(workspace, "contract").submit(config))


def log_of(run: Run, tmp_path: Path, name: str = "user_logs/std_log.txt") -> str:
    target = tmp_path / "log.txt"
    run.download_file(name, str(target))
    return target.read_text()


def cause_of(run: Run) -> str:
    return json.dumps(run.get_details()["error"], ensure_ascii=False)


def interpreters() -> list[str]:
    """Return the oldest and the newest available interpreter that Footplate supports in jobs."""
    found: dict[tuple[int, int], str] = {}
    for minor in range(8, 15):
        for path in Path("~/.pyenv/versions").expanduser().glob(f"3.{minor}.*/bin/python3"):
            found[3, minor] = str(path)
        done = subprocess.run(["which", f"python3.{minor}"], capture_output=True, text=True)
        if (3, minor) not in found and done.returncode == 0:
            works = subprocess.run([done.stdout.strip(), "-c", "pass"], capture_output=True)
            if works.returncode == 0:
                found[3, minor] = done.stdout.strip()
    found.setdefault((3, sys.version_info.minor), sys.executable)
    return [found[min(found)], found[max(found)]]


def test_script_gets_arguments_variables_and_folders(project: Path, workspace: Workspace, tmp_path: Path) -> None:
    run = finished(
        workspace,
        project,
        """
        import json, os, sys
        json.dump({"argv": sys.argv, "env": dict(os.environ), "cwd": os.getcwd(), "here": sorted(os.listdir("."))},
                  open("outputs/seen.json", "w"))
        open("written-beside-the-script.txt", "w").close()
        """,
        arguments=["--run", "$AZUREML_RUN_ID", "--rank", "${FOOTPLATE_RANK}", "--unknown", "$NO_SUCH_VARIABLE", 3, 0.5],
    )
    run.download_file("outputs/seen.json", str(tmp_path / "seen.json"))
    seen = json.loads((tmp_path / "seen.json").read_text())
    assert seen["argv"][1:] == ["--run", run.id, "--rank", "0", "--unknown", "$NO_SUCH_VARIABLE", "3", "0.5"]
    env = seen["env"]
    assert env["AZUREML_RUN_ID"] == run.id
    assert env["AZUREML_ARM_SUBSCRIPTION"] == workspace.subscription_id
    assert env["AZUREML_ARM_RESOURCEGROUP"] == workspace.resource_group
    assert env["AZUREML_ARM_WORKSPACE_NAME"] == workspace.name
    assert env["AZUREML_ARM_PROJECT_NAME"] == "contract"
    for name in ("EXPERIMENT_ID", "WORKSPACE_ID", "SERVICE_ENDPOINT", "RUN_TOKEN", "RUN_TOKEN_EXPIRY", "TARGET_TYPE"):
        assert env[f"AZUREML_{name}"]
    assert env["AZUREML_OUTPUT_DIRECTORY"] == "./outputs"
    assert seen["here"] == ["logs", "outputs", "train.py"]
    assert Path(seen["cwd"]) != project / "source"
    assert os.listdir(project / "source") == ["train.py"], "the source folder was touched"


def test_script_gets_variables_of_environment_and_run_configuration(project: Path, workspace: Workspace) -> None:
    environment = Environment("mine")
    environment.python.user_managed_dependencies = True
    environment.python.interpreter_path = sys.executable
    environment.environment_variables = {"FROM_ENVIRONMENT": "1", "BOTH": "environment"}
    config = ScriptRunConfig(
        str(write_source(project, "import os; print(os.environ['FROM_ENVIRONMENT'], os.environ['BOTH'])")),
        "train.py",
        environment=environment,
    )
    config.run_config.environment_variables = {"BOTH": "run"}
    run = finish(Experiment(workspace, "contract").submit(config))
    assert run.get_status() == "Completed"
    assert run.get_details_with_logs()["logFiles"]["user_logs/std_log.txt"].split() == ["1", "run"]
    with urllib.request.urlopen(run.get_details()["logFiles"]["user_logs/std_log.txt"]) as log:
        assert log.read().split() == [b"1", b"run"]


def test_command_runs_in_a_shell(project: Path, workspace: Workspace, tmp_path: Path) -> None:
    config = ScriptRunConfig(
        str(write_source(project, "print('from python')")),
        command='echo "run $AZUREML_RUN_ID" && python train.py > outputs/out.txt && exit 7',
    )
    run = finish(Experiment(workspace, "contract").submit(config))
    assert run.get_status() == "Failed"
    assert log_of(run, tmp_path) == f"run {run.id}\n"
    run.download_file("outputs/out.txt", str(tmp_path / "out.txt"))
    assert (tmp_path / "out.txt").read_text() == "from python\n"
    assert "exit code 7" in cause_of(run)


@pytest.mark.parametrize("which", [0, -1], ids=["oldest", "newest"])
def test_azureml_modules_work_in_a_bare_interpreter(
    project: Path, workspace: Workspace, tmp_path: Path, which: int
) -> None:
    """Only the standard library is installed there."""
    venv = tmp_path / "bare"
    subprocess.run([interpreters()[which], "-m", "venv", "--without-pip", str(venv)], check=True, timeout=120)
    environment = Environment("bare")
    environment.python.user_managed_dependencies = True
    environment.python.interpreter_path = str(venv / "bin" / "python")
    run = finished(
        workspace,
        project,
        """
        import sys
        from azureml.core import Model, Run, Workspace
        from azureml.core.run import _OfflineRun
        run = Run.get_context()
        assert not isinstance(run, _OfflineRun)
        run.log("number", 1.5)
        run.log_list("list", [1, 2, 3])
        run.log_table("table", {"x": [1, 2], "y": [3, 4]})
        run.tag("python", sys.version.split()[0])
        ws = run.experiment.workspace
        assert ws.name == "testing" and isinstance(ws, Workspace)
        with open("weights.txt", "w") as weights:
            weights.write("42")
        run.upload_file("outputs/weights.txt", "weights.txt")
        model = run.register_model("bare", model_path="outputs/weights.txt")
        assert open(Model(ws, "bare").download("back")).read() == "42"
        run.complete()
        run.log("number", 2.5)
        print(sys.version_info[:2], model.version)
        """,
        environment=environment,
    )
    assert run.get_status() == "Completed", cause_of(run) + log_of(run, tmp_path)
    metrics = run.get_metrics()
    assert metrics == {"number": [1.5, 2.5], "list": [1, 2, 3], "table": {"x": [1, 2], "y": [3, 4]}}
    assert (run.get_tags()["python"] or "").startswith("3.")


def test_exception_is_reported_with_traceback_and_last_lines(project: Path, workspace: Workspace) -> None:
    run = finished(
        workspace,
        project,
        """
        print("about to fail")
        def divide(a, b):
            return a / b
        divide(1, 0)
        """,
    )
    assert run.get_status() == "Failed"
    cause = cause_of(run)
    assert "ZeroDivisionError" in cause and "division by zero" in cause and "about to fail" in cause
    assert "bootstrap.py" not in cause, "our own frames are not the user's business"


@pytest.mark.parametrize(
    ("script", "words"),
    [
        ("import sys; sys.exit(3)", "exit code 3"),
        ("import os, signal; os.kill(os.getpid(), signal.SIGSEGV)", "SIGSEGV"),
        ("import os; os.abort()", "SIGABRT"),
        ("import sys; sys.exit('no data today')", "no data today"),
    ],
)
def test_cause_of_death_is_named(project: Path, workspace: Workspace, script: str, words: str) -> None:
    run = finished(workspace, project, script)
    assert run.get_status() == "Failed"
    assert words in cause_of(run)


def test_syntax_error_is_reported(project: Path, workspace: Workspace) -> None:
    run = finished(workspace, project, "def broken(:\n    pass\n")
    assert run.get_status() == "Failed"
    assert "SyntaxError" in cause_of(run)


def test_missing_interpreter_is_reported(project: Path, workspace: Workspace) -> None:
    environment = Environment("gone")
    environment.python.user_managed_dependencies = True
    environment.python.interpreter_path = "/nowhere/bin/python"
    run = finished(workspace, project, "print('never')", environment=environment)
    assert run.get_status() == "Failed"
    assert "/nowhere/bin/python" in cause_of(run)


@pytest.mark.root
@pytest.mark.skipif(
    os.geteuid() != 0 or not os.access("/sys/fs/cgroup/memory", os.W_OK), reason="needs root and the memory cgroup (v1)"
)
def test_out_of_memory_killer_is_named(project: Path, workspace: Workspace, tmp_path: Path) -> None:
    group = Path("/sys/fs/cgroup/memory") / f"footplate-test-{os.getpid()}-{time.time_ns()}"
    group.mkdir()
    try:
        (group / "memory.limit_in_bytes").write_text("64M")
        run = finished(
            workspace,
            project,
            f"""
            import os
            open("{group}/cgroup.procs", "w").write(str(os.getpid()))
            blocks = [bytearray(b"x" * (1 << 20)) for _ in range(4096)]
            """,
        )
        assert run.get_status() == "Failed"
        assert "out-of-memory killer" in cause_of(run)
    finally:
        time.sleep(0.1)
        group.rmdir()


def test_run_beyond_its_time_limit_is_stopped(project: Path, workspace: Workspace) -> None:
    run = finished(workspace, project, "import time; time.sleep(600)", max_run_duration_seconds=1)
    assert run.get_status() == "Failed"
    assert "limit of 1 second" in cause_of(run)


def test_logs_are_live(project: Path, workspace: Workspace) -> None:
    """The run waits for a file that the test creates only after it has seen the run's first line."""
    flag = project / "go"
    script = f"""
        import os, time
        print("first line")
        open("logs/extra.txt", "w").write("extra")
        while not os.path.exists({str(flag)!r}):
            time.sleep(0.02)
        print("last line")
    """
    config = ScriptRunConfig(str(write_source(project, script)), "train.py")
    run = Experiment(workspace, "contract").submit(config)
    expected = {"user_logs/std_log.txt": "first line\n", "logs/extra.txt": "extra"}.items()
    wait_until(lambda: expected <= run.get_details_with_logs()["logFiles"].items())
    assert run.get_status() == "Running"
    flag.touch()
    finish(run)
    assert run.get_details_with_logs()["logFiles"]["user_logs/std_log.txt"] == "first line\nlast line\n"


def test_each_rank_has_its_own_log_and_variables(project: Path, workspace: Workspace) -> None:
    run = finished(
        workspace,
        project,
        """
        import os, sys
        from azureml.core import Run
        rank = int(os.environ["RANK"])
        print("rank", rank, "of", os.environ["WORLD_SIZE"], sys.argv[1])
        Run.get_context().log(f"from_{rank}", rank)
        """,
        arguments=["$LOCAL_RANK"],
        distributed_job_config=PyTorchConfiguration("Gloo", process_count=3, node_count=1),
    )
    assert run.get_status() == "Completed", cause_of(run)
    logs = run.get_details_with_logs()["logFiles"]
    for rank in range(3):
        assert logs[f"user_logs/std_log_process_{rank:02d}.txt"] == f"rank {rank} of 3 {rank}\n"
    assert run.get_metrics() == {"from_0": 0, "from_1": 1, "from_2": 2}


def test_first_failed_rank_is_named(project: Path, workspace: Workspace) -> None:
    run = finished(
        workspace,
        project,
        """
        import os, time
        if os.environ["RANK"] == "1":
            raise RuntimeError("rank one is to blame")
        time.sleep(600)
        """,
        distributed_job_config=PyTorchConfiguration("Gloo", process_count=2, node_count=1),
    )
    assert run.get_status() == "Failed"
    assert "rank one is to blame" in cause_of(run)


def test_cluster_of_one_node_runs_jobs_one_by_one(project: Path, workspace: Workspace) -> None:
    with pytest.raises(Exception, match="small"):
        ComputeTarget(workspace, "small")
    configuration = AmlCompute.provisioning_configuration(vm_size="STANDARD_D2_V2", max_nodes=1)
    target = ComputeTarget.create(workspace, "small", configuration)
    target.wait_for_completion(show_output=True)
    folder = write_source(project, "import time; print(time.time(), flush=True); time.sleep(0.5); print(time.time())")
    config = ScriptRunConfig(str(folder), "train.py", compute_target=target)
    runs = [Experiment(workspace, "contract").submit(config) for _ in range(3)]
    time.sleep(0.3)
    waiting = [r.get_detailed_status() for r in runs]
    assert any("position" in json.dumps(w) for w in waiting), waiting
    times = []
    for run in runs:
        assert finish(run).get_status() == "Completed"
        first, last = run.get_details_with_logs()["logFiles"]["user_logs/std_log.txt"].split()
        times.append((float(first), float(last)))
    times.sort()
    for (_, end), (start, _) in itertools.pairwise(times):
        assert start >= end, "two runs at once on a cluster of one node"
    assert target.get_status().serialize()["currentNodeCount"] >= 0


def test_machine_samples_are_recorded(project: Path, workspace: Workspace) -> None:
    run = finished(workspace, project, "import time; time.sleep(2.5)")
    series = ApiClient(connect()).metrics.read(run.id, system=True)[run.id]
    names = {s.name.rsplit("/", 1)[-1]: s for s in series}
    for wanted in ("cpu_percent", "memory_percent"):
        assert any(wanted in name for name in names), sorted(names)
    assert all(len(s.points) >= 2 for s in series)
    assert run.get_metrics() == {}, "machine samples are not the user's metrics"
