"""`Model.package`: a folder that an image of a service is built from, or the image itself.

    Dockerfile            the gateway's Python, the environment's, and the command that answers at port 5001
    requirements.txt      the packages of the service
    package.json          the service, as `footplate.serving.standalone` reads it
    azureml-models/       the models, as NAME/VERSION/…
    source/               the folder of the entry script
    runtime/              Footplate itself

The folder needs no server. Without an engine for containers, `python -m footplate.serving.standalone FOLDER` serves it.
"""

from __future__ import annotations

import importlib.util
import json
import os
import shutil
import subprocess
import sys
import tempfile
import uuid
import zipfile
from importlib import metadata
from typing import TYPE_CHECKING, Any, Dict, List, Optional, Sequence

import footplate
from footplate.domain.serving.endpoints import VersionSpec
from footplate.domain.serving.frameworks import FRAMEWORKS, codeless_framework
from footplate.domain.specs import EnvironmentSpec
from footplate.sdk.exceptions import UserErrorException, WebserviceException
from footplate.sdk.handles import WorkspaceHandle as Workspace
from footplate.sdk.models import dockerfile
from footplate.sdk.models.deploying import version_spec
from footplate.sdk.models.inference_config import InferenceConfig
from footplate.sdk.runs import snapshots
from footplate.sdk.values.wrong_types import explained

if TYPE_CHECKING:
    from footplate.sdk.models.registered_model import RegisteredModel as Model

ENGINES = ("podman", "docker")
SUCCEEDED, FAILED = "Succeeded", "Failed"


@explained
class ModelPackage:
    """A packaged service, from `Model.package`.

    Args:
        workspace: The workspace.
        models: Registered models.
        inference_config: The script; None serves one model without code.
        image_name: The name of the image.
        image_label: The tag of the image.

    Raises:
        WebserviceException: The environment cannot be in an image.
        UserErrorException: The models cannot be served without code.

    Example:
        def pack(model: Model) -> None:
            package = Model.package(ws, [model], generate_dockerfile=True)
            package.wait_for_creation(show_output=True)
            package.save("image")
            print(package.serialize(), package.get_logs())
    """

    def __init__(
        self,
        workspace: Workspace,
        models: Sequence[Model],
        inference_config: Optional[InferenceConfig],
        image_name: Optional[str],
        image_label: Optional[str],
    ) -> None:
        self.workspace = workspace
        self.models = list(models)
        self.inference_config = inference_config
        self.state = SUCCEEDED
        self.location: Optional[str] = None
        self._image = f"{image_name or 'package'}:{image_label or uuid.uuid4().hex[:12]}"
        self._is_image = False
        self._logs = ""
        self._framework = None if inference_config else _framework(self.models)
        self._spec = version_spec(workspace, self.models, inference_config)
        self._environment = self._spec.environment or EnvironmentSpec()
        self._container = dockerfile.container(inference_config)
        self._requirements = _requirements(self._environment, self._framework, self._is_complete)

    @property
    def _is_complete(self) -> bool:
        """Whether the base image has everything: an image was named, and no packages."""
        return self._environment.builder == "existing" and bool(self._container.get("base_image"))

    def build(self) -> None:
        """Build the image with podman or docker.

        Raises:
            WebserviceException: Neither works here, or the build failed; the message has its last lines.

        Example:
            def build(package: ModelPackage) -> None:
                package.build()
                package.pull()
        """
        engine = next(filter(_works, ENGINES), None)
        if engine is None:
            raise WebserviceException(
                f"image {self._image} cannot be built: neither podman nor docker works on this machine",
                hint="use generate_dockerfile=True and package.save(folder), and build the image elsewhere",
            )
        with tempfile.TemporaryDirectory(prefix="footplate-package-") as place:
            folder = os.path.join(place, "folder")
            self._write(folder)
            command = [engine, "build", "-t", self._image, "--network", "host", *dockerfile.secrets(place), folder]
            variables = {**os.environ, "DOCKER_BUILDKIT": "1"}
            done = subprocess.run(command, check=False, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, env=variables)
        self._logs = done.stdout.decode("utf-8", "replace")
        if done.returncode:
            self.state = FAILED
            last = "\n".join(self._logs.splitlines()[-20:])
            raise WebserviceException(
                f"{engine} could not build image {self._image}:\n{last}",
                hint="save the folder with generate_dockerfile=True, and correct its Dockerfile",
            )
        self._is_image = True
        self.location = self._image

    def save(self, output_directory: str) -> None:
        """Write the Dockerfile and everything that it needs.

        Args:
            output_directory: A directory that is empty or new.

        Raises:
            WebserviceException: The directory is not empty, or the package is an image.
        """
        if self._is_image:
            raise WebserviceException(
                f"{self._image} is an image", hint="package with generate_dockerfile=True, or use package.pull()"
            )
        folder = os.path.abspath(output_directory)
        if os.path.isdir(folder) and os.listdir(folder):
            raise WebserviceException(f"{folder} is not empty", hint="choose another folder")
        self._write(folder)
        self.location = folder

    def pull(self) -> None:
        """Check that the package is an image, which is in the store of the local engine.

        Raises:
            WebserviceException: The package is a directory with a Dockerfile.

        Example:
            def fetch(package: ModelPackage) -> None:
                package.pull()
                print(package.location)
        """
        if not self._is_image:
            raise WebserviceException(
                "this package is a folder with a Dockerfile, not an image",
                hint="write it with package.save(folder), or package with generate_dockerfile=False",
            )

    def wait_for_creation(self, show_output: bool = False) -> None:
        """Return at once: a package is complete when `Model.package` returns.

        Args:
            show_output: Whether to print the log of the build.
        """
        if show_output:
            print(self._logs or f"Package creation {self.state}")

    def get_logs(self) -> str:
        """Return the output of the engine that built the image.

        Returns:
            The text.
        """
        return self._logs

    def serialize(self) -> Dict[str, Any]:
        """Return the package as Azure writes it.

        Returns:
            A dict.
        """
        return {
            "location": self.location,
            "models": [model.id for model in self.models],
            "state": self.state,
            "workspaceName": self.workspace.name,
        }

    def __repr__(self) -> str:
        return f"ModelPackage(models={[model.id for model in self.models]}, location={self.location!r})"

    # ── The folder ────────────────────────────────────────────────────────────────────────────────────────────────────

    def _write(self, folder: str) -> None:
        os.makedirs(folder, exist_ok=True)
        for model in self.models:
            model.download(os.path.join(folder, "azureml-models", model.name, str(model.version)))
        if self._spec.snapshot is not None:
            archive = snapshots.restore(self.workspace.session, self._spec.snapshot, folder)
            with zipfile.ZipFile(archive) as opened:
                opened.extractall(os.path.join(folder, "source"))
            os.remove(archive)
        _copy_runtime(os.path.join(folder, "runtime"))
        texts = {
            "Dockerfile": dockerfile.text(self._image, self._container, self._environment.python, self._is_complete),
            "requirements.txt": "".join(f"{line}\n" for line in self._requirements),
            "package.json": json.dumps(_description(self, self._spec), indent=2) + "\n",
        }
        for name, text in texts.items():
            with open(os.path.join(folder, name), "w", encoding="utf-8") as file:
                file.write(text)


def _description(package: ModelPackage, spec: VersionSpec) -> Dict[str, Any]:
    views = [model.view for model in package.models]
    return {
        "service": views[0].name if views else "package",
        "workspace": package.workspace.name,
        "models": [
            {
                "name": view.name,
                "version": view.version,
                "root": view.root,
                "framework": view.framework,
                "signature": view.options.get("signature"),
            }
            for view in views
        ],
        "entry_script": spec.entry_script,
        "source_name": spec.definition.get("source_name"),
        "variables": dict(spec.environment_variables),
        "options": {},
    }


def _works(engine: str) -> bool:
    """Whether an engine is installed and answers; docker does not without its daemon."""
    if shutil.which(engine) is None:
        return False
    return subprocess.run([engine, "version"], check=False, capture_output=True).returncode == 0


def _copy_runtime(target: str) -> None:
    """Copy Footplate, and `azureml` where it is installed: scoring scripts import it."""
    ignored = shutil.ignore_patterns("__pycache__")
    shutil.copytree(os.path.dirname(os.path.abspath(footplate.__file__)), os.path.join(target, "footplate"),
                    ignore=ignored)  # fmt: skip
    spec = importlib.util.find_spec("azureml")
    places = list(spec.submodule_search_locations or ()) if spec else []
    for place in places:
        if os.path.isfile(os.path.join(place, "core", "__init__.py")):
            shutil.copytree(place, os.path.join(target, "azureml"), ignore=ignored)
            break


# ── The environment ───────────────────────────────────────────────────────────────────────────────────────────────────


def _framework(models: Sequence[Model]) -> str:
    if len(models) != 1:
        raise UserErrorException(f"{len(models)} models were given without code",
                                 hint="give one model, or an InferenceConfig")  # fmt: skip
    view = models[0].view
    framework = codeless_framework(view.framework, [file.path for file in view.files])
    if framework is None:
        raise UserErrorException(
            f"model {models[0].id} cannot be served without code: its framework is {view.framework or 'not known'}",
            hint="register it with model_framework, or give an InferenceConfig",
        )
    return framework


def _requirements(environment: EnvironmentSpec, framework: Optional[str], is_complete: bool) -> List[str]:
    """Return the lines of requirements.txt."""
    if is_complete:
        return []
    if environment.builder == "venv":
        return list(environment.requirements)
    if environment.builder == "existing" and framework is not None:
        return [_pin(name, environment.interpreter) for name in FRAMEWORKS[framework].packages]
    reason = "has conda packages" if environment.builder == "conda" else "is an interpreter of this machine"
    raise WebserviceException(
        f"environment {environment.name!r} {reason}: an image cannot have it",
        hint="list pip packages: InferenceConfig(…, environment=Environment.from_pip_requirements(name, file))",
    )


def _pin(name: str, interpreter: Optional[str]) -> str:
    """Return a package in the version that this interpreter has, if it is the one that would serve."""
    if interpreter not in (None, sys.executable):
        return name
    try:
        return f"{name}=={metadata.version(name)}"
    except metadata.PackageNotFoundError:
        return name
