"""The environment of a conversion."""

from __future__ import annotations

from footplate.domain.orders import Lock
from footplate.domain.specs import EnvironmentSpec
from footplate.sdk.environments.spec import to_spec
from footplate.sdk.models.onnx_conversion import with_packages


def test_the_converter_is_added_to_the_environment_of_the_model() -> None:
    spec = EnvironmentSpec("trained", builder="venv", python="3.11", requirements=("--pre", "scikit-learn==1.5.0"))
    made = to_spec(with_packages(spec, ("skl2onnx",)))
    assert (made.builder, made.python) == ("venv", "3.11")
    assert made.requirements == ("--pre", "azureml-defaults", "scikit-learn==1.5.0", "skl2onnx")


def test_packages_keep_the_versions_that_trained_the_model() -> None:
    lines = ("scikit-learn", "Torch>=2", "other", "a @ https://host/a.whl")
    spec = EnvironmentSpec("trained", builder="venv", python="3.8.13", requirements=lines)
    pins = "scikit-learn==1.5.0 \\\n    --hash=sha256:1\ntorch==2.13.0+cpu\nnumpy==2.0\na==1.0\n"
    made = to_spec(with_packages(spec, ("skl2onnx",), Lock("d", "venv", {"python": "3.11", "requirements": pins})))
    assert made.python == "3.11"
    expected = ("azureml-defaults", "scikit-learn==1.5.0", "torch==2.13.0+cpu", "other", lines[3], "skl2onnx")
    assert made.requirements == expected


def test_an_existing_interpreter_stays_as_it_is() -> None:
    spec = EnvironmentSpec(builder="existing", interpreter="/opt/python", variables={"A": "b"})
    made = to_spec(with_packages(spec, ("skl2onnx",)))
    assert (made.builder, made.interpreter, made.requirements) == ("existing", "/opt/python", ())
    assert made.variables["A"] == "b"


def test_conda_packages_stay_beside_the_converter() -> None:
    conda = {"channels": ["here"], "dependencies": ["python=3.9", "scikit-learn=1.5"], "pip": ["joblib"]}
    made = to_spec(with_packages(EnvironmentSpec(builder="conda", options={"conda": conda}), ("skl2onnx",)))
    assert made.builder == "conda"
    assert "here" in made.options["conda"]["channels"]
    assert {"python=3.9", "scikit-learn=1.5"} <= set(made.options["conda"]["dependencies"])
    assert {"joblib", "skl2onnx"} <= set(made.options["conda"]["pip"])
