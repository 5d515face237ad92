"""Likely mistakes in a new implementation of Azure's SDK: one test for each, by its number in our notes.

Traps about datasets, several nodes, sweeps, estimators and serving belong to the tests of those.
"""

from __future__ import annotations

import json
import textwrap
import types
from pathlib import Path

import numpy as np
import pytest

from azureml.core import Experiment, Model, Run, RunConfiguration, ScriptRunConfig, Workspace
from azureml.core.compute import AmlCompute, ComputeTarget
from azureml.core.compute_target import ComputeTargetException
from azureml.core.environment import Environment
from azureml.core.run import _OfflineRun
from azureml.core.runconfig import MpiConfiguration, PyTorchConfiguration, TensorflowConfiguration
from azureml.exceptions import (
    ActivityFailedException,
    AzureMLException,
    ModelPathNotFoundException,
    RunConfigurationException,
    ServiceException,
)

pytestmark = pytest.mark.shared_home


@pytest.fixture
def experiment(workspace: Workspace) -> Experiment:
    return Experiment(workspace, "traps")


def interactive(experiment: Experiment) -> Run:
    return experiment.start_logging(snapshot_directory=None, outputs=False)


def script(project: Path, code: str, **options: object) -> ScriptRunConfig:
    source = project / "source"
    source.mkdir(exist_ok=True)
    (source / "train.py").write_text(textwrap.dedent(code))
    return ScriptRunConfig(str(source), "train.py", **options)  # type: ignore[arg-type]


def printed(run: Run) -> str:
    return run.get_details_with_logs()["logFiles"]["user_logs/std_log.txt"]


def test_trap_01_a_metric_logged_once_is_a_bare_value(experiment: Experiment):
    run = interactive(experiment)
    run.log("mse", 0.5)
    assert run.get_metrics() == {"mse": 0.5}
    run.log("mse", 0.25)
    assert run.get_metrics() == {"mse": [0.5, 0.25]}
    run.log_row("curve", x=1, y=2)
    assert run.get_metrics("curve") == {"curve": {"x": 1, "y": 2}}
    run.log_table("curve", {"x": [3, 4], "y": [5, 6]})
    assert run.get_metrics("curve") == {"curve": {"x": [1, 3, 4], "y": [2, 5, 6]}}
    run.complete()


def test_trap_02_complete_inside_a_script_does_not_end_the_run(experiment: Experiment, project: Path):
    run = experiment.submit(
        script(
            project,
            """
            from azureml.core import Run
            run = Run.get_context()
            run.log("before", 1)
            run.complete()
            run.fail("only noted")
            run.cancel()
            run.log("after", 2)
            print("still", run.get_status(), run.input_datasets, run.output_datasets)
            """,
        )
    )
    assert run.wait_for_completion()["status"] == "Completed"
    assert run.get_metrics() == {"before": 1, "after": 2} and "still Running {} {}" in printed(run)
    assert not hasattr(run, "input_datasets")


def test_trap_03_waiting_returns_details_and_raises_only_for_failures(experiment: Experiment, project: Path):
    fails = experiment.submit(script(project, "raise SystemExit(3)\n"))
    with pytest.raises(ActivityFailedException, match='"exitCode": 3'):
        fails.wait_for_completion()
    assert fails.wait_for_completion(raise_on_error=False)["status"] == "Failed"
    canceled = experiment.submit(script(project, "import time; time.sleep(60)\n"))
    canceled.cancel()
    details = canceled.wait_for_completion(wait_post_processing=True)
    assert isinstance(details, dict) and details["status"] == "Canceled" and details["runId"] == canceled.id


def test_trap_04_hidden_config_above_beats_a_plain_one_here(home: Path, tmp_path: Path):
    here = tmp_path / "a" / "b"
    here.mkdir(parents=True)
    Workspace.create("above", show_output=False).write_config(str(tmp_path))
    plain = {"subscription_id": "s", "resource_group": "g", "workspace_name": "plain"}
    (here / "config.json").write_text(json.dumps(plain))
    assert Workspace.from_config(str(here)).name == "above"
    assert Workspace.from_config(str(here / "config.json")).name == "plain"


def test_trap_07_typos_on_configurations_raise_but_not_old_attributes():
    config, environment = RunConfiguration(), Environment("e")
    for thing in (config, config.history, environment, environment.python, environment.docker):
        with pytest.raises(AttributeError, match="no_such"):
            thing.no_such = 1  # type: ignore[attr-defined]
    config.auto_prepare_environment = True
    environment.docker.enabled = True
    environment.docker.shm_size = "1g"
    environment.docker.arguments = ["--x"]
    environment.environment_variables = {"A": "b"}


def test_trap_08_run_config_beats_other_arguments(project: Path, caplog: pytest.LogCaptureFixture):
    given = RunConfiguration()
    made = script(
        project,
        "",
        run_config=given,
        compute_target="elsewhere",
        environment=Environment("other"),
        max_run_duration_seconds=5,
        arguments=["mine"],
    )
    assert made.run_config is given and given.target == "local" and given.environment.name == "default-environment"
    assert given.max_run_duration_seconds != 5 and made.arguments == ["mine"] and made.script == "train.py"
    assert "compute_target, environment, max_run_duration_seconds is ignored" in caplog.text


def test_trap_09_process_counts_have_their_meanings():
    def nodes(job: object) -> tuple[int, str, str]:
        made = ScriptRunConfig(".", "x.py", distributed_job_config=job).run_config  # type: ignore[arg-type]
        return made.node_count, made.framework, made.communicator

    assert nodes(MpiConfiguration(process_count_per_node=4, node_count=2)) == (2, "Python", "IntelMpi")
    assert nodes(TensorflowConfiguration(worker_count=3)) == (3, "TensorFlow", "ParameterServer")
    assert nodes(PyTorchConfiguration("NCCL", process_count=8, node_count=2)) == (2, "PyTorch", "nccl")
    with pytest.raises(RunConfigurationException, match="mpi"):
        PyTorchConfiguration("mpi")


def test_trap_10_variables_in_arguments_are_expanded_by_the_process(experiment: Experiment, project: Path):
    config = script(project, "import sys; print(sys.argv[1:])\n")
    config.arguments = ["$AZUREML_RUN_ID", "${AZUREML_ARM_PROJECT_NAME}/x", "$NO_SUCH", 3, np.int64(4), np.float32(0.5)]
    run = experiment.submit(config)
    definition = run.wait_for_completion()["runDefinition"]
    literal = ["$AZUREML_RUN_ID", "${AZUREML_ARM_PROJECT_NAME}/x", "$NO_SUCH", "3", "4", "0.5"]
    assert definition["arguments"] == literal and definition["script"] == "train.py"
    assert printed(run) == f"{[run.id, 'traps/x', *literal[2:]]}\n"


def test_trap_12_outputs_become_files_of_the_run_when_it_ends(experiment: Experiment, project: Path):
    run = experiment.submit(
        script(
            project,
            """
            from azureml.core import Run
            from azureml.exceptions import AzureMLException, ModelPathNotFoundException
            run = Run.get_context()
            open("outputs/model.pkl", "w").write("model")
            try:
                run.register_model("model", "outputs/model.pkl")
            except ModelPathNotFoundException:
                print("not yet")
            run.upload_file("outputs/model.pkl", "outputs/model.pkl")
            try:
                run.upload_file("outputs/model.pkl", "outputs/model.pkl")
            except AzureMLException as error:
                print("already exists" in str(error))
            print(run.register_model("model", "./outputs/model.pkl").id)
            """,
        )
    )
    run.wait_for_completion()
    assert printed(run) == "not yet\nTrue\nmodel:1\n"
    assert run.register_model("later", "outputs/model.pkl").version == 1
    with pytest.raises(ModelPathNotFoundException):
        run.register_model("model", "outputs/none.pkl")


def test_trap_15_properties_are_written_once_and_tags_are_not(experiment: Experiment):
    run = interactive(experiment)
    run.add_properties({"author": "me"})
    with pytest.raises(AzureMLException, match="author"):
        run.add_properties({"author": "you", "new": 1})
    assert run.get_properties() == {"author": "me"}, "one that is refused changes nothing"
    run.tag("quality", "good")
    run.tag("quality", "better")
    run.tag("quick")
    assert run.get_tags() == {"quality": "better", "quick": None}
    children = run.create_children(tag_key="k", tag_values=["x", None, 3])
    assert [child.tags for child in children] == [{"k": "x"}, {"k": None}, {"k": "3"}]
    run.cancel()


def test_trap_16_lists_of_runs_are_generators(experiment: Experiment):
    run = interactive(experiment)
    listed = (experiment.get_runs(), run.get_children(), Run.list(experiment))
    assert all(isinstance(each, types.GeneratorType) for each in listed)
    assert next(experiment.get_runs()).id == run.id
    run.complete()


def test_trap_20_missing_compute_target_raises_so_that_users_create_it(workspace: Workspace):
    try:
        target = ComputeTarget(workspace=workspace, name="cpu")
    except ComputeTargetException:
        sizes = AmlCompute.provisioning_configuration(vm_size="STANDARD_D2_V2", max_nodes=4)
        target = ComputeTarget.create(workspace, "cpu", sizes)
    status = target.get_status().serialize()
    assert set(status) >= {
        "currentNodeCount", "targetNodeCount", "nodeStateCounts", "allocationState", "allocationStateTransitionTime",
        "errors", "creationTime", "modifiedTime", "provisioningState", "scaleSettings", "vmPriority", "vmSize",
    }  # fmt: skip
    assert set(status["scaleSettings"]) == {"minNodeCount", "maxNodeCount", "nodeIdleTimeBeforeScaleDown"}


def test_trap_21_numbers_of_other_libraries_are_numbers(experiment: Experiment):
    run = interactive(experiment)
    for name, value in {"i": np.int64(7), "u": np.uint64(2**63), "f": np.float32(0.5), "l": np.longdouble(1.5)}.items():
        run.log(name, value)
    found = run.get_metrics()
    assert found == {"i": 7, "u": 2**63, "f": 0.5, "l": 1.5}
    assert [type(value) for value in found.values()] == [int, int, float, float]
    run.complete()


def test_trap_22_offline_run_has_no_experiment():
    run = Run.get_context()
    assert type(run) is _OfflineRun and not hasattr(run, "experiment") and run.id.startswith("OfflineRun")
    with pytest.raises(TypeError, match="step"):
        run.log("m", 1, step=1)


def test_trap_23_start_logging_takes_a_snapshot_and_makes_outputs(experiment: Experiment, project: Path):
    (project / "code.py").write_text("x = 1\n")
    run = experiment.start_logging()
    assert (project / "outputs").is_dir() and run.get_snapshot_id() == run.properties["ContentSnapshotId"]
    run.complete()
    bare = interactive(experiment)
    assert "ContentSnapshotId" not in bare.properties
    bare.complete()


def test_trap_24_workspace_details_are_text(workspace: Workspace):
    words = workspace.name + workspace.location + workspace.resource_group + workspace.subscription_id + workspace.sku
    assert words.startswith("testing")


def test_recursive_metrics_include_children_of_this_process(experiment: Experiment, project: Path):
    parent = interactive(experiment)
    child = parent.child_run("child")
    child.child_run("grandchild").log("m", 2)
    child.log("m", 1)
    found = parent.get_metrics(recursive=True)
    assert sorted(found.values(), key=str) == [{"m": 1}, {"m": 2}] and found[child.id] == {"m": 1}
    job = parent.submit_child(script(project, "from azureml.core import Run; Run.get_context().log('m', 3)\n"))
    job.wait_for_completion()
    assert parent.get_metrics(recursive=True, run_type="azureml.scriptrun") == {job.id: {"m": 3}}
    parent.cancel()


def test_newest_model_is_found_despite_an_older_one_on_disk(workspace: Workspace, project: Path):
    (project / "model.pkl").write_text("one")
    Model.register(workspace, "model.pkl", "m")
    assert Path(Model.get_model_path("m", _workspace=workspace)).read_text() == "one"
    (project / "model.pkl").write_text("two")
    Model.register(workspace, "model.pkl", "m")
    path = Model.get_model_path("m", _workspace=workspace)
    assert path == "azureml-models/m/2/model.pkl" and Path(path).read_text() == "two"
    assert Path(Model.get_model_path("m", version=1)).read_text() == "one"
    with pytest.raises(AzureMLException, match=r"tags is \{'a': 1\}"):
        Model.list(workspace, tags={"a": 1})  # type: ignore[arg-type]


def test_folder_may_be_uploaded_to_the_top_of_the_run(experiment: Experiment, project: Path):
    (project / "folder" / "deep").mkdir(parents=True)
    (project / "folder" / "deep" / "x.txt").write_text("x")
    run = interactive(experiment)
    run.upload_folder("", "folder")
    assert run.get_file_names() == ["deep/x.txt"]
    with pytest.raises(ServiceException, match="already exists"):
        run.upload_folder(name=".", path="folder")
    run.complete()


def test_paths_may_be_path_objects_and_images_may_be_anywhere(
    experiment: Experiment, project: Path, tmp_path_factory: pytest.TempPathFactory
):
    picture = b"\x89PNG\r\n\x1a\n" + bytes(9)
    outside = tmp_path_factory.mktemp("outside") / "drawn.png"
    for file in (outside, project / "here.png", project.parent / "above.png"):
        file.write_bytes(picture)
    (project / "lines.svg").write_text("<svg/>")
    run = interactive(experiment)
    run.log_image("outside", path=str(outside))
    run.log_image("above", path="../above.png")
    run.log_image("here", path=Path("here.png"))  # type: ignore[arg-type]
    run.log_image("lines", path=Path("lines.svg"))  # type: ignore[arg-type]
    start = f"aml://artifactId/ExperimentRun/dcid.{run.id}/"
    names = {name: address[len(start) :] for name, address in run.get_metrics().items()}
    assert names == {
        "outside": str(outside).lstrip("/"), "above": "above.png", "here": "here.png", "lines": "lines.svg",
    }  # fmt: skip
    run.upload_folder(Path("folder"), project)  # type: ignore[arg-type]
    run.download_file("here.png", Path("got") / "one.png")  # type: ignore[arg-type]
    run.download_files("folder", output_directory=project / "more", append_prefix=False)  # type: ignore[arg-type]
    assert Path("got/one.png").read_bytes() == picture == Path("more/here.png").read_bytes()
    run.take_snapshot(project / "got")  # type: ignore[arg-type]
    assert run.restore_snapshot(path=project / "back.zip") == str(project / "back.zip")  # type: ignore[arg-type]
    run.complete()
