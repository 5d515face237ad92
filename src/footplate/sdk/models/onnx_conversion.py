"""`model.to_onnx(sample_input)`: a run converts the model, compares both on the sample, and the result is registered.

The run has the environment that trained the model, with the converter added. `onnx_job` is what it executes.
"""

from __future__ import annotations

import json
import os
import tempfile
from typing import TYPE_CHECKING, Any, Dict, List, Optional, Tuple, cast

from footplate.domain.serving.frameworks import served_without_code
from footplate.domain.specs import EnvironmentSpec
from footplate.sdk.environments.conda_dependencies import CondaDependencies
from footplate.sdk.environments.environment import Environment
from footplate.sdk.exceptions import UserErrorException, WebserviceException
from footplate.sdk.models.deploying import version_spec

if TYPE_CHECKING:
    from footplate.sdk.models.model import Model

EXPERIMENT = "onnx-conversions"
SAMPLE = "sample.json"
RESULT = "outputs/{}.onnx"
CONVERTED_FROM = "converted_from"
_CONVERTERS: Dict[str, Tuple[str, ...]] = {"ScikitLearn": ("skl2onnx", "onnxruntime")}
"""The packages that convert the models of a framework, and evaluate the result."""


def to_onnx(model: Model, sample_input: Any, model_name: Optional[str]) -> Model:
    """Convert, compare and register. A conversion that fails raises ActivityFailedException."""
    from footplate.sdk.config.script_run_config import ScriptRunConfig  # noqa: PLC0415  # it imports models
    from footplate.sdk.runs.experiment import Experiment  # noqa: PLC0415  # likewise

    converters = _converters(model)
    rows = _rows(model, sample_input)
    spec = version_spec(model.workspace, [model], None).environment or EnvironmentSpec()
    with tempfile.TemporaryDirectory(prefix="footplate-onnx-") as folder:
        with open(os.path.join(folder, SAMPLE), "w", encoding="utf-8") as file:
            json.dump(rows, file)
        config = ScriptRunConfig(
            folder, command=["python", "-m", "footplate.sdk.models.onnx_job", model.id],
            environment=with_packages(spec, converters),
        )  # fmt: skip
        run = Experiment(model.workspace, EXPERIMENT).submit(config, tags={"model": model.id})
    run.wait_for_completion()
    return run.register_model(
        model_name or model.name, RESULT.format(model.name), tags=model.tags,
        properties={CONVERTED_FROM: model.id}, model_framework="Onnx", description=model.description,
        sample_input_dataset=model.sample_input_dataset, sample_output_dataset=model.sample_output_dataset,
        resource_configuration=model.resource_configuration,
    )  # fmt: skip


def _converters(model: Model) -> Tuple[str, ...]:
    files = [file.path for file in model._view.files]  # pyright: ignore[reportPrivateUsage]
    framework = served_without_code(model.model_framework, files)
    if framework == "Onnx":
        raise UserErrorException(f"model {model.id} is an ONNX model already", hint="deploy it as it is")
    if framework not in _CONVERTERS:
        raise UserErrorException(
            f"model {model.id} cannot be converted: its framework is {framework or 'not known'}",
            hint=f"Footplate converts models of {', '.join(_CONVERTERS)}; register other conversions with "
            "model_framework='Onnx'",
        )
    if len(files) != 1:
        raise UserErrorException(f"model {model.id} has {len(files)} files", hint="register the file of the estimator")
    return _CONVERTERS[framework]


def _rows(model: Model, sample: Any) -> List[List[float]]:
    """Return the sample as rows of numbers: lists, an array, a data frame, or the model's own sample dataset."""
    found: Any = model.sample_input_dataset if sample is None else sample
    if hasattr(found, "to_pandas_dataframe"):
        found = found.to_pandas_dataframe()
    values: Any = getattr(found, "values", found)
    rows: Any = values.tolist() if hasattr(values, "tolist") else values
    try:
        made = [[float(value) for value in row] for row in cast("List[List[Any]]", rows)]
    except (TypeError, ValueError):
        made = []
    if not made:
        raise UserErrorException(
            f"sample_input is {found!r}", hint="give rows of numbers as the model takes them, such as X_test[:100]"
        )
    return made


def with_packages(spec: EnvironmentSpec, packages: Tuple[str, ...]) -> Environment:
    """Return an environment with packages added. An existing interpreter stays as it is: the job says what it lacks."""
    made = Environment("onnx-conversion")
    if spec.builder == "existing":
        made.python.user_managed_dependencies = True
        made.python.interpreter_path = spec.interpreter or "python"
        return made
    if spec.builder != "venv":
        raise WebserviceException(
            f"the environment {spec.name!r} of the model has conda packages, which the converter is not added to",
            hint="train the model in an environment of pip packages",
        )
    dependencies = CondaDependencies()
    if spec.python:
        dependencies.set_python_version(spec.python)
    for line in (*spec.requirements, *packages):
        if line.startswith("-"):
            dependencies.set_pip_option(line)
        else:
            dependencies.add_pip_package(line)
    made.python.conda_dependencies = dependencies
    return made
