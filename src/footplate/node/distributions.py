"""Metadata of the azureml packages: versions for `importlib.metadata.version("azureml-core")`, and plugins for MLflow.

Footplate's own modules replace these packages, so no installer has recorded them inside jobs.
"""

from __future__ import annotations

import hashlib
import json
import os
from typing import TYPE_CHECKING

from footplate.domain.locks import AZUREML
from footplate.domain.orders import Lock
from footplate.lazy import Deferred

if TYPE_CHECKING:
    import shutil
else:
    shutil = Deferred("shutil")  # needed once on a machine

VERSION = "1.61.0"
"""The release that the modules of `packages/azureml` follow; requirements that pin another one are reported as that."""

ENTRY_POINTS = """[mlflow.tracking_store]
azureml = footplate.sdk.mlflow.entry_points:tracking_store

[mlflow.model_registry_store]
azureml = footplate.sdk.mlflow.entry_points:registry_store

[mlflow.artifact_repository]
azureml = footplate.sdk.mlflow.entry_points:artifact_store
"""
"""The plugins that the package `footplate-azureml` has, too."""

_ALWAYS = ("azureml-core", "azureml-dataset-runtime", "azureml-defaults", "azureml-sdk", "azureml-train-core")


def write(root: str, lock: Lock) -> str:
    """Return a directory for the import path with the metadata, below `root`; jobs with the same versions share it."""
    versions = _versions(lock)
    content = json.dumps([versions, ENTRY_POINTS], sort_keys=True).encode()
    folder = os.path.join(root, hashlib.sha256(content).hexdigest()[:16])
    if os.path.isdir(folder):
        return folder
    aside = f"{folder}.{os.getpid()}"
    for name, version in versions.items():
        _write_one(aside, name, version)
    try:
        os.rename(aside, folder)
    except OSError:  # another agent was first
        shutil.rmtree(aside, ignore_errors=True)
        if not os.path.isdir(folder):
            raise
    return folder


def _versions(lock: Lock) -> dict[str, str]:
    pinned = lock.content.get(AZUREML, {})
    release = next((pinned[name] for name in _ALWAYS if name in pinned), VERSION)  # they are released together
    return {**dict.fromkeys(_ALWAYS, release), **pinned}


def _write_one(folder: str, name: str, version: str) -> None:
    info = os.path.join(folder, f"{name.replace('-', '_')}-{version}.dist-info")
    os.makedirs(info, exist_ok=True)
    text = f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\nSummary: replaced by Footplate\n"
    files = {"METADATA": text, "INSTALLER": "footplate\n", "top_level.txt": "azureml\n"}
    if name == _ALWAYS[0]:
        files["entry_points.txt"] = ENTRY_POINTS
    for file, content in files.items():
        with open(os.path.join(info, file), "w", encoding="utf-8") as target:
            target.write(content)
