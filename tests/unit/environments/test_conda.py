from __future__ import annotations

import sys
from pathlib import Path

import pytest

from footplate.domain.orders import Lock
from footplate.domain.specs import EnvironmentSpec
from footplate.environments.base import ResolverSettings
from footplate.environments.conda import CondaBuilder
from footplate.environments.conda.mapping import map_packages
from footplate.environments.conda.package_names import parse, to_requirement
from footplate.errors import InvalidInput
from support.wheels import make_wheel

PYTHON = f"{sys.version_info.major}.{sys.version_info.minor}"


@pytest.mark.parametrize(
    ("conda", "pip"),
    [
        ("numpy", "numpy"),
        ("numpy=1.26", "numpy==1.26.*"),
        ("numpy=1.26.*", "numpy==1.26.*"),
        ("numpy==1.26.4", "numpy==1.26.4"),
        ("numpy 1.26.4", "numpy==1.26.4"),
        ("numpy 1.26.*", "numpy==1.26.*"),
        ("numpy>=1.2,<2", "numpy>=1.2,<2"),
        ("numpy >=1.2, !=1.3.*", "numpy>=1.2,!=1.3.*"),
        ("numpy=1.26.4=py311h64a7726_0", "numpy==1.26.4.*"),
        ("numpy 1.26.4 py311h64a7726_0", "numpy==1.26.4"),
        ("numpy[version='>=1.2,<2']", "numpy>=1.2,<2"),
        ("numpy=*", "numpy"),
        ("conda-forge::numpy=1.26", "numpy==1.26.*"),
        ("pytorch=1.6", "torch==1.6.*"),
        ("pytorch::pytorch", "torch"),
        ("opencv", "opencv-python-headless"),
        ("matplotlib-base~=3.2", "matplotlib~=3.2"),
        ("msgpack-python", "msgpack"),
        ("ruamel_yaml", "ruamel_yaml"),
        ("pip=20.2.4", "pip==20.2.4.*"),
        ("opencv==4.5.1", "opencv-python-headless==4.5.1.*"),
        ("keras-gpu=2.3", "keras==2.3.*"),
        ("tensorflow-gpu=2.2", "tensorflow==2.2.*"),
        ("py-xgboost<=0.90", "xgboost<=0.90"),
        ("librosa", "librosa"),
        ("qtpy", "qtpy"),
        ("typing_extensions=4.1", "typing_extensions==4.1.*"),
        ("scikit-learn=0.24=py38_0", "scikit-learn==0.24.*"),
        ("lightgbm", "lightgbm"),
        ("libsvm-official-not", None),
        ("gcc_linux-64", None),
        ("r-base=3.6", None),
        ("graphviz", None),
        ("openmpi=4", None),
        ("ffmpeg", None),
        ("hdf5=1.10", None),
    ],
)
def test_conda_specs_become_pip_requirements(conda: str, pip: str | None) -> None:
    if pip is not None:
        assert to_requirement(parse(conda)) == pip
        return
    with pytest.raises(InvalidInput) as caught:
        to_requirement(parse(conda))
    assert repr(conda) in caught.value.message


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("cudatoolkit=10.1", "CUDA libraries"),
        ("pytorch-cuda=11.8", "CUDA libraries"),
        ("mkl", "linear algebra"),
        ("mkl_fft=1.0", "linear algebra"),
        ("cpuonly", "only chooses"),
        ("_libgcc_mutex=0.1=main", "only chooses"),
        ("_tflow_select=2.3.0", "only chooses"),
        ("ld_impl_linux-64=2.33", "every Python"),
        ("openssl=1.1.1h=h7b6447c_0", "every Python"),
    ],
)
def test_unneeded_packages_are_left_out_with_a_reason(text: str, reason: str) -> None:
    assert to_requirement(parse(text)) is None
    (told,) = map_packages([text]).dropped
    assert told.startswith(f"{text} is left out: ") and reason in told


_BACKTRACKING = f"numpy=1{'a' * 60}!"  # a careless pattern would take years, and block the whole server


@pytest.mark.parametrize("text", ["", "numpy=1.2|1.3", "numpy>=", "=1.2", "numpy=a b c", _BACKTRACKING])
def test_invalid_specs_are_refused_by_name(text: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        parse(text)
    assert repr(text) in caught.value.message


def lock(tmp_path: Path, dependencies: list[str], pip: tuple[str, ...] = (), **rest: str) -> tuple[Lock, list[str]]:
    options = {"conda": {"channels": ["conda-forge"], "dependencies": dependencies, "pip": list(pip)}}
    said = list[str]()
    spec = EnvironmentSpec(builder="conda", options=options, **rest)  # pyright: ignore[reportArgumentType]
    return CondaBuilder().lock(spec, ResolverSettings(tmp_path / "e"), said.append), said


def test_a_warning_and_the_log_list_mapped_packages(wheels: Path, tmp_path: Path) -> None:
    make_wheel(wheels, "torch", "1.6.0")
    made, said = lock(
        tmp_path, [f"python={PYTHON}", "tiny=1.0=py_0", "pytorch=1.6", "cpuonly"], pip=("azureml-defaults",)
    )
    assert [line.split()[0] for line in made.content["requirements"].splitlines()[::2]] == ["tiny==1.0", "torch==1.6.0"]
    assert made.content["python"] == PYTHON
    assert made.warnings[0].startswith(
        "conda packages are installed from PyPI: tiny=1.0=py_0 → tiny==1.0.*, pytorch=1.6 → torch==1.6.*"
    )
    assert any("'py_0'" in warning for warning in made.warnings)
    assert any("cpuonly is left out" in warning for warning in made.warnings)
    assert set(made.warnings[1:]) <= set(said)


def test_pip_s_section_is_resolved_together_with_the_rest(wheels: Path, tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="these lines conflict"):
        lock(tmp_path, ["tiny=1.0"], pip=("tiny>=2",))


def test_azureml_in_the_conda_section_is_not_installed(wheels: Path, tmp_path: Path) -> None:
    made, said = lock(tmp_path, ["azureml-sdk=1.1", "tiny"])
    assert "azureml" not in made.content["requirements"]
    assert any("not installed, Footplate provides" in line for line in said)


def test_a_python_range_takes_the_newest_installed_version(wheels: Path, tmp_path: Path) -> None:
    made, _ = lock(tmp_path, [f"python>=3.8,<={PYTHON}.99", "tiny"])
    assert made.content["python"] == PYTHON
    with pytest.raises(InvalidInput, match=r"no Python on this machine matches >=3\.97"):
        lock(tmp_path, ["python>=3.97", "tiny"])


def test_a_python_range_that_is_too_old_gets_the_nearest(wheels: Path, tmp_path: Path) -> None:
    made, _ = lock(tmp_path, ["python>=3.6,<3.8", "tiny"])
    assert any(w.startswith("Python 3.7 cannot run jobs, which need at least 3.8") for w in made.warnings)


def test_the_specs_python_applies_if_the_file_names_none(wheels: Path, tmp_path: Path) -> None:
    assert lock(tmp_path, ["tiny"], python=PYTHON)[0].content["python"] == PYTHON
