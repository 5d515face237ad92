"""A registered version of a model: its identity, its files, and changes to it.

Models on this machine are in the layout that scoring scripts expect: `azureml-models/<name>/<version>/<one entry>`.
"""

from __future__ import annotations

import os
import shutil
from datetime import datetime
from typing import Any, Callable, Dict, List, Mapping, Optional, Sequence, Tuple, Type, TypeVar

from footplate.domain.datasets import SAMPLE_INPUT, SAMPLE_OUTPUT
from footplate.domain.records import ModelView
from footplate.sdk import blob_transfer
from footplate.sdk.data.base import AbstractDataset
from footplate.sdk.data.dataset import Dataset
from footplate.sdk.display import notebooks
from footplate.sdk.display.status_line import transferring
from footplate.sdk.exceptions import WebserviceException
from footplate.sdk.handles import WorkspaceHandle as Workspace
from footplate.sdk.models.registration import CONVERTED_FROM, KINDS, SIGNATURE, datasets_behind, signature_change
from footplate.sdk.models.resource_configuration import ResourceConfiguration
from footplate.sdk.runs.controlled_run import ControlledRun as Run
from footplate.sdk.values.labels import texts
from footplate.sdk.values.timestamps import utc_text, utc_time
from footplate.sdk.values.wrong_types import explained

ROOT = "AML_APP_ROOT"
"""The variable that names the folder above `azureml-models` on a machine that serves models."""


def folder_of(model_name: str) -> str:
    return os.path.join(os.environ.get(ROOT, ""), "azureml-models", model_name)


def find_cached(folder: str, version: Optional[int]) -> Optional[str]:
    """Return the single entry of the given (or highest) version below `folder`, or None if it is not find_cached."""
    if not os.path.isdir(folder):
        return None
    versions = sorted((int(entry) for entry in os.listdir(folder) if entry.isdigit()), reverse=True)
    for each in versions:
        if version is None or each == version:
            base = os.path.join(folder, str(each))
            entries = os.listdir(base)
            return os.path.join(base, entries[0]) if len(entries) == 1 else base
    return None


def keep(folder: str, version: int, download: Callable[[str], object]) -> str:
    """Download into the cache, whole or not at all: other ranks of the run read it too."""
    aside = os.path.join(folder, f".{version}.{os.urandom(4).hex()}")
    try:
        download(aside)
        os.rename(aside, os.path.join(folder, str(version)))
    except OSError:
        if find_cached(folder, version) is None:  # otherwise another process was faster
            raise
    finally:
        shutil.rmtree(aside, ignore_errors=True)
    path = find_cached(folder, version)
    assert path is not None
    return path


M = TypeVar("M", bound="RegisteredModel")


@explained
class RegisteredModel:
    workspace: Workspace
    view: ModelView  # the server's record, as last read

    @classmethod
    def from_view(cls: Type[M], workspace: Workspace, view: ModelView) -> M:
        """Return a model without a request."""
        model = object.__new__(cls)
        model.workspace = workspace
        model.view = view
        return model

    # ── identity ──

    @property
    def name(self) -> str:
        """The name."""
        return self.view.name

    @property
    def version(self) -> int:
        """The version, from 1."""
        return self.view.version

    @property
    def id(self) -> str:
        """`name:version`."""
        return f"{self.view.name}:{self.view.version}"

    @property
    def tags(self) -> Dict[str, Optional[str]]:
        """The tags, as last read from the server."""
        return dict(self.view.tags)

    @property
    def properties(self) -> Dict[str, str]:
        """The properties, as last read from the server."""
        return dict(self.view.properties)

    @property
    def description(self) -> Optional[str]:
        """The description."""
        return self.view.description

    @property
    def created_time(self) -> datetime:
        """The time of registration."""
        return utc_time(self.view.created)

    @property
    def url(self) -> str:
        """The address of the model in Azure's form."""
        return f"aml://asset/{self.name}/{self.version}"

    @property
    def model_framework(self) -> Optional[str]:
        """The framework that it was registered with."""
        return self.view.framework

    @property
    def model_framework_version(self) -> Optional[str]:
        """The version of the framework."""
        return self.view.framework_version

    @property
    def run_id(self) -> Optional[str]:
        """The id of the run that produced it, or None."""
        return self.view.run

    @property
    def experiment_name(self) -> Optional[str]:
        """The experiment of that run, or None."""
        return self.view.experiment

    @property
    def run(self) -> Optional[Run]:
        """The run that produced it, fetched on access."""
        return self.workspace.get_run(self.view.run) if self.view.run else None

    @property
    def datasets(self) -> Dict[str, List[Any]]:
        """The datasets of the model by purpose: those it was registered with, and those that its run read."""
        by_purpose: Dict[str, List[Any]] = {}
        for use in self.view.datasets:
            if use.purpose not in (SAMPLE_INPUT, SAMPLE_OUTPUT):
                by_purpose.setdefault(use.purpose, []).append(Dataset.get_by_id(self.workspace, use.dataset))
        return by_purpose

    @property
    def sample_input_dataset(self) -> Any:
        """The dataset with example inputs, or None."""
        return self._sample(SAMPLE_INPUT)

    @property
    def sample_output_dataset(self) -> Any:
        """The dataset with example outputs, or None."""
        return self._sample(SAMPLE_OUTPUT)

    def _sample(self, purpose: str) -> Any:
        samples = [use.dataset for use in self.view.datasets if use.purpose == purpose]
        return Dataset.get_by_id(self.workspace, samples[0]) if samples else None

    @property
    def resource_configuration(self) -> Optional[ResourceConfiguration]:
        """The resources that a web service of the model gets by default, or None."""
        return ResourceConfiguration.deserialize(self.view.resources)

    @property
    def signature(self) -> Dict[str, Any]:
        """The columns of `inputs` and `outputs` with their types, as the samples have them; {} without samples."""
        return dict(self.view.options.get(SIGNATURE) or {})

    @property
    def lineage(self) -> Dict[str, Any]:
        """The origin of the model: run, code, environment, datasets, and the model that it was converted from."""
        view = self.view
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
        root = os.path.join(target_dir, self.view.root)
        targets = [(file, os.path.join(target_dir, file.path)) for file in self.view.files]
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
        change.update(signature_change(self.signature, *samples))
        if resource_configuration is not None:
            change.update(resources=resource_configuration.serialize())
        if tags is not None:
            change.update(tags=texts(tags), remove_tags=[key for key in self.view.tags if key not in tags])
        if description is not None:
            change.update(description=description)
        self._change(**change)

    def delete(self) -> None:
        """Delete this version.

        Raises:
            WebserviceException: A web service uses it, or it does not exist any more.
        """
        self.workspace.session.api_for(KINDS).models.delete(self.workspace.id, self.name, self.version)

    def serialize(self) -> Dict[str, Any]:
        """Return the model as Azure writes it.

        Returns:
            A dict.
        """
        view = self.view
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
        models = self.workspace.session.api_for(KINDS).models
        self.view = models.change(self.workspace.id, self.name, self.version, **change)

    def __repr__(self) -> str:
        return (
            f"Model(workspace={self.workspace!r}, name={self.name}, id={self.id}, version={self.version}, "
            f"tags={self.tags}, properties={self.properties})"
        )

    def _repr_html_(self) -> str:
        framework = " ".join(filter(None, (self.model_framework, self.model_framework_version)))
        return notebooks.row({"Name": self.name, "Version": self.version, "Framework": framework,
                              "Run": self.run_id, "Registered": self.created_time})  # fmt: skip
