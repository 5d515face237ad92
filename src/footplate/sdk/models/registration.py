"""The request that registers a model: its files, its datasets and its description."""

from __future__ import annotations

import os
import uuid
from typing import Any, Dict, List, Mapping, Optional, Sequence, Tuple, cast

from footplate.domain.datasets import SAMPLE_INPUT, SAMPLE_OUTPUT
from footplate.domain.requests import NewModel
from footplate.sdk.exceptions import Kinds, WebserviceException
from footplate.sdk.handles import WorkspaceHandle as Workspace
from footplate.sdk.local_files import data_below
from footplate.sdk.models.resource_configuration import ResourceConfiguration
from footplate.sdk.models.signature import signature_of
from footplate.sdk.values.labels import texts

KINDS: Kinds = {"invalid": WebserviceException, "conflict": WebserviceException, "not_found": WebserviceException}
"""Exceptions of requests about models and web services."""

CONVERTED_FROM = "converted_from"
"""The property of a conversion that names the original."""


def registration(
    name: str,
    tags: Optional[Mapping[str, Any]],
    properties: Optional[Mapping[str, Any]],
    description: Optional[str],
    framework: Optional[str],
    framework_version: Optional[str],
    resources: Optional[ResourceConfiguration],
    samples: Tuple[Any, Any] = (None, None),
) -> NewModel:
    """Describe a model; its signature comes from the samples of its input and output."""
    if framework_version and not framework:
        raise WebserviceException(
            f"model_framework_version is {framework_version!r}, but model_framework is missing", hint="give both"
        )
    return NewModel(
        key=uuid.uuid4().hex,
        name=name,
        description=description,
        framework=framework,
        framework_version=framework_version,
        tags=texts(tags or {}),
        properties=cast("Dict[str, str]", texts(properties or {})),  # the server refuses None
        resources=resources.serialize() if resources else {},
        options=signature_of(*samples),
    )


def local_files(path: str, child_paths: Optional[Sequence[str]]) -> List[Tuple[str, str]]:
    """Return `(name in the model, path on disk)` of every file to register; names start with the model's root."""
    if os.path.isfile(path):
        return [(os.path.basename(path), path)]
    files = [(name, file) for file, name in data_below(path)]
    if child_paths:
        chosen = [os.path.normpath(child).replace(os.sep, "/") for child in child_paths]
        files = [(name, file) for name, file in files if any(name == w or name.startswith(w + "/") for w in chosen)]
    if not files:
        raise WebserviceException(f"{path} contains no files", hint="a model has at least one file")
    root = os.path.basename(path)
    return [(f"{root}/{name}", file) for name, file in files]


def datasets_behind(
    workspace: Workspace, datasets: Any, sample_input: Any, sample_output: Any
) -> Tuple[Tuple[str, str], ...]:
    """Return (purpose, id) of each dataset; `given` is a list of (purpose, dataset)."""
    named: List[Tuple[str, Any]] = [(str(purpose), dataset) for purpose, dataset in datasets or ()]
    named += [(SAMPLE_INPUT, sample_input)] if sample_input is not None else []
    named += [(SAMPLE_OUTPUT, sample_output)] if sample_output is not None else []
    return tuple((purpose, dataset.save(workspace).id) for purpose, dataset in named)
