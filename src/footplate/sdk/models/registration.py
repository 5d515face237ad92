"""The request that registers a model: its files, its datasets, its description and its signature.

The signature has the names and types of the columns of samples. A worker checks requests against it where the model
itself does not tell its shape, and accepts records by name.
"""

from __future__ import annotations

import os
import uuid
import warnings
from typing import Any, Dict, List, Mapping, Optional, Sequence, Tuple, cast

from footplate.domain.datasets import SAMPLE_INPUT, SAMPLE_OUTPUT
from footplate.domain.requests import NewModel
from footplate.sdk.exceptions import Kinds, WebserviceException
from footplate.sdk.handles import WorkspaceHandle as Workspace
from footplate.sdk.local_files import data_below
from footplate.sdk.models.resource_configuration import ResourceConfiguration
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


SIGNATURE = "signature"
ROWS = 100
"""Rows of a sample that are read."""


def signature_of(sample_input: Any, sample_output: Any) -> Dict[str, Any]:
    """Return {"signature": {"inputs": columns, "outputs": columns}} for samples that are tables, or nothing."""
    columns = {kind: _columns(kind, sample) for kind, sample in (("inputs", sample_input), ("outputs", sample_output))}
    signature = {kind: each for kind, each in columns.items() if each}
    return {SIGNATURE: signature} if signature else {}


def signature_change(before: Dict[str, Any], sample_input: Any, sample_output: Any) -> Dict[str, Any]:
    """Return {"options": {"signature": …}} with the columns of the new samples, or nothing if there are none."""
    kinds = {"inputs": sample_input, "outputs": sample_output}
    unchanged = {kind: columns for kind, columns in before.items() if kinds.get(kind) is None}
    new = signature_of(sample_input, sample_output).get(SIGNATURE, {})
    return {} if unchanged == before and not new else {"options": {SIGNATURE: {**unchanged, **new}}}


def _columns(kind: str, sample: Any) -> List[Dict[str, str]]:
    """Return name and type of each column. A dataset of files has none."""
    if not hasattr(sample, "to_pandas_dataframe"):
        return []
    try:
        frame: Any = sample.take(ROWS).to_pandas_dataframe()
    except Exception as error:
        warnings.warn(f"the model is registered without a signature of its {kind}: {error}", UserWarning, stacklevel=2)
        return []
    return [{"name": str(name), "dtype": _dtype(frame[name].dtype)} for name in frame.columns]


def _dtype(dtype: Any) -> str:
    """Return numpy's name of a type; text, categories and times are objects."""
    return str(dtype) if dtype.kind in "fiub" and str(dtype).islower() else "object"
