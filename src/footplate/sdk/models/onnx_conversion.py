"""`model.to_onnx(sample_input)`: a run converts the model, compares both on the sample, and the result is registered.

The run has the environment that trained the model, with the converter added. `onnx_job` is what it executes.
"""

from __future__ import annotations

import json
import os
import re
import tempfile
from typing import Any, Dict, List, Optional, Sequence, cast

from footplate.domain.orders import Lock
from footplate.domain.serving.frameworks import FRAMEWORKS, codeless_framework
from footplate.domain.specs import EnvironmentSpec
from footplate.sdk.config.script_run_config import ScriptRunConfig
from footplate.sdk.environments.conda_dependencies import CondaDependencies, package_name
from footplate.sdk.environments.environment import Environment
from footplate.sdk.exceptions import ActivityFailedException, UserErrorException
from footplate.sdk.handles import ExperimentHandle
from footplate.sdk.models.deploying import version_spec
from footplate.sdk.models.registered_model import RegisteredModel as Model
from footplate.sdk.runs.controlled_run import ControlledRun
from footplate.sdk.submission import submit_script

EXPERIMENT = "onnx-conversions"
SAMPLE = "sample.json"
RESULT = "outputs/{}.onnx"


def convert(model: Model, sample_input: Any) -> str:
    """Convert and compare; return the id of the run that did. A failed one raises ActivityFailedException."""
    framework = _framework(model)
    sample = _sample(model, sample_input)
    version = version_spec(model.workspace, [model], None)
    lock = model.workspace.session.api.locks.get(version.lock) if version.lock else None
    environment = with_packages(version.environment or EnvironmentSpec(), FRAMEWORKS[framework].converters, lock)
    with tempfile.TemporaryDirectory(prefix="footplate-onnx-") as folder:
        with open(os.path.join(folder, SAMPLE), "w", encoding="utf-8") as file:
            json.dump(sample, file)
        config = ScriptRunConfig(
            folder, command=["python", "-m", "footplate.sdk.models.onnx_job", model.id, framework],
            environment=environment,
        )  # fmt: skip
        experiment = ExperimentHandle(model.workspace, EXPERIMENT)
        view = submit_script(experiment, config, {"model": model.id}, parent=None)
    try:
        ControlledRun.from_view(experiment, view).wait_for_completion()
    except ActivityFailedException as failed:
        raise _explain(model.id, view.id, failed) from None
    return view.id


def _explain(model_id: str, run_id: str, failed: ActivityFailedException) -> ActivityFailedException:
    """Return the error with what the job printed last: its exit code says nothing."""
    details: Dict[str, Any] = cast("Dict[str, Any]", failed.error_details or {}).get("error", {})
    _, is_printed, words = "\n".join(details.get("lastLines", ())).rpartition(f"{model_id}: ")
    message, _, hint = words.partition("\nhint: ")
    if not is_printed:
        message = str(details.get("message", "the run failed"))
        hint = details.get("hint") or ""
    return ActivityFailedException(
        f"model {model_id} was not converted: {message}",
        error_details=failed.error_details,
        hint=hint or f"see the log: footplate runs logs {run_id}",
    )


def _framework(model: Model) -> str:
    files = [file.path for file in model.view.files]
    framework = codeless_framework(model.model_framework, files)
    if framework == "Onnx":
        raise UserErrorException(f"model {model.id} is an ONNX model already", hint="deploy it as it is")
    convertible = [name for name, row in FRAMEWORKS.items() if row.converters]
    if framework not in convertible:
        raise UserErrorException(
            f"model {model.id} cannot be converted: its framework is {framework or 'not known'}",
            hint=f"Footplate converts models of {', '.join(convertible)}; register other conversions with "
            "model_framework='Onnx'",
        )
    return str(framework)


def _sample(model: Model, sample_input: Any) -> Any:
    """Return the sample as JSON can hold it, or values by name where the model has several inputs."""
    sample: Any = model.sample_input_dataset if sample_input is None else sample_input
    if hasattr(sample, "to_pandas_dataframe"):
        sample = sample.to_pandas_dataframe()
    if isinstance(sample, dict):
        plain: Any = {str(name): _as_lists(value) for name, value in cast("Dict[Any, Any]", sample).items()}
        good = bool(plain) and all(map(_is_array, plain.values()))
    else:
        plain = _as_lists(sample)
        good = _is_array(plain)
    if not good:
        raise UserErrorException(
            f"sample_input is {sample!r:.200}",
            hint="give numbers as the model takes them, such as X_test[:100], or {name: values} for several inputs; "
            "without them, the model needs a sample_input_dataset",
        )
    return plain


def _as_lists(value: Any) -> Any:
    """Return lists for an array, a tensor or a data frame."""
    values: Any = getattr(value, "values", value)
    return values.tolist() if hasattr(values, "tolist") else values


def _is_array(value: Any) -> bool:
    """Whether a value is a list of rows of numbers, of any depth."""
    first = value
    while isinstance(first, (list, tuple)) and first:
        first = cast("Sequence[Any]", first)[0]
    return isinstance(value, (list, tuple)) and isinstance(first, (int, float))


def with_packages(spec: EnvironmentSpec, packages: Sequence[str], lock: Optional[Lock] = None) -> Environment:
    """Return an environment with packages added; those that `lock` has installed keep their versions.

    An existing interpreter stays as it is: the job reports the packages that it lacks.
    """
    environment = Environment("onnx-conversion")
    environment.environment_variables = dict(spec.variables)
    if spec.builder == "existing":
        environment.python.user_managed_dependencies = True
        environment.python.interpreter_path = spec.interpreter or "python"
        return environment
    conda: Dict[str, Any] = spec.options.get("conda") or {"dependencies": [], "pip": spec.requirements}
    dependencies = CondaDependencies()
    for channel in conda.get("channels", ()):
        dependencies.add_channel(channel)
    for line in conda["dependencies"]:
        dependencies.add_conda_package(line)
    python = (lock.content.get("python") if lock else None) or spec.python
    if python:
        dependencies.set_python_version(str(python))
    for line in (*_pin(conda["pip"], lock), *packages):
        if line.startswith("-"):
            dependencies.set_pip_option(line)
        else:
            dependencies.add_pip_package(line)
    environment.python.conda_dependencies = dependencies
    return environment


def _pin(lines: Sequence[str], lock: Optional[Lock]) -> List[str]:
    """Return requirements, those by name alone or with a range in the versions that a lock has."""
    text = str(lock.content.get("requirements") or "") if lock else ""
    pins = {package_name(line): line for line in re.findall(r"^([A-Za-z0-9._-]+==[^\s;]+)", text, re.MULTILINE)}
    return [line if re.search(r"^-|[/@;\[]", line) else pins.get(package_name(line), line) for line in lines]
