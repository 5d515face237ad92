"""Wrong types for every parameter of the SDK: each call works or raises an error that names the value.

The test walks all public names of `azureml` and `footplate`. For each parameter it makes one call per wrong value, in
which the other required parameters are right. A raw AttributeError, KeyError, TypeError or ValueError is a bug: users
would have to read our code to find their mistake. An OSError is fine, because it names the file.
"""

from __future__ import annotations

import datetime
import enum
import importlib
import inspect
import math
import os
import resource
import types
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import azureml
import footplate
from footplate.errors import FootplateError
from footplate.sdk.compute.instance import ComputeInstance
from footplate.sdk.compute.targets import AmlCompute, ComputeTarget
from footplate.sdk.config.script_run_config import ScriptRunConfig
from footplate.sdk.data.dataset import Dataset
from footplate.sdk.data.references import DataPath
from footplate.sdk.environments.environment import DockerBuildContext, Environment
from footplate.sdk.estimators.estimator import Estimator
from footplate.sdk.exceptions import AzureMLException
from footplate.sdk.experiment import Experiment
from footplate.sdk.models.image import ContainerImage
from footplate.sdk.models.inference_config import InferenceConfig
from footplate.sdk.models.model import Model
from footplate.sdk.models.webservice import Webservice
from footplate.sdk.models.webservice_kinds import LocalWebservice
from footplate.sdk.pipelines.data import PipelineData
from footplate.sdk.pipelines.pipeline_run import PipelineRun, StepRun
from footplate.sdk.pipelines.steps import PythonScriptStep
from footplate.sdk.run import Run
from footplate.sdk.tuning.config import PrimaryMetricGoal
from footplate.sdk.tuning.parameter_expressions import uniform
from footplate.sdk.tuning.sampling import RandomParameterSampling
from footplate.sdk.workspace import Workspace

pytestmark = [pytest.mark.filterwarnings("ignore"), pytest.mark.slow, pytest.mark.timeout(900)]

CANARY = 7777
"""A number, and an open file descriptor: a function that takes a number for a path closes it."""

WRONG: list[Any] = [None, CANARY, math.nan, b"bytes", ["a", 1], {"a": 1}, object(), Path("nowhere"), "x" * 5000, ""]

LEFT_OUT = {
    "wait_for_completion", "wait_for_change", "wait_for_creation", "wait_for_profiling", "wait_for_deployment",
    "build", "build_local", "mount", "hold_mounted", "start", "show",  # they build, mount or start something
    "complete", "fail", "cancel", "delete", "detach", "restart", "unregister", "get_context",  # they end things
}  # fmt: skip

ALSO = {"skip_validation": True, "entry_script": "train.py", "compute_target": "local", "slack_factor": 0.1}
"""Given to every function that has such a parameter: it would connect to Azure, or refuse the other values."""

Named = tuple[str, Callable[..., Any]]


def modules() -> Iterator[types.ModuleType]:
    """Yield `footplate` and every importable module of `azureml`."""
    yield footplate
    root = Path(next(iter(azureml.__path__)))
    for file in sorted(root.rglob("*.py")):
        parts = [part for part in file.relative_to(root).with_suffix("").parts if part != "__init__"]
        if any(part.startswith("_") for part in parts):
            continue
        try:
            yield importlib.import_module(".".join(("azureml", *parts)))
        except ImportError:  # a part of Azure's SDK that Footplate does not have, and says so
            continue


def public_names() -> dict[str, Any]:
    """Return every public class and function of the SDK, once. Those of Python itself are left out."""
    found: dict[Any, str] = {}
    for module in modules():
        for name in getattr(module, "__all__", ()):
            thing = getattr(module, name)
            home = getattr(thing, "__module__", "")
            if not callable(thing) or not home.startswith("footplate.sdk.") or name.startswith("_"):
                continue
            if not isinstance(thing, type) or not issubclass(thing, (Exception, enum.Enum, dict)):
                found.setdefault(thing, name)
    return {name: thing for thing, name in found.items()}


def methods(found: type) -> dict[str, Any]:
    """Return the public methods of a class, with those of its bases in the SDK."""
    bases = [each for each in reversed(found.__mro__) if each.__module__.startswith("footplate.")]
    return {name: member for each in bases for name, member in list(vars(each).items()) if not name.startswith("_")}


class World:
    """A workspace with one object of every kind, and right values for parameters by their names."""

    def __init__(self, workspace: Workspace) -> None:
        Path("train.py").write_text("")
        Path("score.py").write_text("def init(): pass\ndef run(data): return data\n")
        Path("env.yml").write_text("name: x\ndependencies:\n- python=3.11\n- pip:\n  - numpy\n")
        Path("data").mkdir()
        Path("data/a.csv").write_text("a,b\n1,2\n")
        Path("new").mkdir()
        experiment = Experiment(workspace, "wrong-types")
        self.run = experiment.start_logging(snapshot_directory=None)
        datastore = workspace.get_default_datastore()
        datastore.upload("data", "data", show_progress=False)
        files = Dataset.File.from_files((datastore, "data"))
        size = AmlCompute.provisioning_configuration("STANDARD_D2_V2", max_nodes=1)
        cluster = ComputeTarget.create(workspace, "cluster", size)
        instance = ComputeTarget.create(
            workspace, "instance", ComputeInstance.provisioning_configuration("STANDARD_D2_V2")
        )
        model = Model.register(workspace, "train.py", "model")
        packages = Environment.from_conda_specification("packages", "env.yml")
        image = ContainerImage.image_configuration("score.py", "python")
        self.service = Model.deploy(workspace, "service", [model], image.to_inference_config())
        self.instances: dict[str, Any] = {
            "Run": self.run, "Workspace": workspace, "Experiment": experiment, "Environment": Environment("e"),
            "Model": model, "ComputeTarget": cluster, "AmlCompute": cluster, "ComputeInstance": instance,
            "FileDataset": files, "PipelineRun": PipelineRun(experiment, self.run.id),
            "StepRun": StepRun(experiment, self.run.id),
            "TabularDataset": Dataset.Tabular.from_delimited_files((datastore, "data/a.csv")),
            "AbstractDataset": files, "AbstractDatastore": datastore, "DataReference": datastore.path("x"),
            "DataPath": DataPath(datastore, "x"), "DatasetConsumptionConfig": files.as_named_input("x"),
        }  # fmt: skip
        now = datetime.datetime.now()
        self.right: dict[str, Any] = {
            "workspace": workspace, "experiment": experiment, "run_id": self.run.id, "run": self.run.id,
            "provisioning_configuration": size, "attach_configuration": size, "models": [model],
            "docker_build_context": DockerBuildContext.from_git("https://127.0.0.1/x.git"), "image_config": image,
            "image": ContainerImage(workspace, "i", [model], image), "labels": ["l"], "config": ScriptRunConfig("."),
            "tags": {"a": "b"}, "properties": {"a": "b"}, "secrets_batch": {"a": "b"}, "secrets": ["s"],
            "model_path": "train.py", "model_paths": ["train.py"], "names": ["a.txt"], "paths": ["train.py"],
            "path_or_stream": "train.py", "file_path": "env.yml", "path": "data", "src_dir": "data",
            "files": ["train.py"], "source_directory": ".", "base_directory": "new",
            "pip_requirements": ["numpy"], "environment": Environment("e"), "session": workspace.session,
            "details": {}, "payload": {}, "definition": {}, "count": 1, "probability": 0.5, "percentage": 0.5,
            "columns": ["a"], "end_time": now, "start_time": now, "time_delta": datetime.timedelta(1),
            "datastore": datastore, "data_reference": datastore.path("x"), "dataset": files, "target": datastore,
            "query": (datastore, "select 1"), "runs": self.run, "run_instance": self.run, "run_data": self.run,
            "weights": {1: 100}, "deployment_config": LocalWebservice.deploy_configuration(), "estimator": Estimator(
                ".", compute_target="local", entry_script="train.py"
            ), "hyperparameter_sampling": RandomParameterSampling({"lr": uniform(0, 1)}),
            "primary_metric_goal": PrimaryMetricGoal.MAXIMIZE, "max_total_runs": 2, "run_config": ScriptRunConfig("."),
            "parameter_space": {"lr": uniform(0, 1)}, "rule": {},
            "max_intervals": 9, "min_value": 0, "max_value": 1, "q": 1, "mu": 0,
            "sigma": 1, "upper": 3, "evaluation_interval": 1, "truncation_percentage": 10, "type": "cpu",
            "subscription_id": workspace.subscription_id, "resource_group": workspace.resource_group,
            "workspace_name": workspace.name, "url": "http://127.0.0.1:9/", "index_url": "http://127.0.0.1:9/",
            "target_path": "new/download", "output_directory": "new/package", "location_type": "git",
            "logdir": "new/events", "view": None, "expression": None, "dataframe": None, "children": None,
            "inference_config": InferenceConfig("score.py", source_directory=".", environment=packages),
            "steps": [PythonScriptStep("train.py")], "step": PythonScriptStep("train.py"), "script_name": "train.py",
            "pipeline_data": PipelineData("prepared"), "default_value": 1, "command": "true",
            "step_run_id": self.run.id, "step_run": StepRun(experiment, self.run.id), "datastore_name": datastore.name,
            "get_token_for_audience": lambda *_: "token",
        }  # fmt: skip

    def arguments(self, function: Callable[..., Any]) -> dict[str, Any]:
        """Return right values for the required parameters; a string where nothing else is known."""
        found = parameters(function)
        required = {each.name: self.right.get(each.name, "name") for each in found if each.default is each.empty}
        if "hyperparameter_sampling" in required and "estimator" not in required:
            required["run_config"] = ScriptRunConfig(".")  # or an estimator
        return {**required, **{each.name: ALSO[each.name] for each in found if each.name in ALSO}}

    def instance(self, kind: type, method: str) -> Any:
        if issubclass(kind, Webservice):
            service = object.__new__(kind)
            vars(service).update(vars(self.service))
            return service
        known = [self.instances[each.__name__] for each in kind.__mro__ if each.__name__ in self.instances]
        able = [each for each in known if hasattr(each, method)]
        return able[0] if able else kind(**self.arguments(kind))

    def callables(self) -> Iterator[Named]:
        """Yield every public function, constructor and method, each once."""
        seen = set[Any]()
        for name, thing in public_names().items():
            made_by = (thing.__init__, thing.__new__) if isinstance(thing, type) else thing
            if made_by not in seen:
                yield name, thing
            seen.add(made_by)
            if not isinstance(thing, type):
                continue
            for method, member in methods(thing).items():
                function = getattr(member, "__func__", member)
                if not inspect.isfunction(function) or function in seen or method in LEFT_OUT:
                    continue
                seen.add(function)
                is_bound = isinstance(member, (staticmethod, classmethod))
                yield f"{name}.{method}", getattr(thing if is_bound else self.instance(thing, method), method)


def parameters(function: Callable[..., Any]) -> list[inspect.Parameter]:
    named = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
    found = inspect.signature(function).parameters.values()
    return [each for each in found if each.kind in named and not each.name.startswith("_")]


def complaint(function: Callable[..., Any], arguments: dict[str, Any], used: Run) -> str | None:
    """Return why the call fails badly; None if it works or raises a proper error."""
    os.dup2(2, CANARY)
    try:
        result = function(**arguments)
        for made in list(result) if isinstance(result, Iterator) else [result]:
            if isinstance(made, Run) and made.id != used.id:
                made.complete()
    except (FootplateError, AzureMLException) as error:
        return None if error.hint else f"no hint: {error!r:.200}"
    except OSError:
        return None
    except Exception as error:
        return None if "\nhint: " in str(error) else f"{error!r:.200}"
    return None


def is_open(number: int) -> bool:
    try:
        os.fstat(number)
    except OSError:
        return False
    return True


@pytest.fixture
def world(workspace: Workspace) -> Iterator[World]:
    limits = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(limits[0], CANARY + 1), max(limits[1], CANARY + 1)))
    made = World(workspace)
    yield made
    os.close(CANARY)
    resource.setrlimit(resource.RLIMIT_NOFILE, limits)
    made.run.complete()
    for service in Webservice.list(workspace):
        service.delete()


def test_arguments_of_wrong_types_are_named_with_a_hint(world: World):
    calls, bad = 0, list[str]()
    for name, function in world.callables():
        right = world.arguments(function)
        for parameter in parameters(function):
            for value in WRONG:
                calls += 1
                reason = complaint(function, {**right, parameter.name: value}, world.run)
                reason = "closes the file of that number" if not is_open(CANARY) else reason
                bad += [f"{name}({parameter.name}={value!r:.40}): {reason}"] if reason else []
    assert not bad, "\n".join(bad)
    assert calls > 5000
