"""Registered models: files under a name and a version, linked to the run that produced them."""

from __future__ import annotations

import os
import urllib.parse
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Dict, List, Mapping, Optional, Sequence, Tuple, Union

from footplate.domain.records import ModelView
from footplate.domain.text import label_filter
from footplate.lazy import Deferred
from footplate.sdk import blob_transfer
from footplate.sdk.data.base import AbstractDataset
from footplate.sdk.exceptions import (
    Kinds,
    ModelNotFoundException,
    ModelPathNotFoundException,
    UserErrorException,
    WebserviceException,
)
from footplate.sdk.handles import WorkspaceHandle as Workspace
from footplate.sdk.job_workspace import workspace_of_job
from footplate.sdk.models import registered_model
from footplate.sdk.models.deployment_configuration import WebserviceDeploymentConfiguration
from footplate.sdk.models.inference_config import InferenceConfig
from footplate.sdk.models.registered_model import RegisteredModel
from footplate.sdk.models.registration import CONVERTED_FROM, KINDS, datasets_behind, local_files, registration
from footplate.sdk.models.resource_configuration import ResourceConfiguration
from footplate.sdk.values.wrong_types import explained

if TYPE_CHECKING:
    from footplate.sdk.models import deploying, onnx_conversion, packaging, profiling, webservice
    from footplate.sdk.models.packaging import ModelPackage
    from footplate.sdk.models.profiling import ModelProfile
    from footplate.sdk.models.webservice import Webservice
else:
    # A job that registers a model does not wait for them, and two of them import this module.
    deploying = Deferred("footplate.sdk.models.deploying")
    onnx_conversion = Deferred("footplate.sdk.models.onnx_conversion")
    packaging = Deferred("footplate.sdk.models.packaging")
    profiling = Deferred("footplate.sdk.models.profiling")
    webservice = Deferred("footplate.sdk.models.webservice")

_FROM_RUN: Kinds = dict(KINDS, not_found=ModelPathNotFoundException)
Filters = Optional[Sequence[Union[str, Sequence[str]]]]


class _MissingModelPath(WebserviceException, FileNotFoundError):
    """Azure's clients raise WebserviceException up to 1.35, and FileNotFoundError since then: scripts catch either."""


class Framework:
    """The names of frameworks that a model can be registered with."""

    CUSTOM = "Custom"
    TENSORFLOW = "TensorFlow"
    SCIKITLEARN = "ScikitLearn"
    ONNX = "Onnx"
    TFKERAS = "TfKeras"
    PYTORCH = "PyTorch"
    MULTI = "Multi"


@explained
class Model(RegisteredModel):
    """A registered model: files under a name and a version, linked to the run that produced them.

    `Model(workspace, name)` is the latest version that matches.

    Args:
        workspace: The workspace.
        name: The name of the model.
        id: `name:version`, in place of a name.
        tags: Only versions with these tags: a list of `key` or `[key, value]`.
        properties: Only versions with these properties, in the same form.
        version: The version; the latest by default.
        run_id: Only versions that this run produced.
        model_framework: Only versions of this framework.
        expand: Accepted and ignored.

    Raises:
        WebserviceException: No version matches.
        UserErrorException: No name, id or filter was given, or a filter is not valid.

    Example:
        with open("model.txt", "w") as file:
            file.write("weights")
        Model.register(ws, "model.txt", "weights", tags={"stage": "test"})
        model = Model(ws, "weights")
        model.add_tags({"owner": "ada"})
        model.remove_tags(["stage"])
        model.add_properties({"accuracy": 0.9})
        model.update(description="a first try")
        print(model.download("downloads", exist_ok=True), model.serialize())
        print([each.id for each in Model.list(ws, tags=["owner"], latest=True)])
        model.delete()
    """

    Framework = Framework

    def __init__(
        self,
        workspace: Workspace,
        name: Optional[str] = None,
        id: Optional[str] = None,
        tags: Filters = None,
        properties: Filters = None,
        version: Optional[int] = None,
        run_id: Optional[str] = None,
        model_framework: Optional[str] = None,
        expand: bool = True,
    ) -> None:
        if id is not None:
            name, _, text = id.partition(":")
            version = int(text) if text.isdigit() else version
        if name is None and not (tags or properties or run_id or model_framework):
            raise UserErrorException("no name, id or filter was given", hint="give a name, an id or a filter")
        views = _views(workspace, name, tags, properties, run_id, model_framework)
        matching = [view for view in views if version is None or view.version == int(version)]
        if not matching:
            identity = f"{name or 'any name'}" + (f":{version}" if version is not None else "")
            raise WebserviceException(
                f"ModelNotFound: no model {identity} matches in workspace {workspace.name}",
                status_code=404,
                hint="list models with: footplate models list",
            )
        self.workspace = workspace
        self.view = max(matching, key=lambda view: (view.version if name else 0, view.created, view.version))

    # ── registering and finding ──

    @staticmethod
    def register(
        workspace: Workspace,
        model_path: str,
        model_name: str,
        tags: Optional[Mapping[str, Any]] = None,
        properties: Optional[Mapping[str, Any]] = None,
        description: Optional[str] = None,
        datasets: Optional[Sequence[Tuple[str, AbstractDataset]]] = None,
        model_framework: Optional[str] = None,
        model_framework_version: Optional[str] = None,
        child_paths: Optional[Sequence[str]] = None,
        sample_input_dataset: Optional[AbstractDataset] = None,
        sample_output_dataset: Optional[AbstractDataset] = None,
        resource_configuration: Optional[ResourceConfiguration] = None,
    ) -> Model:
        """Register a local file or directory as the next version of a model.

        Args:
            workspace: The workspace.
            model_path: The local file or directory.
            model_name: The name of the model.
            tags: Tags of the version.
            properties: Properties of the version, which are written once.
            description: A text about the version.
            datasets: Pairs of purpose and dataset that the model was made from.
            model_framework: Its framework, as a constant of `Model.Framework`; needed to serve without code.
            model_framework_version: The version of the framework.
            child_paths: Only these paths below `model_path`.
            sample_input_dataset: A dataset with example inputs.
            sample_output_dataset: A dataset with example outputs.
            resource_configuration: Resources that a web service of the model gets by default.

        Returns:
            The registered model.

        Raises:
            WebserviceException: The path does not exist, or the name is refused. For a missing path, the
                error is a FileNotFoundError too.
        """
        behind = datasets_behind(workspace, datasets, sample_input_dataset, sample_output_dataset)
        path = os.path.abspath(os.fspath(model_path))
        if not os.path.exists(path):
            raise _MissingModelPath(
                f"there is no file or folder {model_path!r} to register as model {model_name!r}",
                hint=f"relative paths start at {os.getcwd()}; for the outputs of a run, use run.register_model",
            )
        print(f"Registering model {model_name}")
        files = blob_transfer.put(workspace.session, local_files(path, child_paths))
        new = registration(
            model_name, tags, properties, description, model_framework, model_framework_version,
            resource_configuration, (sample_input_dataset, sample_output_dataset),
        )  # fmt: skip
        new = replace(new, root=os.path.basename(path), files=tuple(files), datasets=behind)
        return Model.from_view(workspace, workspace.session.api_for(KINDS).models.register(workspace.id, new))

    @staticmethod
    def list(
        workspace: Workspace,
        name: Optional[str] = None,
        tags: Filters = None,
        properties: Filters = None,
        run_id: Optional[str] = None,
        latest: bool = False,
        dataset_id: Optional[str] = None,
        expand: bool = True,
        page_count: int = 255,
        model_framework: Optional[str] = None,
    ) -> List[Model]:
        """Return models, newest first.

        Args:
            workspace: The workspace.
            name: Only versions of this model.
            tags: Only versions with these tags: a list of `key` or `[key, value]`.
            properties: Only versions with these properties, in the same form.
            run_id: Only versions that this run produced.
            latest: Whether to return only the latest version of each model.
            dataset_id: Only models made from this dataset.
            expand, page_count: Accepted and ignored.
            model_framework: Only versions of this framework.

        Returns:
            A list of models.

        Raises:
            UserErrorException: A filter is not valid.
        """
        views = _views(workspace, name, tags, properties, run_id, model_framework, latest)
        if dataset_id is not None:
            views = [view for view in views if any(use.dataset == dataset_id for use in view.datasets)]
        return [Model.from_view(workspace, view) for view in sorted(views, key=lambda v: -v.created)]

    @staticmethod
    def deploy(
        workspace: Workspace,
        name: str,
        models: Sequence[Model],
        inference_config: Optional[InferenceConfig] = None,
        deployment_config: Optional[WebserviceDeploymentConfiguration] = None,
        deployment_target: Any = None,
        overwrite: bool = False,
        show_output: bool = False,
    ) -> Webservice:
        """Deploy models as a web service.

        Args:
            workspace: The workspace.
            name: The name of the service.
            models: Registered models.
            inference_config: The script; without one, a single model is served without code.
            deployment_config: The kind and the settings of the service, such as
                `AciWebservice.deploy_configuration(cpu_cores=1)`.
            deployment_target: The compute target whose nodes hold the service, or its name. Without one, and for
                one of the server's machine, that machine does.
            overwrite: Whether to replace a service of this name.
            show_output: Whether to wait, and print progress.

        Returns:
            The service; call `wait_for_deployment()`.

        Raises:
            WebserviceException: The name exists, or a value is not valid.
            UserErrorException: The models cannot be served without code.

        Example:
            def serve(model: Model) -> None:
                service = Model.deploy(ws, "scoring", [model], InferenceConfig("score.py", source_directory="src"))
                service.wait_for_deployment(show_output=True)
                print(service.run('{"data": [1, 2]}'))
        """
        view = deploying.deploy(
            workspace, name, models, inference_config, deployment_config, overwrite, deployment_target
        )
        service = webservice.service_of(workspace, view)
        if show_output:
            service.wait_for_deployment(show_output=True)
        return service

    @staticmethod
    def package(
        workspace: Workspace,
        models: Sequence[Model],
        inference_config: Any = None,
        generate_dockerfile: bool = False,
        image_name: Optional[str] = None,
        image_label: Optional[str] = None,
    ) -> ModelPackage:
        """Package models as an image, or as a directory to build one from.

        Args:
            workspace: The workspace.
            models: Registered models.
            inference_config: The script; without one, a single model is served without code.
            generate_dockerfile: Whether to make a directory, which `package.save` writes.
            image_name: The name of the image.
            image_label: The tag of the image.

        Returns:
            The package.

        Raises:
            WebserviceException: The image cannot be built, or its environment cannot be in an image.
            UserErrorException: The models cannot be served without code.

        Example:
            def pack(model: Model) -> None:
                package = Model.package(ws, [model], generate_dockerfile=True)
                package.save("image")
        """
        package = packaging.ModelPackage(workspace, models, inference_config, image_name, image_label)
        if not generate_dockerfile:
            package.build()
        return package

    @staticmethod
    def profile(
        workspace: Workspace,
        profile_name: str,
        models: Sequence[Model],
        inference_config: Any = None,
        input_dataset: Any = None,
        cpu: Optional[float] = None,
        memory_in_gb: Optional[float] = None,
        description: Optional[str] = None,
    ) -> ModelProfile:
        """Deploy models for a moment, send them sample requests, and recommend resources.

        Args:
            workspace: The workspace.
            profile_name: A name for the result.
            models: Registered models.
            inference_config: The script; without one, a single model is served without code.
            input_dataset: A tabular dataset with one column, whose rows are requests; or one request.
            cpu: CPUs of the service while it is measured.
            memory_in_gb: Memory of the service while it is measured.
            description: A text about the result.

        Returns:
            The profile, complete.

        Raises:
            WebserviceException: The service does not start or stops answering.
            UserErrorException: `input_dataset` has no requests.

        Example:
            def measure(model: Model) -> None:
                profile = Model.profile(ws, "first", [model], input_dataset='{"data": [[1, 2]]}')
                print(profile.recommended_cpu, profile.recommended_memory)
        """
        return profiling.profile(
            workspace, profile_name, models, inference_config, input_dataset, cpu, memory_in_gb, description
        )

    @staticmethod
    def get_model_path(model_name: str, version: Optional[int] = None, _workspace: Optional[Workspace] = None) -> str:
        """Return the local path of a model's file or directory. Scoring scripts call it in `init()`.

        Inside a run the model is downloaded on first use.

        Args:
            model_name: The name of the model.
            version: The version; the latest by default.

        Returns:
            The path.

        Raises:
            ModelNotFoundException: The model is neither in a run's reach nor in the current directory.
            UserErrorException: `version` is not a whole number.

        Example:
            with open("weights.txt", "w") as file:
                file.write("weights")
            print(Model.get_model_path("weights.txt"))
        """
        if version is not None and (not isinstance(version, int) or isinstance(version, bool)):  # pyright: ignore
            raise UserErrorException(f"version is {version!r}", hint="use a whole number")
        cache = registered_model.folder_of(model_name)
        workspace = _workspace or workspace_of_job()
        if workspace is None or registered_model.ROOT in os.environ or version is not None:
            path = registered_model.find_cached(cache, version)
            if path is not None:
                return path
        if workspace is not None:
            model = Model(workspace, model_name, version=version)
            path = registered_model.find_cached(cache, model.version)
            return path or registered_model.keep(cache, model.version, model.download)
        if os.path.exists(model_name):
            return os.path.join(".", model_name)
        identity = model_name if version is None else f"{model_name}:{version}"
        raise ModelNotFoundException(
            f"ModelNotFound: {identity!r} is neither in {cache} nor in the current folder {os.getcwd()}",
            hint="outside a run, use the workspace: Model(workspace, name).download()",
        )

    def to_onnx(self, sample_input: Any = None, model_name: Optional[str] = None) -> Model:
        """Convert the model to ONNX in a run, compare both on sample rows, and register the next version.

        Args:
            sample_input: Rows of numbers; by default those of `sample_input_dataset`.
            model_name: The name of the converted model; its own by default.

        Returns:
            The converted model.

        Raises:
            UserErrorException: There are no sample rows, or the framework cannot be converted.
            ActivityFailedException: The conversion failed.

        Example:
            def convert(model: Model) -> None:
                print(model.to_onnx(sample_input=[[5.1, 3.5, 1.4, 0.2]]).id)
        """
        run = onnx_conversion.convert(self, sample_input)
        behind = [(purpose, each) for purpose, datasets in self.datasets.items() for each in datasets]
        return register_from_run(
            self.workspace, run, model_name or self.name, onnx_conversion.RESULT.format(self.name), self.tags,
            {CONVERTED_FROM: self.id}, self.description, ("Onnx", None),
            (behind, self.sample_input_dataset, self.sample_output_dataset), self.resource_configuration,
        )  # fmt: skip

    def get_sas_urls(self) -> Dict[str, str]:
        """Return an address for each file of the model, which any program of this machine can read.

        Returns:
            Addresses by the path of the file.

        Example:
            def addresses(model: Model) -> None:
                for path, address in model.get_sas_urls().items():
                    print(path, address)
        """
        folder = os.path.abspath(os.path.dirname(Model.get_model_path(self.name, self.version, self.workspace)))
        return {file.path: "file://" + urllib.parse.quote(os.path.join(folder, file.path)) for file in self.view.files}


def register_from_run(
    workspace: Workspace,
    run_id: str,
    model_name: str,
    model_path: Optional[str],
    tags: Optional[Mapping[str, Any]],
    properties: Optional[Mapping[str, Any]],
    description: Optional[str],
    framework: Tuple[Optional[str], Optional[str]],
    datasets: Tuple[Any, Any, Any],
    resource_configuration: Optional[ResourceConfiguration],
) -> Model:
    """Register files of a run; raise ModelPathNotFoundException if the run has no such path."""
    behind = datasets_behind(workspace, *datasets)
    new = registration(model_name, tags, properties, description, *framework, resource_configuration, datasets[1:])
    path = os.path.normpath(model_path or model_name).replace(os.sep, "/")
    new = replace(new, datasets=behind, run=run_id, run_path=path)
    return Model.from_view(workspace, workspace.session.api_for(_FROM_RUN).models.register(workspace.id, new))


def _views(
    workspace: Workspace,
    name: Optional[str],
    tags: Filters,
    properties: Filters,
    run_id: Optional[str],
    framework: Optional[str],
    latest: bool = False,
) -> List[ModelView]:
    return list(
        workspace.session.api_for(KINDS).models.list(
            workspace.id, name=name, tag=_filters("tags", tags), property=_filters("properties", properties),
            run=run_id, framework=framework, latest=latest,
        )
    )  # fmt: skip


def _filters(what: str, filters: Filters) -> List[str]:
    query: List[str] = []
    refused = UserErrorException(f"{what} is {filters!r}", hint=f"{what}=['key'] or {what}=[['key', 'value']]")
    if filters is not None and not isinstance(filters, (list, tuple)):
        raise refused
    for each in filters or ():
        parts = [each] if isinstance(each, str) else list(each) if isinstance(each, (list, tuple)) else []
        if len(parts) not in (1, 2):
            raise refused
        query.append(label_filter(*map(str, parts)))
    return query
