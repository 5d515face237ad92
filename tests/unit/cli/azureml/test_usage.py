"""The share of Azure's API that public code uses and that works here."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest
from click.testing import CliRunner

from footplate.cli.azureml import usage
from footplate.cli.azureml.commands import azureml
from footplate.cli.azureml.usage import HOMES, Symbol

BEYOND = ("<run>.get_best_child", "<run>.publish_pipeline", "TrainingOutput")
"""Names of automated machine learning and pipelines, which Footplate does not have."""


def test_every_name_belongs_to_a_module() -> None:
    known = {name for names in HOMES.values() for name in names.split()} | {"<run>", "<dataset>"}
    assert {each.name.split("(")[0].split(".")[0] for each in usage.symbols()} == known
    assert len(usage.symbols()) > 400 and all(each.files > 0 for each in usage.symbols())


def test_everything_else_works() -> None:
    missing = {each.name: usage.why_missing(each) for each in usage.symbols()}
    assert {name for name, why in missing.items() if why} == set(BEYOND)


@pytest.mark.parametrize(
    ("symbol", "why"),
    [
        (Symbol("call", "Run.nothing", 1, 1), "Run has no nothing"),
        (Symbol("keyword", "Run.log(nothing=)", 1, 1), "no parameter nothing"),
        (Symbol("call", "TrainingOutput", 1, 1), "pipelines"),
        (Symbol("call", "Workspace.sync_keys", 1, 1), "not available"),
    ],
)
def test_a_missing_name_has_a_reason(symbol: Symbol, why: str) -> None:
    assert why in str(usage.why_missing(symbol))


def test_the_share_is_weighted_by_files() -> None:
    assert usage.share([(Symbol("call", "a", 2, 1), None), (Symbol("call", "b", 1, 0), "gone")]) == 0.75


def test_the_command_prints_the_share_and_what_is_missing() -> None:
    data = json.loads(CliRunner().invoke(azureml, ["coverage", "--json"], standalone_mode=False).stdout)
    assert data["share"] > 0.99 and {one["name"] for one in data["missing"]} == set(BEYOND)
    text = CliRunner().invoke(azureml, ["coverage"], standalone_mode=False).stdout
    assert f"{data['share']:.1%} of " in text and "missing TrainingOutput (12 files): " in text


def test_the_share_is_the_same_without_libraries_that_plugins_need() -> None:
    code = (
        "import sys; sys.modules['mlflow'] = None; from footplate.cli.azureml import usage;"
        "print(sum(usage.why_missing(each) is not None for each in usage.symbols()))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120)
    assert done.stdout.strip() == str(len(BEYOND)), done.stderr
