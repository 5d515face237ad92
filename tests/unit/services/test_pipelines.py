"""Steps at the moment they start: what is reused, what is not, and why."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

from footplate.content.listing import write_listing
from footplate.data.resolve import resolve
from footplate.domain.datasets import written_definition
from footplate.domain.orders import DataInput, DataOutput, Program
from footplate.domain.pipelines import reuse
from footplate.domain.pipelines.graph import PipelineSpec, PipelineStep, StepInput, controller_of
from footplate.domain.requests import NewDataset
from footplate.domain.specs import EnvironmentSpec, RunSpec

from .conftest import FakeEngine, House, open_house, run_through

WRITE = DataOutput("data", path="azureml/{run-id}/{output-name}")


def job(step: str, *arguments: str, **changes: Any) -> RunSpec:
    spec = RunSpec(
        "lab", program=Program("train.py", arguments), environment=EnvironmentSpec(interpreter="python3"),
        properties={reuse.STEP: step},
    )  # fmt: skip
    return replace(spec, **changes)


def start(house: House, run: str, pipeline: PipelineSpec, **children: RunSpec) -> None:
    house.submit(run, kind="group", program=None, controller=controller_of(pipeline, children))


def one(house: House, run: str, spec: RunSpec, **options: Any) -> None:
    start(house, run, PipelineSpec({"a": PipelineStep("first")}, **options), a=spec)


def reason(house: House, run: str) -> str:
    house.bulletin.until(lambda: any(child.id == run for child in house.store.runs.children(run.rpartition("_")[0])))
    return house.services.runs.view(run).properties[reuse.REASON]


def datastore(house: House) -> Path:
    folder = Path(house.services.datastores.access(house.workspace, WRITE.datastore).location["path"])
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def write(house: House, run: str, text: str) -> None:
    """Act as the agent of a step that writes an output: put a file there, and register it."""
    folder = datastore(house) / "azureml" / run / "data"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "x.txt").write_text(text)
    definition = written_definition(WRITE, run)
    stores = {WRITE.datastore: house.services.datastores.access(house.workspace, WRITE.datastore)}
    listing = write_listing(resolve(definition, stores), str(house.home / f"{run}.listing"))
    house.store.blobs.put_file(str(house.home / f"{run}.listing"))
    new = NewDataset(f"{run}/data", "file", definition, listing=listing.digest, run=run, output="data")
    house.services.datasets.register(house.workspace, new)


def test_an_equal_step_is_reused_without_a_node(house: House) -> None:
    one(house, "p1", job("first", "1"))
    run_through(house, "p1_a")
    house.until_status("p1", "Completed")
    assert reason(house, "p1_a") == "runs because it has not completed before"
    one(house, "p2", job("first", "1"))
    house.until_status("p2", "Completed")
    view = house.services.runs.view("p2_a")
    assert (view.status, view.properties[reuse.REUSED_RUN]) == ("Completed", "p1_a")
    assert house.engine.submitted == ["p1_a"]
    one(house, "p3", job("first", "1"))  # of a step that was reused itself
    assert reason(house, "p3_a") == "reused from p1_a"


def test_a_step_that_differs_runs_and_says_why(house: House) -> None:
    one(house, "p1", job("first", "--rate", "1"))
    run_through(house, "p1_a")
    one(house, "p2", job("first", "--rate", "2"))
    assert reason(house, "p2_a") == "runs because argument 2 --rate is '2', was '1' since p1_a"
    one(house, "p3", job("first", "--rate", "1"), regenerate=True)
    assert "regenerate" in reason(house, "p3_a")
    start(house, "p4", PipelineSpec({"a": PipelineStep("first", allow_reuse=False)}), a=job("first", "--rate", "1"))
    assert reason(house, "p4_a") == "runs because it does not allow reuse"


def test_a_failed_step_is_never_reused(house: House) -> None:
    one(house, "p1", job("first"))
    house.until_launched("p1_a")
    house.services.runs.cancel("p1")
    one(house, "p2", job("first"))
    assert reason(house, "p2_a") == "runs because it has not completed before"


TWO = PipelineSpec({"a": PipelineStep("first"), "b": PipelineStep("second", inputs=(StepInput("in", "a", "data"),))})


def run_two(house: House, run: str, argument: str, text: str) -> None:
    start(house, run, TWO, a=job("first", argument, outputs=(WRITE,)), b=job("second"))
    house.until_launched(f"{run}_a")
    write(house, f"{run}_a", text)
    run_through(house, f"{run}_a")


def test_the_content_of_data_counts_and_not_its_place(house: House) -> None:
    run_two(house, "p1", "1", "same")
    run_through(house, "p1_b")
    house.until_status("p1", "Completed")
    read = house.services.runs.view("p1_b").spec
    assert read is not None and [each.name for each in read.inputs] == ["in"]
    run_two(house, "p2", "2", "same")  # runs again, and writes the same elsewhere
    house.until_status("p2", "Completed")
    assert reason(house, "p2_b") == "reused from p1_b"
    run_two(house, "p3", "3", "other")
    assert reason(house, "p3_b") == "runs because input in changed since p1_b"


def test_a_lost_output_is_written_again(house: House) -> None:
    run_two(house, "p1", "1", "same")
    run_through(house, "p1_b")
    house.until_status("p1", "Completed")
    (datastore(house) / "azureml/p1_a/data/x.txt").unlink()
    start(house, "p2", TWO, a=job("first", "1", outputs=(WRITE,)), b=job("second"))
    assert reason(house, "p2_a") == "runs because output 'data' of p1_a has changed or is gone"


def test_a_step_whose_input_was_not_written_fails_with_the_names(house: House) -> None:
    start(house, "p1", TWO, a=job("first", outputs=(WRITE,)), b=job("second"))
    run_through(house, "p1_a")
    house.until_status("p1", "Failed")
    outcome = house.services.runs.view("p1").outcome
    assert outcome is not None and outcome.cause is not None
    assert "'second' reads output 'data' of run p1_a, which wrote nothing" in outcome.cause.message


def test_a_changed_file_of_a_datastore_is_seen(house: House) -> None:
    spec = job("first", inputs=(DataInput("d", datastore=WRITE.datastore, path="f.txt"),))
    folder = datastore(house)
    (folder / "f.txt").write_text("x")
    one(house, "p1", spec)
    run_through(house, "p1_a")
    house.until_status("p1", "Completed")
    (folder / "f.txt").write_text("y")
    one(house, "p2", spec)
    assert reason(house, "p2_a") == "runs because input d changed since p1_a"


def test_a_restarted_server_submits_each_step_once(tmp_path: Path) -> None:
    house = open_house(tmp_path, FakeEngine())
    one(house, "p1", job("first"))
    house.until_launched("p1_a")
    house.services.stop()
    house.store.close()
    again = open_house(tmp_path, FakeEngine())
    try:
        run_through(again, "p1_a")
        again.until_status("p1", "Completed")
        assert reason(again, "p1_a") == "runs because it has not completed before"
    finally:
        again.services.stop()
        again.store.close()
