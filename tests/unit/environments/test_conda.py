from __future__ import annotations

import pytest

from footplate.environments.conda.package_names import map_packages, parse, to_requirement
from footplate.errors import InvalidInput


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
