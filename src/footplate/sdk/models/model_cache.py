"""Models on this machine's disk, where scoring scripts look for them: `azureml-models/<name>/<version>/<one entry>`."""

from __future__ import annotations

import os
import shutil
from typing import Callable, Optional

ROOT = "AML_APP_ROOT"
"""Set where a model is served: the folder above `azureml-models`."""


def folder_of(model_name: str) -> str:
    return os.path.join(os.environ.get(ROOT, ""), "azureml-models", model_name)


def cached(folder: str, version: Optional[int]) -> Optional[str]:
    """The single entry of the wanted (or highest) version below `folder`, None when it is not there."""
    if not os.path.isdir(folder):
        return None
    versions = sorted((int(entry) for entry in os.listdir(folder) if entry.isdigit()), reverse=True)
    for known in versions:
        if version is None or known == version:
            base = os.path.join(folder, str(known))
            entries = os.listdir(base)
            return os.path.join(base, entries[0]) if len(entries) == 1 else base
    return None


def keep(folder: str, version: int, download: Callable[[str], object]) -> str:
    """Download into the cache. It appears there whole or not at all: the other ranks of a run look for it as well."""
    aside = os.path.join(folder, f".{version}.{os.urandom(4).hex()}")
    try:
        download(aside)
        os.rename(aside, os.path.join(folder, str(version)))
    except OSError:
        if cached(folder, version) is None:  # otherwise another process was quicker
            raise
    finally:
        shutil.rmtree(aside, ignore_errors=True)
    found = cached(folder, version)
    assert found is not None
    return found
