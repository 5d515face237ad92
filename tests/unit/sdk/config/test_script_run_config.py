from __future__ import annotations

import decimal
import fractions
import re
import sys
from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest

from footplate.domain.orders import Program
from footplate.sdk.config.run_configuration import MpiConfiguration, PyTorchConfiguration, RunConfiguration
from footplate.sdk.config.run_data import ConfiguredData
from footplate.sdk.config.script_run_config import ScriptRunConfig, to_run_spec
from footplate.sdk.environments.environment import Environment
from footplate.sdk.exceptions import ExperimentExecutionException, RunConfigurationException, UserErrorException
from footplate.sdk.values.run_configuration_sections import Data, DataLocation, RunDataset
from footplate.sdk.workspace import Workspace


@pytest.fixture
def source(tmp_path: Path) -> str:
    (tmp_path / "sub").mkdir()
    (tmp_path / "train.py").write_text("")
    (tmp_path / "sub" / "other.py").write_text("")
    return str(tmp_path)


def test_a_script_becomes_a_spec(source: str):
    spec = to_run_spec(ScriptRunConfig(source, "train.py", ["--lr", 0.1, "--n", 3, "$HOME"]), "exp")
    assert spec.program == Program("train.py", ("--lr", "0.1", "--n", "3", "$HOME"))
    assert (spec.experiment, spec.kind, spec.type, spec.target) == ("exp", "job", "azureml.scriptrun", "local")
    assert spec.environment.interpreter == sys.executable
    assert spec.max_seconds == 2592000.0
    assert (spec.collect, spec.watch) == (("outputs",), ("logs",))
    assert spec.definition["arguments"] == ["--lr", "0.1", "--n", "3", "$HOME"]
    assert spec.definition["script"] == "train.py"


def test_scripts_are_searched_in_the_source_directory(source: str):
    assert to_run_spec(ScriptRunConfig(source, "./sub//other.py"), "e").program == Program("sub/other.py")
    for bad in ("nowhere.py", "../train.py", str(Path(source).parent / "x.py")):
        with pytest.raises(ExperimentExecutionException, match="not found in the source directory"):
            to_run_spec(ScriptRunConfig(source, bad), "e")


def test_an_absolute_script_path_becomes_relative(source: str):
    assert to_run_spec(ScriptRunConfig(source, source + "/train.py"), "e").program == Program("train.py")


def test_a_command_replaces_the_script(source: str):
    assert to_run_spec(ScriptRunConfig(source, command="echo $A && ls"), "e").program == Program(
        command="echo $A && ls"
    )
    parts = ["python", "train.py", "--n", 3]
    assert to_run_spec(ScriptRunConfig(source, command=parts), "e").program == Program(command="python train.py --n 3")
    with pytest.raises(UserErrorException, match="both command and script"):
        to_run_spec(ScriptRunConfig(source, "train.py", command="ls"), "e")
    with pytest.raises(UserErrorException, match="neither"):
        to_run_spec(ScriptRunConfig(source), "e")


def test_arguments_in_a_string_are_split_as_in_a_shell(source: str):
    expected = ("--n", "3", "--name", "a b")
    config = ScriptRunConfig(source, "train.py", "--n 3 --name 'a b'")
    assert to_run_spec(config, "e").program == Program("train.py", expected)
    config.arguments = "--n 3"  # type: ignore[assignment]
    assert to_run_spec(config, "e").program == Program("train.py", ("--n", "3"))
    run_config = RunConfiguration("train.py", "--n 3 --name 'a b'")
    assert to_run_spec(ScriptRunConfig(source, run_config=run_config), "e").program == Program("train.py", expected)
    with pytest.raises(UserErrorException, match="No closing quotation"):
        ScriptRunConfig(source, "train.py", "--name 'a")


def test_numbers_of_any_library_are_arguments(source: str):
    given = [np.int64(3), np.float32(0.5), True, Path("data"), decimal.Decimal("0.1"), fractions.Fraction(1, 2)]
    made = to_run_spec(ScriptRunConfig(source, "train.py", given), "e").program
    assert made is not None and made.arguments == ("3", "0.5", "True", "data", "0.1", "1/2")


def test_arguments_that_are_not_scalars_are_refused_by_name(source: str):
    with pytest.raises(UserErrorException, match=r"\['x'\] is a list"):
        to_run_spec(ScriptRunConfig(source, "train.py", ["--a", ["x"]]), "e")


def test_parameters_apply_without_a_run_config(source: str):
    environment = Environment("mine")
    environment.python.user_managed_dependencies = True
    config = ScriptRunConfig(
        source, "train.py", compute_target="cluster", environment=environment,
        distributed_job_config=PyTorchConfiguration(node_count=1, process_count=2), max_run_duration_seconds=60,
    )  # fmt: skip
    spec = to_run_spec(config, "e")
    assert (spec.target, spec.environment.name, spec.max_seconds) == ("cluster", "mine", 60.0)
    assert (spec.distribution.kind, spec.distribution.process_count) == ("torch", 2)


def test_parameters_beside_a_run_config_give_a_warning(source: str, caplog: pytest.LogCaptureFixture):
    config = ScriptRunConfig(source, "train.py", run_config=RunConfiguration(), compute_target="cluster")
    assert to_run_spec(config, "e").target == "local"
    assert "compute_target is ignored" in caplog.text


def test_script_and_arguments_override_the_run_config(source: str):
    run_config = RunConfiguration(script="sub/other.py", arguments=["a"])
    assert to_run_spec(ScriptRunConfig(source, run_config=run_config), "e").program == Program("sub/other.py", ("a",))
    config = ScriptRunConfig(source, "train.py", ["b"], run_config)
    assert to_run_spec(config, "e").program == Program("train.py", ("b",))


def test_later_edits_do_not_change_a_spec(source: str):
    config = ScriptRunConfig(source, "train.py")
    first = to_run_spec(config, "e")
    config.run_config.target = "cluster"
    config.run_config.environment_variables["A"] = "b"
    config.arguments.append("more")
    second = to_run_spec(config, "e")
    assert (first.target, first.environment_variables, first.program) == ("local", {}, Program("train.py"))
    assert (second.target, second.environment_variables) == ("cluster", {"A": "b"})
    assert second.program == Program("train.py", ("more",))


def test_a_target_can_be_an_object(source: str):
    class Cluster:
        name = "gpu-cluster"

    assert to_run_spec(ScriptRunConfig(source, "train.py", compute_target=Cluster()), "e").target == "gpu-cluster"


def test_unsupported_features_are_refused_at_submission(source: str):
    config = ScriptRunConfig(source, "train.py")
    config.run_config.data_references = {"mnist": object()}
    with pytest.raises(UserErrorException, match="mnist"):
        to_run_spec(config, "e")
    with pytest.raises(RunConfigurationException, match="'mpi'"):
        ScriptRunConfig(source, "train.py", distributed_job_config="mpi")  # type: ignore[arg-type]
    with pytest.raises(UserErrorException, match="resume_from"):
        ScriptRunConfig(source, "train.py", resume_from=object())


@pytest.mark.parametrize("curated", ["AzureML-TensorFlow-2.2-GPU", None])
def test_an_environment_learns_of_mpi(source: str, curated: str | None):
    """Runs over MPI bring Open MPI, and the Horovod of Azure's environments is built only for them."""
    environment = Environment("clone")
    environment.curated = curated
    for job, told in ((MpiConfiguration(node_count=2), True), (PyTorchConfiguration("Gloo"), None), (None, None)):
        config = ScriptRunConfig(source, "train.py", environment=environment, distributed_job_config=job)
        assert to_run_spec(config, "e").environment.options.get("mpi") is told


def test_an_argument_that_names_an_unknown_input_is_refused(source: str):
    config = ScriptRunConfig(source, "train.py", ["--data", "DatasetConsumptionConfig:mnist"])
    with pytest.raises(UserErrorException, match="names an input that the run does not have") as caught:
        to_run_spec(config, "fit")
    assert "run_config.data['mnist']" in str(caught.value)


def test_frameworks_are_written_in_any_case(source: str):
    config = ScriptRunConfig(source, "train.py")
    config.run_config.framework = "python"
    assert to_run_spec(config, "fit").distribution.kind == "none"


@pytest.mark.parametrize(
    "data, words",
    [
        (Data(), "names no dataset"),
        (Data(DataLocation(RunDataset())), "names no dataset"),
        (Data(environment_variable_name="other"), "has the variable 'other'"),
        (3, "is 3"),
    ],
)
def test_an_input_without_a_dataset_is_refused(data: Any, words: str):
    config = RunConfiguration()
    config.data["mnist"] = data
    with pytest.raises(UserErrorException, match=words):
        ConfiguredData(cast("Workspace", object())).add_configured(config)


@pytest.mark.parametrize(
    ("name", "wrong"),
    [("script", 5), ("script", b"train.py"), ("command", 5), ("command", b"ls"), ("script", ["a.py"])],
)
def test_a_program_that_is_not_text_is_named(name: str, wrong: Any) -> None:
    with pytest.raises(UserErrorException, match=re.escape(f"{name} is {wrong!r}")) as caught:
        ScriptRunConfig(".", **{name: wrong})
    assert caught.value.hint
    config = ScriptRunConfig(".")
    setattr(config, name, wrong)
    with pytest.raises(UserErrorException, match=re.escape(f"{name} is {wrong!r}")):
        to_run_spec(config, "e")
