"""Registered models: files under a name and a version, linked to the run that produced them."""

from __future__ import annotations

import os
from dataclasses import replace
from datetime import datetime
from typing import TYPE_CHECKING, Any, Dict, List, Mapping, Optional, Sequence, Tuple, Union

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
from footplate.sdk.models.registration import (
    SAMPLE_INPUT,
    SAMPLE_OUTPUT,
    datasets_behind,
    local_files,
    registration,
)
from footplate.sdk.models.resource_configuration import ResourceConfiguration
from footplate.sdk.timestamps import utc_text, utc_time

if TYPE_CHECKING:
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


class Model:
    """`Model(workspace, name)` is the latest version that matches. If none does, it raises WebserviceException."""

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
        datasets: Any = None,
        model_framework: Optional[str] = None,
        model_framework_version: Optional[str] = None,
        child_paths: Optional[Sequence[str]] = None,
        sample_input_dataset: Any = None,
        sample_output_dataset: Any = None,
        resource_configuration: Optional[ResourceConfiguration] = None,
    ) -> Model:
        """Register a local file or folder as the next version of `model_name`."""
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
            model_name, tags, properties, description, model_framework, model_framework_version, resource_configuration
        )
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
        """Return models, newest first. `tags` and `properties` are lists of 'key' or ['key', 'value']."""
        views = _views(workspace, name, tags, properties, run_id, model_framework, latest)
        if dataset_id is not None:
            views = [view for view in views if any(use.dataset == dataset_id for use in view.datasets)]
        return [Model._of(workspace, view) for view in sorted(views, key=lambda v: -v.created)]

    @staticmethod
    def deploy(
        workspace: Workspace,
        name: str,
        models: Sequence[Model],
        inference_config: Any = None,
        deployment_config: Any = None,
        deployment_target: Any = None,
        overwrite: bool = False,
        show_output: bool = False,
    ) -> Webservice:
        """Deploy models as a web service. Without an inference configuration, one model is served without code."""
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
        """Package models as an image, or with `generate_dockerfile` as a folder to build one from."""
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
        """Deploy models for a moment, send them the rows of a dataset with one column, and recommend resources."""
        from footplate.sdk.models import profiling  # noqa: PLC0415  # it imports this module

        return profiling.profile(
            workspace, profile_name, models, inference_config, input_dataset, cpu, memory_in_gb, description
        )

    @staticmethod
    def get_model_path(model_name: str, version: Optional[int] = None, _workspace: Optional[Workspace] = None) -> str:
        """Return the local path of the model's file or folder. Inside a run or given a workspace, download it."""
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
        return self._view.name

    @property
    def version(self) -> int:
        return self._view.version

    @property
    def id(self) -> str:
        return f"{self._view.name}:{self._view.version}"

    @property
    def tags(self) -> Dict[str, Optional[str]]:
        return dict(self._view.tags)

    @property
    def properties(self) -> Dict[str, str]:
        return dict(self._view.properties)

    @property
    def description(self) -> Optional[str]:
        return self._view.description

    @property
    def created_time(self) -> datetime:
        return utc_time(self._view.created)

    @property
    def url(self) -> str:
        return f"aml://asset/{self.name}/{self.version}"

    @property
    def model_framework(self) -> Optional[str]:
        return self._view.framework

    @property
    def model_framework_version(self) -> Optional[str]:
        return self._view.framework_version

    @property
    def run_id(self) -> Optional[str]:
        return self._view.run

    @property
    def experiment_name(self) -> Optional[str]:
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
        return self._sample(SAMPLE_INPUT)

    @property
    def sample_output_dataset(self) -> Any:
        return self._sample(SAMPLE_OUTPUT)

    def _sample(self, purpose: str) -> Any:
        found = [use.dataset for use in self._view.datasets if use.purpose == purpose]
        return Dataset.get_by_id(self.workspace, found[0]) if found else None

    @property
    def resource_configuration(self) -> Optional[ResourceConfiguration]:
        return ResourceConfiguration.deserialize(self._view.resources)

    # ── using and changing ──

    def download(self, target_dir: str = ".", exist_ok: bool = False, exists_ok: Optional[bool] = None) -> str:
        """Download the model into `target_dir` and return the path of its file or folder."""
        root = os.path.join(target_dir, self._view.root)
        targets = [(file, os.path.join(target_dir, file.path)) for file in self._view.files]
        overwrite = exist_ok if exists_ok is None else exists_ok
        for _, target in targets:
            if os.path.exists(target) and not overwrite:
                raise WebserviceException(
                    f"{target} exists already",
                    hint="overwrite it with exist_ok=True (in the CLI: --overwrite), or choose another folder",
                )
        for file, target in targets:
            blob_transfer.fetch(self.workspace.session, str(file.digest), target)
        return root

    def to_onnx(self, sample_input: Any = None, model_name: Optional[str] = None) -> Model:
        """Convert the model to ONNX in a run, compare both on rows of numbers, and register the next version.

        Without `sample_input`, the rows are those of `sample_input_dataset`.
        """
        from footplate.sdk.models import onnx_conversion  # noqa: PLC0415  # it imports this module

        return onnx_conversion.to_onnx(self, sample_input, model_name)

    def add_tags(self, tags: Mapping[str, Any]) -> None:
        self._change(tags=texts(tags))

    def remove_tags(self, tags: Sequence[str]) -> None:
        self._change(remove_tags=[tags] if isinstance(tags, str) else list(tags))

    def add_properties(self, properties: Mapping[str, Any]) -> None:
        """Add properties. They are written once: another value for an existing one raises WebserviceException."""
        self._change(properties=texts(properties))

    def update(self, tags: Optional[Mapping[str, Any]] = None, description: Optional[str] = None) -> None:
        """Replace the tags, the description, or both."""
        change: Dict[str, Any] = {}
        if tags is not None:
            change.update(tags=texts(tags), remove_tags=[key for key in self._view.tags if key not in tags])
        if description is not None:
            change.update(description=description)
        self._change(**change)

    def delete(self) -> None:
        self.workspace.session.api_for(_KINDS).models.delete(self.workspace.id, self.name, self.version)

    def serialize(self) -> Dict[str, Any]:
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
    new = registration(model_name, tags, properties, description, *framework, resource_configuration)
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
