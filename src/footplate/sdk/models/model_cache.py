"""Models on this machine, in the layout that scoring scripts expect: `azureml-models/<name>/<version>/<one entry>`."""

from __future__ import annotations

import os
import shutil
from typing import Callable, Optional

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
