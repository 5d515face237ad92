"""Loaders: one module per framework, imported only in a worker whose model needs it.

`torch_files` tells pickled modules from weights. `boosters` converts XGBoost and LightGBM to ONNX.

A loader has a function `load(path, options) → LoadedModel`. A new framework is a module here and a row in
`domain/serving/frameworks.py`.
"""

from __future__ import annotations

import importlib
import os
from typing import Any, Mapping, Optional

from footplate.domain.serving.frameworks import FRAMEWORKS, codeless_framework
from footplate.domain.serving.worker_config import ServedModel
from footplate.serving.worker.model_scorer import LoadedModel, ModelScorer
from footplate.serving.worker.payloads import READERS
from footplate.serving.worker.signature import complete


class CannotLoad(Exception):
    """A model that cannot be served without code; the message ends with a hint."""


def load_scorer(served: ServedModel, options: Mapping[str, Any]) -> ModelScorer:
    """Load a model and return the scorer that answers with it."""
    model = load_model(served.path, served.framework, options)
    model.name = served.name
    model.version = str(served.version)
    complete(model, served.signature or {})
    return ModelScorer(model, READERS)


def load_model(path: str, framework: Optional[str], options: Mapping[str, Any]) -> LoadedModel:
    """Load a model from the file or folder that was registered."""
    kind = codeless_framework(framework, files_of(path))
    if kind is None:
        raise CannotLoad(
            f"{path} is not a model of {', '.join(FRAMEWORKS)}\nhint: give model_framework, or an entry script"
        )
    try:
        loader = importlib.import_module(f"{__name__}.{FRAMEWORKS[kind].loader}")
    except ImportError as error:
        raise CannotLoad(
            f"a model of {kind} needs the package {error.name!r}, which this environment does not have\n"
            f"hint: add {error.name} to the environment of the service"
        ) from error
    return loader.load(path, options)


def threads_of(options: Mapping[str, Any]) -> int:
    """Return how many threads the framework may use: one for each whole core of the service."""
    return max(1, int(float(options.get("cpu_cores") or 1)))


def files_of(path: str) -> list[str]:
    """Return the files of a model, those at the top first."""
    if os.path.isfile(path):
        return [path]
    files = [os.path.join(folder, name) for folder, _, names in os.walk(path) for name in sorted(names)]
    return sorted(files, key=lambda file: (file.count(os.sep), file))


def find_file(path: str, *suffixes: str) -> str:
    """Return the one file of a model with one of these suffixes."""
    if os.path.isfile(path):
        return path
    files = [file for file in files_of(path) if file.lower().endswith(suffixes)]
    if len(files) == 1:
        return files[0]
    names = ", ".join(os.path.relpath(file, path) for file in files[:5]) or "none"
    raise CannotLoad(
        f"{path} should hold one file that ends with {' or '.join(suffixes)}, and has {names}\n"
        "hint: register the one file of the model, or give an entry script"
    )
