"""Common mistakes: each message names the value and ends with a hint."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from footplate.sdk.compute.cloud import RemoteCompute
from footplate.sdk.config.run_configuration import MpiConfiguration, PyTorchConfiguration, TensorflowConfiguration
from footplate.sdk.config.script_run_config import ScriptRunConfig, to_run_spec
from footplate.sdk.data.datastore_kinds import AbstractDatastore
from footplate.sdk.data.references import DataReference
from footplate.sdk.environments.conda_dependencies import CondaDependencies
from footplate.sdk.environments.environment import Environment
from footplate.sdk.estimators.estimator import Estimator
from footplate.sdk.estimators.frameworks import TensorFlow
from footplate.sdk.exceptions import AzureMLException, WebserviceException
from footplate.sdk.experiment import Experiment, submit
from footplate.sdk.models.model import Model
from footplate.sdk.values.labels import texts

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")

ANYTHING: Any = None
"""A workspace for mistakes that are found before any request."""


@pytest.fixture
def source(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "models").mkdir()
    (tmp_path / "train.py").write_text("")
    return str(tmp_path)


def submitted(source: str, script: str = "train.py", **parameters: Any) -> None:
    to_run_spec(ScriptRunConfig(source, script, **parameters), "e")


def estimator(source: str, **parameters: Any) -> None:
    Estimator(source, **{"compute_target": "local", "entry_script": "train.py", **parameters})


MISTAKES: dict[str, tuple[Callable[[str], Any], str, str]] = {
    "a misspelled script": (lambda s: submitted(s, "trian.py"), "'trian.py'", "did you mean 'train.py'"),
    "a folder as the script": (lambda s: submitted(s, "models"), "'models' is a directory", "models/train.py"),
    "a script outside": (lambda s: submitted(s, "../train.py"), "'../train.py'", "outside"),
    "a name for an environment": (lambda s: submitted(s, environment="sklearn"), "'sklearn'", "Environment.get"),
    "packages for an environment": (
        lambda s: submitted(s, environment=CondaDependencies()), "CondaDependencies", "Environment.get",
    ),
    "an environment for a target": (lambda s: submitted(s, compute_target=Environment("x")), "Environment", "cluster"),
    "arguments by name": (lambda s: submitted(s, arguments={"--lr": 1}), "{'--lr': 1}", "['--lr', 1]"),
    "bytes as arguments": (lambda s: submitted(s, arguments=b"--lr 1"), "b'--lr 1'", "give a list"),
    "a number as arguments": (lambda s: submitted(s, arguments=1), "arguments is 1", "give a list"),
    "no nodes": (
        lambda s: submitted(s, distributed_job_config=MpiConfiguration(node_count=0)), "node_count is 0", "at least 1",
    ),
    "nodes as a text": (
        lambda s: submitted(s, distributed_job_config=MpiConfiguration(node_count="2")),  # pyright: ignore
        "node_count is '2'", "whole number",
    ),
    "no processes": (
        lambda s: submitted(s, distributed_job_config=MpiConfiguration(process_count_per_node=0)),
        "process_count_per_node is 0", "at least 1",
    ),
    "no workers": (
        lambda s: submitted(s, distributed_job_config=TensorflowConfiguration(worker_count=0)),
        "worker_count is 0", "at least 1",
    ),
    "fewer than no parameter servers": (
        lambda s: submitted(s, distributed_job_config=TensorflowConfiguration(2, -1)),
        "parameter_server_count is -1", "at least 0",
    ),
    "half a process": (
        lambda s: submitted(s, distributed_job_config=PyTorchConfiguration("Gloo", 1.5)),  # pyright: ignore
        "process_count is 1.5", "whole number",
    ),
    "script_params as a list": (lambda s: estimator(s, script_params=["--lr", 1]), "['--lr', 1]", "{'--lr': 1}"),
    "script_params by number": (lambda s: estimator(s, script_params={1: 2}), "1 as the name", "'--"),
    "packages as a text": (lambda s: estimator(s, pip_packages="pandas"), "'pandas'", "pip_packages=['pandas']"),
    "conda packages as a text": (lambda s: estimator(s, conda_packages="pandas"), "'pandas'", "conda_packages=["),
    "a misspelled parameter": (lambda s: estimator(s, conda_package=["x"]), "conda_package", "conda_packages"),
    "a misspelled framework version": (
        lambda s: TensorFlow(s, entry_script="train.py", compute_target="local", framework_verison="2.2"),  # pyright: ignore
        "framework_verison", "framework_version",
    ),
    "a missing conda file": (lambda _: Environment.from_conda_specification("e", "env.yml"), "'env.yml'", "path"),
    "a missing list of requirements": (lambda _: Environment.from_pip_requirements("e", "r.txt"), "'r.txt'", "path"),
    "a missing Dockerfile": (lambda _: Environment.from_dockerfile("e", "./Dockerfile"), "'./Dockerfile'", "path"),
    "a name for a workspace": (lambda _: Experiment("ws", "e"), "'ws'", "Workspace.from_config"),  # pyright: ignore
    "a name for a datastore": (lambda _: DataReference("blob", "x"), "'blob'", "Datastore.get"),  # pyright: ignore
    "a class for an object": (lambda _: submit(ANYTHING, Estimator, {}, None, {}), "Estimator", "Estimator(…)"),
    "a path for a configuration": (lambda _: submit(ANYTHING, "t.py", {}, None, {}), "'t.py'", "ScriptRunConfig"),
    "tags as a list": (lambda _: texts(["a"]), "['a']", "{'key': 'value'}"),
    "a number for a name": (lambda _: Environment(3), "not 3", "Environment("),  # pyright: ignore
    "a model that is not there": (lambda _: Model.register(ANYTHING, "out/model", "m"), "'out/model'", "path"),
    "deploying": (lambda _: Model.deploy(ANYTHING, "svc", []), "0 models", "InferenceConfig"),
    "a virtual machine of the cloud": (
        lambda _: RemoteCompute.attach_configuration(address="10.0.0.4", ssh_port=22), "RemoteCompute", "AmlCompute",
    ),
    "one file to upload": (
        lambda _: store().upload_files("train.py"), "'train.py'", "['train.py']",  # pyright: ignore
    ),
    "a file for a folder": (lambda _: store().upload("train.py"), "'train.py'", "upload_files"),
}  # fmt: skip


def store() -> AbstractDatastore:
    """A datastore that has received no request yet."""
    return AbstractDatastore(ANYTHING, ANYTHING)


def test_a_missing_model_path_raises_what_old_and_new_clients_raise() -> None:
    for kind in (WebserviceException, FileNotFoundError):
        with pytest.raises(kind, match="'out/model'") as caught:
            Model.register(ANYTHING, "out/model", "m")
        assert str(caught.value).startswith("WebserviceException:\n\tMessage: there is no file or folder")


@pytest.mark.parametrize("name", MISTAKES)
def test_the_message_names_the_value_and_a_hint(name: str, source: str):
    make, named, advice = MISTAKES[name]
    with pytest.raises((AzureMLException, TypeError, FileNotFoundError)) as caught:
        make(source)
    message, _, hint = str(caught.value).partition("\nhint: ")
    assert named in message
    assert advice in hint
