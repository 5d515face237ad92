"""`InferenceConfig`: the scoring script of a service, its source folder and its environment."""

from __future__ import annotations

import ast
import os
from dataclasses import dataclass
from typing import Any, Optional

from footplate.sdk.environments.conda_dependencies import CondaDependencies
from footplate.sdk.environments.environment import Environment
from footplate.sdk.exceptions import WebserviceException
from footplate.sdk.values.warn import warn_without_effect, without_effect
from footplate.sdk.values.wrong_types import explained

_OLDER = ("base_image", "conda_file", "cuda_version", "enable_gpu", "extra_docker_file_steps", "runtime")
"""Arguments of the older style, which an environment replaces."""


@explained
@dataclass(eq=False, repr=False)
class InferenceConfig:
    r"""The script that answers requests: `init()` runs once and `run(data)` for each request.

    The older style names a conda file and `runtime="python"` instead of an environment.

    Args:
        entry_script: The script; relative to `source_directory` if that is given.
        runtime: `python`, for the older style.
        conda_file: The packages, for the older style.
        source_directory: The directory that is copied to the service.
        environment: The environment of the script.
        description: A text about the service.
        enable_gpu: Accepted and ignored.
        base_image, base_image_registry: The image that `Model.package` starts from, for the older style;
            services are not containers.
        extra_docker_file_steps, cuda_version: Accepted and ignored.

    Raises:
        WebserviceException: The script or the conda file does not exist or is not valid, or both styles
            are mixed.

    Example:
        with open("src/score.py", "w") as file:
            file.write("def init():\n    pass\n\n\ndef run(data):\n    return data\n")
        CondaDependencies.create(pip_packages=["numpy"]).save("src/conda.yml")
        config = InferenceConfig("score.py", runtime="python", conda_file="conda.yml", source_directory="src")
        print(config.conda_path(), config.to_environment())
    """

    entry_script: str
    runtime: Optional[str] = None
    conda_file: Optional[str] = None
    extra_docker_file_steps: Optional[str] = None
    source_directory: Optional[str] = None
    enable_gpu: Optional[bool] = None
    description: Optional[str] = None
    base_image: Optional[str] = None
    base_image_registry: Any = None
    cuda_version: Optional[str] = None
    environment: Optional[Environment] = None

    def __post_init__(self) -> None:
        older = next((name for name in _OLDER if getattr(self, name) is not None), None)
        if self.environment is not None and older is not None:
            raise WebserviceException(f"environment and {older} were given", hint=f"leave {older} out")
        if self.runtime is not None and self.runtime.lower() not in ("python", "python-slim", "spark-py"):
            hint = "use runtime='python', or an environment"
            raise WebserviceException(f"runtime {self.runtime!r} is unknown", hint=hint)
        warn_without_effect(
            {**without_effect("Dockerfiles are our own", extra_docker_file_steps=self.extra_docker_file_steps),
             **without_effect("the deployment configuration asks for GPUs", enable_gpu=self.enable_gpu),
             **without_effect("the packages of the environment bring CUDA", cuda_version=self.cuda_version)}
        )  # fmt: skip
        self._check()

    @property
    def folder(self) -> str:
        """The directory that becomes the source of the service: the given one, or that of the script alone."""
        if self.source_directory is not None:
            return os.path.abspath(self.source_directory)
        return os.path.dirname(os.path.abspath(self.entry_script))

    @property
    def script(self) -> str:
        """The path of the script in that directory."""
        return self.entry_script if self.source_directory is not None else os.path.basename(self.entry_script)

    def _check(self) -> None:
        path = os.path.join(self.folder, self.script)
        name, extension = os.path.splitext(os.path.basename(self.script))
        if not os.path.isfile(path):
            raise WebserviceException(
                f"there is no entry script {path}", hint="give entry_script relative to source_directory"
            )
        if extension != ".py" or not name.isidentifier():
            raise WebserviceException(
                f"{self.entry_script!r} is not the name of a Python module", hint="rename it, for example to score.py"
            )
        with open(os.fspath(path), "rb") as file:
            try:
                ast.parse(file.read(), path)
            except SyntaxError as error:
                raise WebserviceException(f"{path} is not valid Python: {error}", hint="correct the script") from None
        if self.conda_file is not None and not os.path.isfile(self.conda_path()):
            raise WebserviceException(f"there is no conda file {self.conda_path()}", hint="check conda_file")

    def conda_path(self) -> str:
        """Return the conda file: relative to the source directory if it is there, else to the current one.

        Returns:
            The absolute path.
        """
        inside = os.path.join(self.folder, self.conda_file or "")
        return inside if self.source_directory is not None and os.path.isfile(inside) else os.path.abspath(
            self.conda_file or ""
        )  # fmt: skip

    def to_environment(self) -> Optional[Environment]:
        """Return the environment that was given in either style.

        Returns:
            The environment; None if none was given.
        """
        if self.environment is not None or self.conda_file is None:
            return self.environment
        environment = Environment("inference")
        environment.python.conda_dependencies = CondaDependencies(self.conda_path())
        return environment

    def __repr__(self) -> str:
        return f"InferenceConfig(entry_script={self.entry_script!r}, source_directory={self.source_directory!r})"
