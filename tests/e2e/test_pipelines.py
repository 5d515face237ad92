"""Pipelines in Azure's words: steps that hand data to each other, reuse, failure, resumption, a killed server."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from azureml.core import Experiment, Workspace
from azureml.core.runconfig import RunConfiguration
from azureml.data import OutputFileDatasetConfig
from azureml.data.data_reference import DataReference
from azureml.exceptions import ActivityFailedException, ServiceException, UserErrorException
from azureml.pipeline.core import Pipeline, PipelineData, PipelineParameter, PipelineRun, StepSequence
from azureml.pipeline.steps import CommandStep, DatabricksStep, EstimatorStep, MpiStep, PythonScriptStep
from azureml.train.estimator import Estimator
from footplate.testing.waiting import wait_until
from support.ops_tools import kill_server, write_source

SCRIPT = """
    import argparse, os, sys, time
    from azureml.core import Run
    parser = argparse.ArgumentParser()
    parser.add_argument("--source")
    parser.add_argument("--to")
    parser.add_argument("--text", default="")
    parser.add_argument("--wait")
    parser.add_argument("--fail-without")
    given = parser.parse_args()
    run = Run.get_context()
    while given.wait and not os.path.exists(given.wait):
        time.sleep(0.02)
    if given.fail_without and not os.path.exists(given.fail_without):
        raise RuntimeError("the file is missing")
    text = given.text + os.environ.get("AML_PARAMETER_more", "")
    if given.source:
        for folder, _, names in sorted(os.walk(given.source)):
            text += "".join(open(os.path.join(folder, name)).read() for name in sorted(names))
    for data in run.input_datasets.values() if "x" in run.input_datasets else ():
        text += ",".join(str(value) for value in data.to_pandas_dataframe()["v"])
    if given.to:
        os.makedirs(given.to, exist_ok=True)
        open(os.path.join(given.to, "text.csv"), "w").write(text)
    print("text:", text)
    run.log("length", len(text))
"""


@pytest.fixture
def source(project: Path) -> str:
    return str(write_source(project, SCRIPT))


def step(source: str, name: str, *arguments: Any, **options: Any) -> PythonScriptStep:
    return PythonScriptStep("train.py", name=name, arguments=[*arguments], source_directory=source, **options)


def finish(run: PipelineRun) -> list[str]:
    run.wait_for_completion(show_output=False, raise_on_error=False)
    return [f"{each.name} {each.reason.partition(' ')[0]}" for each in run.get_steps()]


def test_steps_hand_data_over_and_are_reused(
    workspace: Workspace, source: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], footplate: Any
) -> None:
    word = PipelineParameter("word", "one")
    first_data = PipelineData("first_data", datastore=workspace.get_default_datastore(), pipeline_output_name="start")
    second_data = OutputFileDatasetConfig("second_data")
    step(source, "first", "--to", first_data, "--text", word, outputs=[first_data], params={"more": word})
    step(source, "second", "--source", first_data, "--to", second_data, inputs=[first_data])
    third = step(source, "third", "--source", second_data.as_input("texts"))
    pipeline = Pipeline(workspace, steps=[third])
    assert pipeline.validate() == []

    run = Experiment(workspace, "lab").submit(pipeline, tags={"kind": "nightly"})
    assert isinstance(run, PipelineRun)
    assert run.wait_for_completion(show_output=True) == "Finished"
    printed = capsys.readouterr().out
    assert "step first runs because it has not completed before" in printed
    assert "the pipeline ends as completed" in printed
    assert [each.name for each in run.get_steps()] == ["first", "second", "third"]
    (last,) = run.find_step_run("third")
    assert last.get_stdout_log() == "text: oneone\n"
    assert last.get_metrics() == {"length": 6}
    place = run.find_step_run("first")[0].get_outputs()["first_data"].get_port_data_reference()
    assert place.path_on_datastore == f"azureml/{run.id}_0/first_data"
    assert place.download(str(tmp_path)) == 1
    assert (tmp_path / place.path_on_datastore / "text.csv").read_text() == "oneone"
    assert run.get_pipeline_output("start").path_on_datastore == place.path_on_datastore

    again = pipeline.submit("lab")
    assert finish(again) == ["first reused", "second reused", "third reused"]
    reused = again.find_step_run("third")[0]
    assert (reused.get_stdout_log(), reused.get_metrics()) == ("text: oneone\n", {"length": 6})
    assert reused.reused_run_id == last.id

    other = pipeline.submit("lab", pipeline_parameters={"word": "two"})
    assert finish(other) == ["first runs", "second runs", "third runs"]
    assert "argument 4 --text is 'two', was 'one'" in other.find_step_run("first")[0].reason
    assert isinstance(workspace.get_run(other.id), PipelineRun)

    explained = footplate.json("pipelines", "explain", again.id)
    assert [(each["step"], each["status"]) for each in explained] == [
        (n, "Completed") for n in ("first", "second", "third")
    ]
    assert f"reused from {last.id}" in footplate("pipelines", "explain", again.id).stdout
    assert [each["id"] for each in footplate.json("pipelines", "list")] == [other.id, again.id, run.id]


def test_a_step_reads_tables_folders_and_references(workspace: Workspace, source: str, tmp_path: Path) -> None:
    store: Any = workspace.get_default_datastore()
    (tmp_path / "a.txt").write_text("file")
    store.upload_files([str(tmp_path / "a.txt")], target_path="in", show_progress=False)
    files = DataReference(store, "files", "in")
    table = PipelineData("table")
    step(source, "write", "--to", table, "--text", "v\n1\n2\n", outputs=[table])
    read = table.as_dataset().parse_delimited_files().as_named_input("x")
    second = step(source, "table", inputs=[read])
    third = step(source, "folder", "--source", table.as_download("copy"))
    fourth = step(source, "reference", "--source", files, inputs=[files])
    run = Pipeline(workspace, [second, third, fourth]).submit("lab")
    assert run.wait_for_completion(show_output=False) == "Finished"
    logs = {each.name: each.get_stdout_log() for each in run.get_steps()}
    assert logs["table"] == "text: 1,2\n"
    assert logs["folder"] == "text: v\n1\n2\n\n"
    assert logs["reference"] == "text: file\n"


def test_other_kinds_of_steps_run(workspace: Workspace, source: str) -> None:
    with pytest.warns(DeprecationWarning):
        estimator = Estimator(source, entry_script="train.py", compute_target="local", user_managed=True)
        mpi = MpiStep("mpi", source, "train.py", ["--text", "m"], "local", 1, 1, user_managed=True)
    steps = [
        EstimatorStep("estimator", estimator, ["--text", "e"]),
        CommandStep(
            command="echo $AML_PARAMETER_word", name="command", params={"word": "hello"}, source_directory=source
        ),
        mpi,
    ]
    run = Pipeline(workspace, StepSequence(steps)).submit("lab")
    assert run.wait_for_completion(show_output=False) == "Finished"
    logs = {each.name: each.get_stdout_log() for each in run.get_steps()}
    assert logs == {"estimator": "text: e\n", "command": "hello\n", "mpi": "text: m\n"}
    ends = [each.view.ended for each in run.get_steps()]
    assert ends == sorted(ends, key=float)  # type: ignore[arg-type]


def test_a_failed_pipeline_goes_on_from_the_failed_step(workspace: Workspace, source: str, tmp_path: Path) -> None:
    go = tmp_path / "go"
    steps = [step(source, "first"), step(source, "second", "--fail-without", str(go)), step(source, "third")]
    run = Pipeline(workspace, StepSequence(steps)).submit("lab")
    with pytest.raises(ActivityFailedException, match=r"step 'second' failed.*the file is missing"):
        run.wait_for_completion(show_output=False)
    assert run.get_status() == "Failed"
    assert [each.name for each in run.get_steps()] == ["first", "second"]
    go.write_text("")
    run.restart()
    assert run.wait_for_completion(show_output=False) == "Finished"
    assert [(each.name, each.attempt) for each in run.get_steps()] == [("first", 1), ("second", 2), ("third", 1)]


def test_a_killed_server_starts_each_step_once(home: Path, workspace: Workspace, source: str, tmp_path: Path) -> None:
    go = tmp_path / "go"
    steps = [step(source, f"s{n}", "--text", str(n), "--wait", str(go)) for n in range(3)]
    run = Pipeline(workspace, StepSequence(steps)).submit("lab")
    kill_server(home)
    wait_until(lambda: len(list(run.get_steps())) == 1)
    kill_server(home)
    go.write_text("")
    assert finish(run) == ["s0 runs", "s1 runs", "s2 runs"]
    for each in run.get_steps():
        assert [line.event for line in each.story()].count("RunSubmitted") == 1
        assert each.attempt == 1


def test_mistakes_are_named_before_anything_runs(workspace: Workspace, source: str) -> None:
    nobody = PipelineData("nobody")
    first, second = step(source, "first"), step(source, "second")
    first.run_after(second)
    second.run_after(first)
    assert "wait for each other" in Pipeline(workspace, [first]).validate()[0]["message"]
    with pytest.raises(UserErrorException, match="uses 'nobody', which no step writes"):
        Pipeline(workspace, [step(source, "reads", inputs=[nobody])]).submit("lab")
    with pytest.raises(UserErrorException, match="no parameter 'rate'"):
        Pipeline(workspace, [step(source, "s")]).submit("lab", pipeline_parameters={"rate": 1})
    with pytest.raises(UserErrorException, match="is not a step"):
        Pipeline(workspace, ["train.py"])
    with pytest.raises(UserErrorException, match="Footplate has no Databricks"):
        DatabricksStep(name="x")
    config = RunConfiguration()
    config.target = "nowhere"
    with pytest.raises(ServiceException, match="no compute target 'nowhere'"):
        Pipeline(workspace, [step(source, "s", runconfig=config)]).submit("lab")
