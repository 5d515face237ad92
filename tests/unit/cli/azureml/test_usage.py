"""The share of Azure's API that public code uses and that works here."""

from __future__ import annotations

import json

import pytest
from click.testing import CliRunner

from footplate.cli.azureml import usage
from footplate.cli.azureml.checker import DIFFERS, MISSING, WORKS
from footplate.cli.azureml.commands import azureml
from footplate.cli.azureml.usage import HOMES, Symbol

NOT_YET = {
    "InputPortDef", "ParallelRunConfig", "PipelineDraft", "PipelineEndpoint", "PublishedPipeline", "Schedule",
    "ScheduleRecurrence", "TrainingOutput",
    "AdlaStep", "AutoMLStep", "AzureBatchStep", "DataTransferStep", "DatabricksStep", "HyperDriveStep", "KustoStep",
    "ModuleStep", "NotebookRunnerStep", "ParallelRunStep", "SynapseSparkStep",
}  # fmt: skip
BEYOND_METHODS = {
    "Pipeline.publish",
    "<run>.get_best_child", "<run>.publish_pipeline", "Experiment.submit(show_output=)",
}  # fmt: skip


def names_beyond() -> set[str]:
    """Return the names of automated machine learning, and the parts of pipelines that Footplate does not have."""
    modules = [names for module, names in HOMES.items() if module.startswith("azureml.train.automl")]
    classes = NOT_YET | {name for names in modules for name in names.split()}
    return BEYOND_METHODS | {each.name for each in usage.symbols() if each.name.split("(")[0].split(".")[0] in classes}


def test_every_name_belongs_to_a_module() -> None:
    known = {name for names in HOMES.values() for name in names.split()} | {"<run>", "<dataset>"}
    assert {each.name.split("(")[0].split(".")[0] for each in usage.symbols()} == known
    assert len(usage.symbols()) > 400 and all(each.files > 0 for each in usage.symbols())


def test_everything_else_works() -> None:
    missing = {each.name: usage.why_missing(each) for each in usage.symbols()}
    assert {name for name, why in missing.items() if why} == names_beyond()


@pytest.mark.parametrize(
    ("symbol", "why"),
    [
        (Symbol("call", "Run.nothing", 1, 1), "Run has no nothing"),
        (Symbol("keyword", "Run.log(nothing=)", 1, 1), "no parameter nothing"),
        (Symbol("keyword", "Experiment.submit(show_output=)", 9, 6), "hint: it belongs to azureml.train.automl"),
        (Symbol("call", "DatabricksStep", 1, 1), "Footplate has no Databricks"),
        (Symbol("call", "Workspace.sync_keys", 1, 1), "not available"),
    ],
)
def test_a_missing_name_has_a_reason(symbol: Symbol, why: str) -> None:
    assert why in str(usage.why_missing(symbol))


def test_a_use_works_differs_or_is_missing() -> None:
    judged = {each.name: usage.judge(each)[0] for each in usage.symbols()}
    assert judged["Workspace.from_config"] == judged["Experiment.submit(config=)"] == WORKS
    assert judged["RunDetails.show"] == judged["AmlCompute.provisioning_configuration(vnet_name=)"] == DIFFERS
    assert judged["Experiment.submit(show_output=)"] == judged["AutoMLConfig"] == MISSING


def test_the_shares_are_weighted_by_files() -> None:
    judged = [
        (Symbol("call", "a", 3, 2), WORKS),
        (Symbol("call", "b", 1, 0), MISSING),
        (Symbol("call", "c", 0, 2), DIFFERS),
    ]
    assert usage.shares(judged) == {WORKS: 5 / 8, DIFFERS: 2 / 8, MISSING: 1 / 8}


def test_pipelines_and_automated_machine_learning_are_counted() -> None:
    counts = {each.name: (each.examples, each.others) for each in usage.symbols()}
    assert (counts["Pipeline"], counts["PythonScriptStep"], counts["AutoMLConfig"]) == ((48, 13), (25, 9), (59, 6))


def test_the_command_prints_the_shares_and_what_is_missing() -> None:
    data = json.loads(CliRunner().invoke(azureml, ["coverage", "--json"], standalone_mode=False).stdout)
    assert {one["name"] for one in data["missing"]} == names_beyond()
    assert "RunDetails.show" in {one["name"] for one in data["differs"]}
    assert sum(data["shares"].values()) == pytest.approx(1) and data["share"] == data["shares"]["works"]
    text = CliRunner().invoke(azureml, ["coverage"], standalone_mode=False).stdout
    assert f"{data['share']:.1%} work as on Azure" in text and f"{data['shares']['missing']:.1%} are missing" in text
    assert text.count("Footplate has no automated model selection\n  AutoMLConfig (65), ") == 1
