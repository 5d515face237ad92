"""Metadata of the azureml packages, so that `importlib.metadata.version("azureml-core")` answers inside jobs.

Footplate's own modules replace these packages, so no installer has recorded them.
"""

from __future__ import annotations

import os

from footplate.domain.locks import AZUREML
from footplate.domain.records import Lock

VERSION = "1.61.0"
"""The release that the modules of `packages/azureml` follow; requirements that pin another one are reported as that."""

_ALWAYS = ("azureml-core", "azureml-dataset-runtime", "azureml-defaults", "azureml-sdk", "azureml-train-core")


def write(folder: str, lock: Lock) -> str:
    """Write the metadata into a directory for the import path, and return the directory."""
    pinned = lock.content.get(AZUREML, {})
    release = next((pinned[name] for name in _ALWAYS if name in pinned), VERSION)  # they are released together
    versions = {**dict.fromkeys(_ALWAYS, release), **pinned}
    for name, version in versions.items():
        info = os.path.join(folder, f"{name.replace('-', '_')}-{version}.dist-info")
        os.makedirs(info, exist_ok=True)
        text = f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\nSummary: replaced by Footplate\n"
        for file, content in (("METADATA", text), ("INSTALLER", "footplate\n"), ("top_level.txt", "azureml\n")):
            with open(os.path.join(info, file), "w", encoding="utf-8") as target:
                target.write(content)
    return folder
