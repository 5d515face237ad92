"""Registered models: files under a name and a version, linked to the run that produced them."""

from __future__ import annotations

import os
import urllib.parse
from dataclasses import replace
from datetime import datetime
from typing import TYPE_CHECKING, Any, Dict, List, Mapping, Optional, Sequence, Tuple, Union

from footplate.domain.datasets import SAMPLE_INPUT, SAMPLE_OUTPUT
from footplate.domain.records import ModelView
from footplate.domain.tag_filters import label_filter
from footplate.sdk import blob_transfer, notebooks
from footplate.sdk.data.dataset import Dataset
from footplate.sdk.exceptions import (
    Kinds,
    ModelNotFoundException,
    ModelPathNotFoundException,
    UserErrorException,
    WebserviceException,
)
from footplate.sdk.labels import texts
from footplate.sdk.models import model_cache
from footplate.sdk.models.registration import CONVERTED_FROM, datasets_behind, local_files, registration
from footplate.sdk.models.resource_configuration import ResourceConfiguration
from footplate.sdk.models.signature import SIGNATURE, changed_signature
from footplate.sdk.status_line import transferring
from footplate.sdk.timestamps import utc_text, utc_time
from footplate.sdk.wrong_types import explained

if TYPE_CHECKING:
    from footplate.sdk.data.base import AbstractDataset
    from footplate.sdk.models.deployment_configuration import WebserviceDeploymentConfiguration
    from footplate.sdk.models.inference_config import InferenceConfig
    from footplate.sdk.models.packaging import ModelPackage
    from footplate.sdk.models.profiling import ModelProfile
    from footplate.sdk.models.webservice import Webservice
    from footplate.sdk.runs.run import Run
    from footplate.sdk.workspace import Workspace

_KINDS: Kinds = {"invalid": WebserviceException, "conflict": WebserviceException, "not_found": WebserviceException}
_FROM_RUN: Kinds = dict(_KINDS, not_found=ModelPathNotFoundException)
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
class Model:
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
        found = _views(workspace, name, tags, properties, run_id, model_framework)
        matching = [view for view in found if version is None or view.version == int(version)]
        if not matching:
            wanted = f"{name or 'any name'}" + (f":{version}" if version is not None else "")
            raise WebserviceException(
                f"ModelNotFound: no model {wanted} matches in workspace {workspace.name}",
                status_code=404,
                hint="list models with: footplate models list",
            )
        self.workspace = workspace
        self._view = max(matching, key=lambda view: (view.version if name else 0, view.created, view.version))

    @classmethod
    def _of(cls, workspace: Workspace, view: ModelView) -> Model:
        made = object.__new__(cls)
        made.workspace, made._view = workspace, view
        return made

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
        return Model._of(workspace, workspace.session.api_for(_KINDS).models.register(workspace.id, new))

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
        return [Model._of(workspace, view) for view in sorted(views, key=lambda v: -v.created)]

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
        from footplate.sdk.models import deploying, webservice  # noqa: PLC0415  # they import this module

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
        from footplate.sdk.models import packaging  # noqa: PLC0415  # it imports this module

        return packaging.package(workspace, models, inference_config, generate_dockerfile, image_name, image_label)

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
        from footplate.sdk.models import profiling  # noqa: PLC0415  # it imports this module

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
        cache = model_cache.folder_of(model_name)
        workspace = _workspace or _workspace_of_job()
        if workspace is None or model_cache.ROOT in os.environ or version is not None:
            known = model_cache.cached(cache, version)
            if known is not None:
                return known
        if workspace is not None:
            model = Model(workspace, model_name, version=version)
            known = model_cache.cached(cache, model.version)
            return known or model_cache.keep(cache, model.version, model.download)
        if os.path.exists(model_name):
            return os.path.join(".", model_name)
        wanted = model_name if version is None else f"{model_name}:{version}"
        raise ModelNotFoundException(
            f"ModelNotFound: {wanted!r} is neither in {cache} nor in the current folder {os.getcwd()}",
            hint="outside a run, use the workspace: Model(workspace, name).download()",
        )

    # ── identity ──

    @property
    def name(self) -> str:
        """The name."""
        return self._view.name

    @property
    def version(self) -> int:
        """The version, from 1."""
        return self._view.version

    @property
    def id(self) -> str:
        """`name:version`."""
        return f"{self._view.name}:{self._view.version}"

    @property
    def tags(self) -> Dict[str, Optional[str]]:
        """The tags, as last read from the server."""
        return dict(self._view.tags)

    @property
    def properties(self) -> Dict[str, str]:
        """The properties, as last read from the server."""
        return dict(self._view.properties)

    @property
    def description(self) -> Optional[str]:
        """The description."""
        return self._view.description

    @property
    def created_time(self) -> datetime:
        """The time of registration."""
        return utc_time(self._view.created)

    @property
    def url(self) -> str:
        """The address of the model in Azure's form."""
        return f"aml://asset/{self.name}/{self.version}"

    @property
    def model_framework(self) -> Optional[str]:
        """The framework that it was registered with."""
        return self._view.framework

    @property
    def model_framework_version(self) -> Optional[str]:
        """The version of the framework."""
        return self._view.framework_version

    @property
    def run_id(self) -> Optional[str]:
        """The id of the run that produced it, or None."""
        return self._view.run

    @property
    def experiment_name(self) -> Optional[str]:
        """The experiment of that run, or None."""
        return self._view.experiment

    @property
    def run(self) -> Optional[Run]:
        """The run that produced it, fetched on access."""
        return self.workspace.get_run(self._view.run) if self._view.run else None

    @property
    def datasets(self) -> Dict[str, List[Any]]:
        """The datasets of the model by purpose: those it was registered with, and those that its run read."""
        found: Dict[str, List[Any]] = {}
        for use in self._view.datasets:
            if use.purpose not in (SAMPLE_INPUT, SAMPLE_OUTPUT):
                found.setdefault(use.purpose, []).append(Dataset.get_by_id(self.workspace, use.dataset))
        return found

    @property
    def sample_input_dataset(self) -> Any:
        """The dataset with example inputs, or None."""
        return self._sample(SAMPLE_INPUT)

    @property
    def sample_output_dataset(self) -> Any:
        """The dataset with example outputs, or None."""
        return self._sample(SAMPLE_OUTPUT)

    def _sample(self, purpose: str) -> Any:
        found = [use.dataset for use in self._view.datasets if use.purpose == purpose]
        return Dataset.get_by_id(self.workspace, found[0]) if found else None

    @property
    def resource_configuration(self) -> Optional[ResourceConfiguration]:
        """The resources that a web service of the model gets by default, or None."""
        return ResourceConfiguration.deserialize(self._view.resources)

    @property
    def signature(self) -> Dict[str, Any]:
        """The columns of `inputs` and `outputs` with their types, as the samples have them; {} without samples."""
        return dict(self._view.options.get(SIGNATURE) or {})

    @property
    def lineage(self) -> Dict[str, Any]:
        """The origin of the model: run, code, environment, datasets, and the model that it was converted from."""
        view = self._view
        return {
            "run": view.run,
            "experiment": view.experiment,
            "snapshot": view.options.get("snapshot"),
            "environment_lock": view.options.get("lock"),
            "datasets": [
                {"purpose": use.purpose, "id": use.dataset, "name": use.dataset_name, "version": use.version}
                for use in view.datasets
            ],
            "converted_from": view.properties.get(CONVERTED_FROM),
        }

    # ── using and changing ──

    def download(self, target_dir: str = ".", exist_ok: bool = False, exists_ok: Optional[bool] = None) -> str:
        """Download the model.

        Args:
            target_dir: The local directory.
            exist_ok: Whether to replace files that exist.
            exists_ok: Azure's earlier name of `exist_ok`.

        Returns:
            The path of its file or directory.

        Raises:
            WebserviceException: A file exists.
        """
        root = os.path.join(target_dir, self._view.root)
        targets = [(file, os.path.join(target_dir, file.path)) for file in self._view.files]
        overwrite = exist_ok if exists_ok is None else exists_ok
        for _, target in targets:
            if os.path.exists(target) and not overwrite:
                raise WebserviceException(
                    f"{target} exists already",
                    hint="overwrite it with exist_ok=True (in the CLI: --overwrite), or choose another folder",
                )
        with transferring(f"downloading {self.name}:{self.version}", sum(file.size for file, _ in targets)) as passing:
            for file, target in targets:
                blob_transfer.fetch(self.workspace.session, str(file.digest), target, passing)
        return root

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
        from footplate.sdk.models import onnx_conversion  # noqa: PLC0415  # it imports this module

        return onnx_conversion.to_onnx(self, sample_input, model_name)

    def add_tags(self, tags: Mapping[str, Any]) -> None:
        """Add tags, or replace their values.

        Args:
            tags: Values by name.
        """
        self._change(tags=texts(tags))

    def remove_tags(self, tags: Sequence[str]) -> None:
        """Remove tags. Names that do not exist are skipped.

        Args:
            tags: The names.
        """
        self._change(remove_tags=[tags] if isinstance(tags, str) else list(tags))

    def add_properties(self, properties: Mapping[str, Any]) -> None:
        """Add properties. Unlike tags, they are written once.

        Args:
            properties: Values by name.

        Raises:
            WebserviceException: A property exists with another value.
        """
        self._change(properties=texts(properties))

    def add_dataset_references(self, datasets: Sequence[Tuple[str, Any]]) -> None:
        """Record further datasets behind the model.

        Args:
            datasets: Pairs of purpose and dataset.

        Example:
            def evaluate(model: Model) -> None:
                model.add_dataset_references([("evaluation", ws.datasets["digits"])])
        """
        self._change(datasets=datasets_behind(self.workspace, datasets, None, None))

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
        return {file.path: "file://" + urllib.parse.quote(os.path.join(folder, file.path)) for file in self._view.files}

    def update(
        self,
        tags: Optional[Mapping[str, Any]] = None,
        description: Optional[str] = None,
        sample_input_dataset: Optional[AbstractDataset] = None,
        sample_output_dataset: Optional[AbstractDataset] = None,
        resource_configuration: Optional[ResourceConfiguration] = None,
    ) -> None:
        """Replace the values that are given. Web services keep what they were deployed with.

        Args:
            tags: The new tags; others are removed.
            description: The new description.
            sample_input_dataset: The new dataset with example inputs.
            sample_output_dataset: The new dataset with example outputs.
            resource_configuration: The resources that new web services of the model get by default.
        """
        samples = sample_input_dataset, sample_output_dataset
        change: Dict[str, Any] = {"datasets": datasets_behind(self.workspace, (), *samples)}
        change.update(changed_signature(self.signature, *samples))
        if resource_configuration is not None:
            change.update(resources=resource_configuration.serialize())
        if tags is not None:
            change.update(tags=texts(tags), remove_tags=[key for key in self._view.tags if key not in tags])
        if description is not None:
            change.update(description=description)
        self._change(**change)

    def delete(self) -> None:
        """Delete this version.

        Raises:
            WebserviceException: A web service uses it, or it does not exist any more.
        """
        self.workspace.session.api_for(_KINDS).models.delete(self.workspace.id, self.name, self.version)

    def serialize(self) -> Dict[str, Any]:
        """Return the model as Azure writes it.

        Returns:
            A dict.
        """
        view = self._view
        return {
            "createdTime": utc_text(view.created),
            "description": view.description,
            "experimentName": view.experiment,
            "framework": view.framework,
            "frameworkVersion": view.framework_version,
            "id": self.id,
            "name": view.name,
            "properties": dict(view.properties),
            "resourceConfiguration": dict(view.resources) or None,
            "runId": view.run,
            "tags": dict(view.tags),
            "url": self.url,
            "version": view.version,
        }

    def _change(self, **change: Any) -> None:
        models = self.workspace.session.api_for(_KINDS).models
        self._view = models.change(self.workspace.id, self.name, self.version, **change)

    def __repr__(self) -> str:
        return (
            f"Model(workspace={self.workspace!r}, name={self.name}, id={self.id}, version={self.version}, "
            f"tags={self.tags}, properties={self.properties})"
        )

    def _repr_html_(self) -> str:
        framework = " ".join(filter(None, (self.model_framework, self.model_framework_version)))
        return notebooks.row({"Name": self.name, "Version": self.version, "Framework": framework,
                              "Run": self.run_id, "Registered": self.created_time})  # fmt: skip


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
    return Model._of(  # pyright: ignore[reportPrivateUsage]
        workspace, workspace.session.api_for(_FROM_RUN).models.register(workspace.id, new)
    )


def _views(
    workspace: Workspace,
    name: Optional[str],
    tags: Filters,
    properties: Filters,
    run_id: Optional[str],
    framework: Optional[str],
    latest: bool = False,
) -> List[ModelView]:
    found = workspace.session.api_for(_KINDS).models.list(
        workspace.id,
        name=name,
        tag=_filters("tags", tags),
        property=_filters("properties", properties),
        run=run_id,
        framework=framework,
        latest=latest,
    )
    return list(found)


def _filters(what: str, given: Filters) -> List[str]:
    made: List[str] = []
    refused = UserErrorException(f"{what} is {given!r}", hint=f"{what}=['key'] or {what}=[['key', 'value']]")
    if given is not None and not isinstance(given, (list, tuple)):
        raise refused
    for each in given or ():
        parts = [each] if isinstance(each, str) else list(each) if isinstance(each, (list, tuple)) else []
        if len(parts) not in (1, 2):
            raise refused
        made.append(label_filter(*map(str, parts)))
    return made


def _workspace_of_job() -> Optional[Workspace]:
    from footplate.sdk.runs.run import Run  # noqa: PLC0415  # lazy: the run imports this module for register_model

    run = Run.get_context()
    return run.experiment.workspace if hasattr(run, "experiment") else None
