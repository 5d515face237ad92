"""An estimator in the words of today: the lines of Python that ask for the same with a ScriptRunConfig."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Iterator, Mapping, Optional

from footplate.sdk.checked import Checked, public_attributes
from footplate.sdk.conda_dependencies import DEFAULT_PIP_PACKAGES, package_name
from footplate.sdk.environment import Environment
from footplate.sdk.estimators.inputs import values
from footplate.sdk.run_configuration import DEFAULT_MAX_SECONDS, target_name

if TYPE_CHECKING:
    from footplate.sdk.estimators.estimator import Estimator


def equivalent(estimator: Estimator) -> str:
    config = estimator.run_config
    lines = [*_environment(config.environment, estimator.curated_environment), ""]
    lines += [
        "config = ScriptRunConfig(",
        f"    source_directory={estimator.source_directory!r},",
        f"    script={estimator.entry_script!r},",
        *_arguments(estimator.script_params),
        f"    compute_target={target_name(config.target)!r},",
        "    environment=environment,",
    ]
    if estimator.distributed_job is not None:
        lines.append(f"    distributed_job_config={_call(estimator.distributed_job)},")
    if config.max_run_duration_seconds not in (None, DEFAULT_MAX_SECONDS):
        lines.append(f"    max_run_duration_seconds={config.max_run_duration_seconds},")
    lines.append(")")
    if config.needs_gpus:
        lines.append("config.run_config.needs_gpus = True")
    return "\n".join(["    " + line if line else "" for line in lines])


def _environment(environment: Environment, curated: Optional[str]) -> Iterator[str]:
    packages = environment.python.conda_dependencies
    conda = [package for package in packages.conda_packages if package_name(package) != "python"]
    pip = [package for package in packages.pip_packages if package not in DEFAULT_PIP_PACKAGES]
    if curated is not None:
        yield f"environment = Environment.get(workspace, {curated!r}).clone({environment.name!r})"
        for verb, names in (("add_conda_package", conda), ("add_pip_package", pip)):
            for name in names:
                yield f"environment.python.conda_dependencies.{verb}({name!r})"
    else:
        yield f"environment = Environment({environment.name!r})"
        if environment.python.user_managed_dependencies:
            yield "environment.python.user_managed_dependencies = True"
        else:
            given = {"conda_packages": conda, "pip_packages": pip, "python_version": packages.get_python_version()}
            told = ", ".join(f"{name}={value!r}" for name, value in given.items() if value)
            yield f"environment.python.conda_dependencies = CondaDependencies.create({told})"
    if environment.docker.enabled:
        yield f"environment.docker.base_image = {environment.docker.base_image!r}"


def _arguments(script_params: Mapping[str, Any]) -> Iterator[str]:
    if not script_params:
        return
    shown = [", ".join([repr(name), *map(repr, values(value))]) for name, value in script_params.items()]
    yield f"    arguments=[{', '.join(shown)}],"


def _call(job: Checked) -> str:
    told = ", ".join(f"{name}={value!r}" for name, value in public_attributes(job).items())
    return f"{type(job).__name__}({told})"
