"""Frameworks whose models are served without code, and the names of files by which they are recognized."""

from __future__ import annotations

import os
from typing import Dict, Iterable, Optional, Tuple

SUFFIXES: Dict[str, str] = {
    ".onnx": "Onnx",
    ".keras": "TensorFlow",
    ".h5": "TensorFlow",
    ".pb": "TensorFlow",
    ".pt2": "PyTorch",
    ".pt": "PyTorch",
    ".pth": "PyTorch",
    ".ubj": "XGBoost",
    ".xgb": "XGBoost",
    ".lgb": "LightGBM",
    ".joblib": "ScikitLearn",
    ".pkl": "ScikitLearn",
    ".pickle": "ScikitLearn",
}

PACKAGES: Dict[str, Tuple[str, ...]] = {
    "Onnx": ("onnxruntime", "numpy", "orjson"),
    "ScikitLearn": ("scikit-learn", "numpy", "pandas", "orjson"),
    "TensorFlow": ("tensorflow", "numpy", "orjson"),
    "TfKeras": ("tensorflow", "numpy", "orjson"),
    "PyTorch": ("torch", "numpy", "orjson"),
    "XGBoost": ("xgboost", "scikit-learn", "numpy", "orjson"),
    "LightGBM": ("lightgbm", "scikit-learn", "numpy", "orjson"),
}
"""The packages that a worker needs for a model, the framework first; orjson parses requests faster."""

GPU_PACKAGES: Dict[str, str] = {"onnxruntime": "onnxruntime-gpu[cuda,cudnn]", "tensorflow": "tensorflow[and-cuda]"}
"""The packages that replace others where a GPU is to be used; torch needs no other."""

MODULES: Dict[str, str] = {"scikit-learn": "sklearn"}
"""Names of modules that differ from the package's."""


def packages_for(framework: Optional[str], gpus: int) -> Tuple[str, ...]:
    """Return the packages that a worker needs; none for a framework that is not served without code."""
    packages = PACKAGES.get(framework or "", ())
    return tuple(GPU_PACKAGES.get(package, package) for package in packages) if gpus else packages


def framework_of(names: Iterable[str]) -> Optional[str]:
    """Guess the framework from the names of a model's files, those at the top first; None if they tell nothing."""
    for name in sorted(names, key=lambda each: (each.count("/"), each)):
        found = SUFFIXES.get(os.path.splitext(name)[1].lower())
        if found:
            return found
    return None


def served_without_code(framework: Optional[str], names: Iterable[str]) -> Optional[str]:
    """Return the framework by which a model can be served without code, or None."""
    return framework if framework in PACKAGES else framework_of(names)
