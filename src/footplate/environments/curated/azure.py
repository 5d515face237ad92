"""Azure's curated environments: the packages of their published definitions, at versions of that date.

The Python is Azure's own if it can run jobs, else the newest one that the packages have wheels for. `deviations` say
where no such wheels exist. Horovod has no wheels, and building it takes minutes: only runs over MPI get it. Developer
tools of the definitions (debugpy, ipykernel, py-spy) are not installed.
"""

from __future__ import annotations

import re

from footplate.environments.curated import tested
from footplate.environments.curated.tested import Curated

_NEW_PYTHON = "Python {} instead of {}, which cannot run jobs"

# ── Definitions of 2020: Python 3.6 ───────────────────────────────────────────────────────────────────────────────────

_2020 = "2020-12-31"
_SDK_2020 = ("azureml-defaults==1.8.0",)
_BOUNDS = ("numpy<1.20", "protobuf<3.21")
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
_FIRST_TORCH = "1.4"  # with wheels for Python 3.8
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
_FIRST_TENSORFLOW = "2.2"  # with wheels for Python 3.8


def _instead(package: str, substitute: str, original: str) -> str:
    return f"{package} {substitute} instead of {original}, which has no wheels for Python 3.8 or newer"


def _torch_2020(version: str, kind: str) -> Curated:
    original, _, horovod = _TORCHES[version]
    old = float(version) < float(_FIRST_TORCH)
    torch, vision, _ = _TORCHES[_FIRST_TORCH if old else version]
    board = "tensorboard==1.15.0" if version == "1.6" else "tensorboard==1.14.0"
    extras = ("mkl==2018.0.3", *(() if version == "1.0" else (board, "future==0.17.1")), *_BOUNDS)
    return Curated(
        f"AzureML-PyTorch-{version}-{kind}",
        "3.8",
        (*_SDK_2020, f"torch=={torch}", f"torchvision=={vision}", *extras),
        (tested.TORCH_GPU if kind == "GPU" else tested.TORCH_CPU).name,
        left_out=(f"horovod=={horovod}",),
        source_only=("future",),
        with_mpi=(f"horovod=={horovod}",),
        day=_2020,
        deviations=(_NEW_PYTHON.format("3.8", "3.6.2"), *((_instead("torch", torch, original),) if old else ())),
    )


def _tensorflow_2020(version: str, kind: str) -> Curated:
    original, horovod = _TENSORFLOWS[version]
    old = version in ("2.0", "2.1")
    tensorflow, _ = _TENSORFLOWS[_FIRST_TENSORFLOW if old else version]
    name = "tensorflow-gpu" if kind == "GPU" else "tensorflow"
    return Curated(
        f"AzureML-TensorFlow-{version}-{kind}",
        "3.8",
        (*_SDK_2020, f"{name}=={tensorflow}", "h5py<3", *_BOUNDS),
        (tested.TENSORFLOW_GPU if kind == "GPU" else tested.TENSORFLOW_CPU).name,
        left_out=(f"horovod=={horovod}",),
        with_mpi=(f"horovod=={horovod}",),
        day=_2020,
        deviations=(
            _NEW_PYTHON.format("3.8", "3.6.2"),
            *((_instead("tensorflow", tensorflow, original),) if old else ()),
            *((_instead("tensorflow", "2.4 with the API of version 1", original),) if version[0] == "1" else ()),
        ),
    )


def _chainer(version: str, kind: str, cupy: str, mpi4py: str) -> Curated:
    return Curated(
        f"AzureML-Chainer-{version}-{kind}",
        "3.8",
        (*_SDK_2020, f"chainer=={version}", *_BOUNDS),
        left_out=(cupy,) if kind == "GPU" else (),
        source_only=("chainer",),
        with_mpi=(f"mpi4py=={mpi4py}",),
        day=_2020,
        deviations=(
            _NEW_PYTHON.format("3.8", "3.6.2"),
            *((f"no {cupy}, which has no wheels for Python 3.8: it computes on the CPU",) if kind == "GPU" else ()),
        ),
        similar=(tested.TORCH_GPU if kind == "GPU" else tested.TORCH_CPU).name,
    )


_TUTORIAL = ("mlflow", "sklearn-pandas", "pandas", "numpy", "tqdm", "scikit-learn", "matplotlib")
_OF_2020 = (
    Curated(
        "AzureML-Minimal", "3.8", _SDK_2020, tested.MINIMAL.name,
        day=_2020, deviations=(_NEW_PYTHON.format("3.8", "3.6.2"),),
    ),
    Curated(
        "AzureML-Tutorial", "3.8", (*_SDK_2020, *_TUTORIAL), tested.SKLEARN.name,
        day=_2020, deviations=(_NEW_PYTHON.format("3.8", "3.6.2"),),
    ),
    Curated(
        "AzureML-Scikit-learn-0.20.3", "3.8",
        (*_SDK_2020, "scikit-learn==0.22.2.post1", "scipy==1.4.1", "joblib==0.14.1", *_BOUNDS), tested.SKLEARN.name,
        day=_2020, deviations=(
            _NEW_PYTHON.format("3.8", "3.6.2"), _instead("scikit-learn", "0.22.2", "0.20.3"),
            "scipy 1.4.1 and joblib 0.14.1 instead of 1.2.1 and 0.13.2",
        ),
    ),
    *(_torch_2020(version, kind) for version in _TORCHES for kind in ("CPU", "GPU")),
    *(_tensorflow_2020(version, kind) for version in _TENSORFLOWS for kind in ("CPU", "GPU")),
    *(_chainer("5.1.0", kind, "cupy-cuda90==5.1.0", "3.0.0") for kind in ("CPU", "GPU")),
    *(_chainer("7.0.0", kind, "cupy-cuda101==7.0.0", "3.0.3") for kind in ("CPU", "GPU")),
    Curated(
        "AzureML-PySpark-MmlSpark-0.15", "3.8", (), similar=tested.SKLEARN.name,
        unavailable="Spark 2.4 with MMLSpark 0.15 needs Java 8 and Python 3.7",
    ),
)  # fmt: skip

# ── Definitions of 2021 and 2022: Dockerfiles ─────────────────────────────────────────────────────────────────────────

_2021 = "2022-03-31"
_SDK_2021 = ("azureml-defaults==1.37.0", "azureml-mlflow==1.37.0")
_TABLES_2021 = (
    "matplotlib>=3.3,<3.4", "psutil>=5.8,<5.9", "tqdm>=4.59,<4.60", "pandas>=1.1,<1.2", "scipy>=1.5,<1.6",
    "numpy>=1.10,<1.20",
)  # fmt: skip


def _sklearn_2021(name: str, python: str) -> Curated:
    return Curated(
        name, "3.9", (*_SDK_2021, "scikit-learn==0.24.1", "joblib<1.1", *_TABLES_2021), tested.SKLEARN.name,
        day=_2021, deviations=(_NEW_PYTHON.format("3.9", python),),
    )  # fmt: skip


def _torch_2021(version: str, torch: str, vision: str, audio: str) -> Curated:
    return Curated(
        f"AzureML-pytorch-{version}-ubuntu18.04-py37-cuda11-gpu", "3.8",
        (*_SDK_2021, f"torch=={torch}", f"torchvision=={vision}", f"torchaudio=={audio}", "tensorboard==2.4.0",
         *_TABLES_2021, "protobuf<3.21"), tested.TORCH_GPU.name,
        left_out=("horovod==0.21.3", "tensorflow-gpu==2.4.1", "onnxruntime-gpu<1.8", "nvidia-apex"),
        with_mpi=("horovod==0.21.3",), day=_2021, deviations=(_NEW_PYTHON.format("3.8", "3.7"),),
    )  # fmt: skip


_OF_2021 = (
    _sklearn_2021("AzureML-sklearn-0.24-ubuntu18.04-py37-cpu", "3.7"),
    _sklearn_2021("AzureML-Scikit-learn0.24-Cuda11-OpenMpi4.1.0-py36", "3.6"),
    Curated(
        "AzureML-sklearn-1.0-ubuntu20.04-py38-cpu", "3.8",
        ("azureml-defaults==1.51.0", "azureml-mlflow==1.51.0", "scikit-learn~=1.0.0", "pandas~=1.3.0", "scipy~=1.10.0",
         "numpy~=1.22.0", "joblib~=1.2.0", "matplotlib~=3.5.0", "psutil>=5.8,<6", "tqdm", "tensorboard"),
        tested.SKLEARN.name, day="2023-12-31",
    ),
    Curated(
        "AzureML-lightgbm-3.2-ubuntu18.04-py37-cpu", "3.8",
        (*_SDK_2021, "lightgbm~=3.2.0", "xgboost~=1.4.0", "scikit-learn~=0.24.1", "dask~=2021.6.0",
         "distributed~=2021.6.0", "dask-ml~=1.9.0", *_TABLES_2021),
        day=_2021, deviations=(_NEW_PYTHON.format("3.8", "3.7"),), similar=tested.SKLEARN.name, left_out=("adlfs",),
    ),
    _torch_2021("1.7", "1.7.1", "0.8.2", "0.7.2"),
    _torch_2021("1.8", "1.8.1", "0.9.1", "0.8.1"),
    _torch_2021("1.9", "1.9.0", "0.10.0", "0.9.0"),
    Curated(
        "AzureML-pytorch-1.10-ubuntu18.04-py38-cuda11-gpu", "3.8",
        (*_SDK_2021, "torch==1.10.0", "torchvision==0.11.1", "torchaudio==0.10.0", "matplotlib>=3.3,<3.4",
         "psutil>=5.8,<5.9", "tqdm>=4.59,<4.63", "pandas>=1.3,<1.4", "scipy>=1.5,<1.8", "numpy>=1.10,<1.22",
         "tensorboard==2.6.0", "protobuf<3.21"),
        tested.TORCH_GPU.name, with_mpi=("horovod==0.23",), day=_2021,
        left_out=("horovod==0.23", "tensorflow-gpu==2.6.0", "onnxruntime-gpu<1.10", "nvidia-apex"),
    ),
    Curated(
        "AzureML-tensorflow-2.4-ubuntu18.04-py37-cuda11-gpu", "3.8",
        (*_SDK_2021, "tensorflow-gpu==2.4.1", "tensorboard==2.4.0", "tensorflow-datasets==4.3.0", *_TABLES_2021,
         "protobuf<3.21"),
        tested.TENSORFLOW_GPU.name, left_out=("horovod==0.21.3", "onnxruntime-gpu<1.8"),
        with_mpi=("horovod==0.21.3",), day=_2021, deviations=(_NEW_PYTHON.format("3.8", "3.7"),),
    ),
    Curated(
        "AzureML-tensorflow-2.7-ubuntu20.04-py38-cuda11-gpu", "3.8",
        (*_SDK_2021, "tensorflow-gpu~=2.7.0", "matplotlib~=3.5.0", "pandas~=1.3.0", "scipy~=1.7.0", "numpy~=1.21.0",
         "protobuf<3.21"),
        tested.TENSORFLOW_GPU.name, left_out=("horovod~=0.23.0", "onnxruntime-gpu~=1.9.0"),
        with_mpi=("horovod~=0.23.0",), day="2022-12-31",
    ),
)  # fmt: skip

# ── Definitions of Azure/azureml-assets, since 2022 ───────────────────────────────────────────────────────────────────

_TOOLS = ("matplotlib~=3.5.0", "psutil>=5.8,<6", "tqdm", "tensorboard")
_PSUTIL = "psutil 5.9 instead of 5.8, which has no wheels for Python 3.10"
_OLD_WHEELS = ("numpy<1.24", "protobuf<3.21")


def _acpt(
    version: str, python: str, wheels: tuple[str, str, str], sdk: str, day: str, more: tuple[str, ...]
) -> Curated:
    """Azure Container for PyTorch; `wheels` are the versions of torch, torchvision and torchaudio."""
    torch, vision, audio = wheels
    return Curated(
        f"AzureML-ACPT-pytorch-{version}", python,
        (f"azureml-defaults=={sdk}", f"azureml-mlflow=={sdk}", f"torch=={torch}", f"torchvision=={vision}",
         f"torchaudio=={audio}", *more, *_TOOLS),
        tested.TORCH_GPU.name, left_out=("deepspeed", "onnxruntime-training", "torch-ort"),
        with_mpi=("horovod==0.28.1",), day=day, deviations=(_PSUTIL,) if python == "3.10" else (),
    )  # fmt: skip


_OF_NOW = (
    Curated(
        "AzureML-sklearn-1.5", "3.10",
        ("azureml-defaults==1.58.0", "azureml-mlflow==1.58.0", "scikit-learn~=1.5.0", "pandas~=1.5.3", "scipy~=1.10.0",
         "numpy~=1.22.0", "joblib~=1.2.0", *_TOOLS),
        tested.SKLEARN.name, left_out=("scikit-learn-intelex",), day="2024-12-31", deviations=(_PSUTIL,),
    ),
    Curated(
        "AzureML-lightgbm-3.3", "3.10",
        ("azureml-defaults==1.58.0", "azureml-mlflow==1.58.0", "lightgbm~=3.3.0", "xgboost~=1.7.6",
         "scikit-learn~=1.5.1", "pandas~=1.5.3", "scipy~=1.10.0", "numpy~=1.22.0", *_TOOLS),
        day="2024-12-31", deviations=(_PSUTIL,), similar=tested.SKLEARN.name, left_out=("distributed", "adlfs"),
    ),
    Curated(
        "AzureML-tensorflow-2.11-cuda11", "3.8",
        ("azureml-defaults==1.54.0", "azureml-mlflow==1.54.0", "tensorflow~=2.11.1", "tensorflow-datasets~=4.5.0",
         "pandas~=1.3.0", "scipy~=1.7.0", "numpy~=1.22.0", "protobuf~=3.19.0", *_TOOLS),
        tested.TENSORFLOW_GPU.name, left_out=("horovod", "onnxruntime-gpu~=1.17.0"), with_mpi=("horovod==0.28.1",),
        day="2023-12-31",
    ),
    Curated(
        "AzureML-tensorflow-2.12-cuda11", "3.8",
        ("azureml-defaults==1.54.0", "azureml-mlflow==1.54.0", "tensorflow~=2.12.0", "tensorflow-datasets~=4.5.0",
         "pandas~=1.3.0", "scipy~=1.7.0", "numpy~=1.22.0", "protobuf~=3.20.3", *_TOOLS),
        tested.TENSORFLOW_GPU.name, left_out=("horovod", "onnxruntime-gpu~=1.9.0"), with_mpi=("horovod==0.28.1",),
        day="2023-12-31", deviations=("protobuf 3.20 instead of 4.22, with which tensorflow-datasets 4.5 fails",),
    ),
    Curated(
        "AzureML-tensorflow-2.16-cuda12", "3.10",
        ("azureml-defaults==1.58.0", "azureml-mlflow==1.58.0", "tensorflow[and-cuda]==2.16.2", "tf-keras==2.16.0",
         "tensorflow-datasets~=4.9.0", "pandas==2.2.2", "scipy~=1.14.0", "numpy==1.23.5", *_TOOLS),
        tested.TENSORFLOW_GPU.name, left_out=("horovod==0.28.1",), with_mpi=("horovod==0.28.1",), day="2024-12-31",
        deviations=(_PSUTIL,), variables={"TF_USE_LEGACY_KERAS": "1"},
    ),
    _acpt("1.11-cuda11.3", "3.8", ("1.11.0", "0.12.0", "0.11.0"), "1.53.0", "2023-08-31", _OLD_WHEELS),
    _acpt("1.12-cuda11.6", "3.8", ("1.12.1", "0.13.1", "0.12.1"), "1.53.0", "2023-08-31", _OLD_WHEELS),
    _acpt("1.13-cuda11.7", "3.8", ("1.13.1", "0.14.1", "0.13.1"), "1.54.0", "2023-12-31", _OLD_WHEELS),
    _acpt("2.0-cuda11.7", "3.8", ("2.0.1", "0.15.2", "2.0.2"), "1.54.0", "2023-12-31", _OLD_WHEELS),
    _acpt("2.1-cuda12.1", "3.10", ("2.1.2", "0.16.2", "2.1.2"), "1.56.0", "2024-06-30", ("numpy<2",)),
    _acpt("2.2-cuda12.1", "3.10", ("2.2.2", "0.17.2", "2.2.2"), "1.58.0", "2024-09-30", ("numpy<2", "transformers")),
)  # fmt: skip

ALL = (*_OF_2020, *_OF_2021, *_OF_NOW)

# ── Names that are not in the list ────────────────────────────────────────────────────────────────────────────────────

_GPU = re.compile(r"gpu|cuda", re.IGNORECASE)
_PYTHON = re.compile(r"py(\d)\.?(\d+)", re.IGNORECASE)
_DAYS = {"3.6": _2020, "3.7": _2021, "3.8": "2023-06-30"}
_FAMILIES = (
    (re.compile(r"pytorch|torch", re.IGNORECASE), "torch", tested.TORCH_CPU, tested.TORCH_GPU),
    (re.compile(r"tensorflow", re.IGNORECASE), "tensorflow", tested.TENSORFLOW_CPU, tested.TENSORFLOW_GPU),
    (re.compile(r"scikit-?learn|sklearn", re.IGNORECASE), "scikit-learn", tested.SKLEARN, tested.SKLEARN),
    (re.compile(r"onnx(runtime)?", re.IGNORECASE), "onnxruntime", tested.ONNX_CPU, tested.ONNX_GPU),
)
_PYTHON_OF_NOW = "3.10"
"""That of names without one: Azure stopped writing it into them."""

_COMPANIONS = {"torch": ("torchvision", "tensorboard"), "onnxruntime": ()}
_WITH_MPI = {"torch": ("horovod==0.28.1",), "tensorflow": ("horovod==0.28.1",)}
_USUAL = ("azureml-mlflow", "numpy<2", "pandas", "matplotlib")


def understand(name: str) -> Curated | None:
    """Interpret a name such as `AzureML-pytorch-1.9-ubuntu18.04-py37-cuda11-gpu`; there were too many to list."""
    if not name.lower().startswith(("azureml", "microsoft")):
        return None
    for pattern, package, cpu, gpu in _FAMILIES:
        match = pattern.search(name)
        if match is None:
            continue
        nearest = gpu if _GPU.search(name) else cpu
        version = re.match(r"-?(\d+(?:\.\d+)*)", name[match.end() :])
        in_name = _PYTHON.search(name[match.end() :])
        python = f"{in_name[1]}.{in_name[2]}" if in_name else _PYTHON_OF_NOW if version else tested.PYTHON
        companions = (*_COMPANIONS.get(package, ()), *_USUAL)
        requirements = (f"{package}=={version[1]}.*", *companions) if version else nearest.requirements
        return Curated(
            name, python, requirements, nearest.name, day=_DAYS.get(python) if version else None,
            with_mpi=_WITH_MPI.get(package, ()) if version else (),
            deviations=("its definition is not in the catalogue: packages follow from the name",),
        )  # fmt: skip
    return None
