"""Frameworks whose models are served without code: one row for each."""

from __future__ import annotations

import posixpath
from dataclasses import dataclass, replace
from typing import Dict, Iterable, Optional, Tuple


@dataclass(frozen=True)
class Framework:
    """How models of one framework are recognized, loaded and converted.

    `loader` is the module in `serving/worker/loaders`. `suffixes` are endings of files that tell the framework.
    `packages` are those that a worker needs, the framework first; orjson parses requests faster. `gpu_package` replaces
    the first one where a GPU is to be used. `converters` are packages that convert models to ONNX and evaluate the
    result.
    """

    loader: str
    packages: Tuple[str, ...]
    suffixes: Tuple[str, ...] = ()
    gpu_package: Optional[str] = None
    converters: Tuple[str, ...] = ()


_TENSORFLOW = Framework(
    loader="tensorflow",
    packages=("tensorflow", "numpy", "orjson"),
    suffixes=(".keras", ".h5", ".pb"),
    gpu_package="tensorflow[and-cuda]",
    converters=("tf2onnx", "onnxruntime"),
)
FRAMEWORKS: Dict[str, Framework] = {
    "Onnx": Framework(
        loader="onnx",
        packages=("onnxruntime", "numpy", "orjson"),
        suffixes=(".onnx",),
        gpu_package="onnxruntime-gpu[cuda,cudnn]",
    ),
    "ScikitLearn": Framework(
        loader="sklearn",
        packages=("scikit-learn", "numpy", "pandas", "orjson"),
        suffixes=(".joblib", ".pkl", ".pickle"),
        converters=("skl2onnx", "onnxruntime"),
    ),
    "TensorFlow": _TENSORFLOW,
    "TfKeras": replace(_TENSORFLOW, suffixes=()),
    "PyTorch": Framework(
        loader="torch",
        packages=("torch", "numpy", "orjson"),
        suffixes=(".pt2", ".pt", ".pth"),
        converters=("onnx", "onnxscript", "onnxruntime"),
    ),
    "XGBoost": Framework(
        loader="xgboost",
        packages=("xgboost", "scikit-learn", "numpy", "orjson"),
        suffixes=(".ubj", ".xgb"),
        converters=("onnxmltools", "skl2onnx", "onnxruntime"),
    ),
    "LightGBM": Framework(
        loader="lightgbm",
        packages=("lightgbm", "scikit-learn", "numpy", "orjson"),
        suffixes=(".lgb",),
        converters=("onnxmltools", "skl2onnx", "onnxruntime"),
    ),
}

_BY_SUFFIX = {suffix: name for name, framework in FRAMEWORKS.items() for suffix in framework.suffixes}

MODULES: Dict[str, str] = {"scikit-learn": "sklearn"}
"""Names of modules that differ from the package's."""


def packages_for(name: Optional[str], gpus: int) -> Tuple[str, ...]:
    """Return the packages that a worker needs; none for a framework that is not served without code."""
    framework = FRAMEWORKS.get(name or "")
    if framework is None:
        return ()
    first = framework.gpu_package if gpus else None
    return (first or framework.packages[0], *framework.packages[1:])


def framework_of(files: Iterable[str]) -> Optional[str]:
    """Guess the framework from the names of a model's files, those at the top first; None if they tell nothing."""
    for file in sorted(files, key=lambda each: (each.count("/"), each)):
        framework = _BY_SUFFIX.get(posixpath.splitext(file)[1].lower())
        if framework:
            return framework
    return None


def codeless_framework(framework: Optional[str], files: Iterable[str]) -> Optional[str]:
    """Return the framework by which a model can be served without code, or None."""
    return framework if framework in FRAMEWORKS else framework_of(files)
