"""Azure's curated environments: their packages, as far as they were published, and the nearest of ours.

Packages named azureml are not listed, because Footplate provides them. Horovod has no wheels, and building it takes
minutes: it is listed as left out, and only runs over MPI get it.
"""

from __future__ import annotations

import re

from footplate.environments.curated import tested
from footplate.environments.curated.base import Curated

_OLD_PYTHON = "3.6.2"
_OF_THOSE_DAYS = "numpy<1.20"
_PROTOBUF = "protobuf<3.21"
"""Wheels of 2020 have no upper bounds, and fail with later versions of these two."""

# version → torch, torchvision, horovod
_TORCHES = {
    "1.0": ("1.0.0", "0.2.1", "0.16.1"),
    "1.1": ("1.1.0", "0.2.1", "0.16.1"),
    "1.2": ("1.2.0", "0.4.0", "0.16.1"),
    "1.3": ("1.3.0", "0.4.1", "0.18.1"),
    "1.4": ("1.4.0", "0.5.0", "0.18.1"),
    "1.5": ("1.5.0", "0.6.0", "0.19.1"),
    "1.6": ("1.6.0", "0.7.0", "0.20.0"),
}
# version → tensorflow, horovod
_TENSORFLOWS = {
    "1.10": ("1.10.0", "0.15.2"),
    "1.12": ("1.12.0", "0.15.2"),
    "1.13": ("1.13.1", "0.16.1"),
    "2.0": ("2.0.0", "0.18.1"),
    "2.1": ("2.1.0", "0.19.1"),
    "2.2": ("2.2.0", "0.19.5"),
    "2.3": ("2.3.0", "0.20.0"),
}
_TABLES = ("matplotlib>=3.3,<3.4", "pandas>=1.1,<1.2", "scipy>=1.5,<1.6", "numpy>=1.10,<1.20", "joblib==0.17.0")


def _torch(version: str, kind: str) -> Curated:
    torch, vision, horovod = _TORCHES[version]
    board = "tensorboard==1.15.0" if version == "1.6" else "tensorboard==1.14.0"
    extras = ("mkl==2018.0.3", *(() if version == "1.0" else (board, "future==0.17.1", _PROTOBUF)), _OF_THOSE_DAYS)
    nearest = tested.TORCH_GPU if kind == "GPU" else tested.TORCH_CPU
    wanted = (f"torch=={torch}", f"torchvision=={vision}", *extras)
    mpi = (f"horovod=={horovod}",)
    return Curated(f"AzureML-PyTorch-{version}-{kind}", _OLD_PYTHON, wanted, nearest.name, mpi, ("future",), mpi)


def _tensorflow(version: str, kind: str) -> Curated:
    tensorflow, horovod = _TENSORFLOWS[version]
    name, nearest = (
        ("tensorflow-gpu", tested.TENSORFLOW_GPU) if kind == "GPU" else ("tensorflow", tested.TENSORFLOW_CPU)
    )
    bounds = (_PROTOBUF, "h5py<3", _OF_THOSE_DAYS)
    wanted = (f"{name}=={tensorflow}", *bounds)
    mpi = (f"horovod=={horovod}",)
    return Curated(f"AzureML-TensorFlow-{version}-{kind}", _OLD_PYTHON, wanted, nearest.name, mpi, with_mpi=mpi)


def _sklearn(name: str, python: str, *requirements: str) -> Curated:
    return Curated(name, python, requirements, tested.SKLEARN.name)


_TUTORIAL = ("mlflow", "sklearn-pandas", "pandas", "numpy", "tqdm", "scikit-learn", "matplotlib")

ALL = (
    Curated("AzureML-Minimal", _OLD_PYTHON, (), tested.MINIMAL.name),
    Curated("AzureML-Tutorial", _OLD_PYTHON, _TUTORIAL, tested.SKLEARN.name),
    _sklearn("AzureML-Scikit-learn-0.20.3", _OLD_PYTHON, "scikit-learn==0.20.3", "scipy==1.2.1", "joblib==0.13.2"),
    _sklearn("AzureML-sklearn-0.24-ubuntu18.04-py37-cpu", "3.7", "scikit-learn==0.24.1", *_TABLES),
    _sklearn("AzureML-Scikit-learn0.24-Cuda11-OpenMpi4.1.0-py36", "3.6", "scikit-learn==0.24.1", *_TABLES),
    _sklearn(
        "AzureML-sklearn-1.0-ubuntu20.04-py38-cpu", "3.8", "scikit-learn==1.0.2", "pandas>=1.1,<1.4", "numpy<1.22"
    ),
    _sklearn("AzureML-sklearn-1.5", "3.10", "scikit-learn==1.5.1", "pandas>=2.1,<2.3", "numpy<2", "scipy<1.14"),
    *(_torch(version, kind) for version in _TORCHES for kind in ("CPU", "GPU")),
    *(_tensorflow(version, kind) for version in _TENSORFLOWS for kind in ("CPU", "GPU")),
    Curated(
        "AzureML-pytorch-1.10-ubuntu18.04-py38-cuda11-gpu",
        "3.8",
        ("torch==1.10.0", "torchvision==0.11.1", "torchaudio==0.10.0", "pandas>=1.3,<1.4", "scipy>=1.5,<1.8"),
        tested.TORCH_GPU.name,
        ("horovod==0.23",),
        with_mpi=("horovod==0.23",),
    ),
    Curated("AzureML-tensorflow-2.16-cuda12", "3.10", ("tensorflow[and-cuda]==2.16.1",), tested.TENSORFLOW_GPU.name),
    Curated("AzureML-tensorflow-2.11-cuda11", "3.9", ("tensorflow==2.11.0",), tested.TENSORFLOW_GPU.name),
    Curated("AzureML-ACPT-pytorch-2.2-cuda12.1", "3.10", ("torch==2.2.2", "numpy<2"), tested.TORCH_GPU.name),
    Curated(
        "AzureML-ACPT-pytorch-1.11-cuda11.3", "3.8", ("torch==1.11.0", "torchvision==0.12.0"), tested.TORCH_GPU.name
    ),
    Curated("AzureML-PySpark-MmlSpark-0.15", _OLD_PYTHON, (), tested.MINIMAL.name, ("pyspark", "mmlspark==0.15")),
    Curated("AzureML-Chainer-5.1.0-CPU", _OLD_PYTHON, ("chainer==5.1.0",), tested.TORCH_CPU.name, ("mpi4py==3.0.0",)),
    Curated("AzureML-Chainer-5.1.0-GPU", _OLD_PYTHON, ("chainer==5.1.0", "cupy-cuda90==5.1.0"), tested.TORCH_GPU.name),
    Curated("AzureML-Chainer-7.0.0-CPU", _OLD_PYTHON, ("chainer==7.0.0",), tested.TORCH_CPU.name, ("mpi4py==3.0.3",)),
    Curated("AzureML-Chainer-7.0.0-GPU", _OLD_PYTHON, ("chainer==7.0.0", "cupy-cuda101==7.0.0"), tested.TORCH_GPU.name),
)

# ── Names that are not in the list ────────────────────────────────────────────────────────────────────────────────────

_GPU = re.compile(r"gpu|cuda", re.IGNORECASE)
_PYTHON = re.compile(r"py(\d)(\d+)", re.IGNORECASE)
_FAMILIES = (
    (re.compile(r"pytorch|torch", re.IGNORECASE), "torch", tested.TORCH_CPU, tested.TORCH_GPU),
    (re.compile(r"tensorflow", re.IGNORECASE), "tensorflow", tested.TENSORFLOW_CPU, tested.TENSORFLOW_GPU),
    (re.compile(r"scikit-?learn|sklearn", re.IGNORECASE), "scikit-learn", tested.SKLEARN, tested.SKLEARN),
    (re.compile(r"onnx(runtime)?", re.IGNORECASE), "onnxruntime", tested.ONNX_CPU, tested.ONNX_GPU),
)


def understand(name: str) -> Curated | None:
    """Interpret a name such as `AzureML-pytorch-1.9-ubuntu18.04-py37-cuda11-gpu`; there were too many to list."""
    if not name.lower().startswith(("azureml", "microsoft")):
        return None
    for pattern, package, cpu, gpu in _FAMILIES:
        found = pattern.search(name)
        if found is None:
            continue
        nearest = gpu if _GPU.search(name) else cpu
        version = re.match(r"-?(\d+(?:\.\d+)*)", name[found.end() :])
        python = _PYTHON.search(name[found.end() :])
        wanted = (f"{package}=={version[1]}.*",) if version else nearest.requirements
        return Curated(name, f"{python[1]}.{python[2]}" if python else tested.PYTHON, wanted, nearest.name)
    return None
