"""Azure's older way to deploy: an image configuration names the script. No image is built; services run the script."""

from __future__ import annotations

import os
import shutil
import tempfile
from typing import TYPE_CHECKING, Any, Dict, List, Mapping, Optional, Sequence, Tuple

from footplate.sdk.exceptions import WebserviceException
from footplate.sdk.handles import WorkspaceHandle as Workspace
from footplate.sdk.models.inference_config import InferenceConfig
from footplate.sdk.values.labels import matches, texts
from footplate.sdk.values.wrong_types import explained

if TYPE_CHECKING:
    from footplate.sdk.models.registered_model import RegisteredModel as Model


@explained
class ContainerImageConfig:
    """The script of a service, the files that it needs, and its packages."""

    def __init__(
        self, execution_script: str, runtime: str, conda_file: Optional[str] = None, docker_file: Optional[str] = None,
        schema_file: Optional[str] = None, dependencies: Optional[Sequence[str]] = None,
        enable_gpu: Optional[bool] = None, tags: Optional[Mapping[str, Any]] = None,
        properties: Optional[Mapping[str, Any]] = None, description: Optional[str] = None,
        base_image: Optional[str] = None, base_image_registry: Any = None, cuda_version: Optional[str] = None,
    ) -> None:  # fmt: skip
        self.execution_script = execution_script
        self.runtime = runtime
        self.conda_file = conda_file
        self.docker_file = docker_file
        self.schema_file = schema_file
        self.dependencies = list(dependencies or ())
        self.enable_gpu = enable_gpu
        self.tags = tags
        self.properties = properties
        self.description = description
        for path in self._files():
            if not os.path.exists(path):
                raise WebserviceException(
                    f"there is no file {path!r} for the image", hint=f"relative paths start at {os.getcwd()}"
                )

    def _files(self) -> List[str]:
        named = [self.execution_script, self.schema_file, *self.dependencies]
        return [path for path in named if path is not None]

    def to_inference_config(self) -> InferenceConfig:
        """Return the same as an InferenceConfig: the script and its files in a folder of their own."""
        self._folder = tempfile.TemporaryDirectory(prefix="footplate-image-")  # removed with this object
        for path in self._files():
            target = os.path.join(self._folder.name, os.path.basename(os.path.normpath(path)))
            if os.path.isdir(path):
                shutil.copytree(path, target)
            else:
                shutil.copy(path, target)
        conda = None if self.conda_file is None else os.path.abspath(self.conda_file)
        script = os.path.basename(self.execution_script)
        return InferenceConfig(
            script, runtime=self.runtime, conda_file=conda, source_directory=self._folder.name,
            description=self.description,
        )  # fmt: skip


@explained
class Image:
    r"""Models and an image configuration, which `Webservice.deploy_from_image` deploys: Azure's older way.

    No image is built; the service runs the script of the configuration.

    Args:
        workspace: The workspace.
        name: The name.
        models: Registered models.
        image_config: The script and its packages, from `ContainerImage.image_configuration`.

    Example:
        with open("score.py", "w") as file:
            file.write("def init():\n    pass\n\n\ndef run(data):\n    return data\n")
        settings = ContainerImage.image_configuration("score.py", "python")
        model = run.register_model("classifier", "outputs/model.txt")
        image = Image.create(ws, "scoring", [model], settings)
        image.wait_for_creation(show_output=True)
        print([each.name for each in Image.list(ws)])
        image.delete()
    """

    def __init__(
        self, workspace: Workspace, name: str, models: Sequence[Model], image_config: ContainerImageConfig
    ) -> None:
        self.workspace = workspace
        self.name = name
        self.version = 1
        self.id = f"{name}:1"
        self.models = list(models)
        self.image_config = image_config
        self.tags = texts(image_config.tags or {})
        self.creation_state = "Succeeded"
        self.image_build_log_uri = None
        self.image_location = None

    @staticmethod
    def create(
        workspace: Workspace, name: str, models: Sequence[Model], image_config: ContainerImageConfig
    ) -> ContainerImage:
        """Combine models and an image configuration.

        Args:
            workspace: The workspace.
            name: The name.
            models: Registered models.
            image_config: The script and its packages, from `ContainerImage.image_configuration`.

        Returns:
            The image.
        """
        image = ContainerImage(workspace, name, models, image_config)
        _created[workspace.id, name] = image
        return image

    @staticmethod
    def list(
        workspace: Workspace, image_name: Optional[str] = None, tags: Optional[Sequence[Any]] = None
    ) -> List[ContainerImage]:
        """Return the images that this process has created and not deleted: the server does not keep images.

        Args:
            workspace: The workspace.
            image_name: Only the image of this name.
            tags: A list of `key` or `[key, value]`.

        Returns:
            A list of images.
        """
        return [
            image
            for (place, name), image in _created.items()
            if place == workspace.id and image_name in (None, name) and matches(image.tags, tags)
        ]

    def delete(self) -> None:
        """Remove the image from `Image.list`. Services that were deployed from it keep running."""
        _created.pop((self.workspace.id, self.name), None)

    def wait_for_creation(self, show_output: bool = False) -> None:
        """Return at once: there is nothing to build.

        Args:
            show_output: Whether to print a line.
        """
        if show_output:
            print('Image creation operation finished for image, operation "Succeeded"')


class ContainerImage(Image):
    r"""An image as `Image.create` returns it; `image_configuration` describes its script.

    Example:
        with open("score.py", "w") as file:
            file.write("def init():\n    pass\n\n\ndef run(data):\n    return data\n")
        settings = ContainerImage.image_configuration("score.py", "python")
        image = ContainerImage(ws, "scoring", [], settings)
        print(image.id)
    """

    image_configuration = ContainerImageConfig


_created: Dict[Tuple[str, str], ContainerImage] = {}
