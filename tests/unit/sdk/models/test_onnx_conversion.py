"""The environment of a conversion."""

from __future__ import annotations

import pytest

from footplate.domain.specs import EnvironmentSpec
from footplate.sdk.environments.spec import to_spec
from footplate.sdk.exceptions import WebserviceException
from footplate.sdk.models.onnx_conversion import with_packages


def test_the_converter_is_added_to_the_environment_of_the_model() -> None:
    spec = EnvironmentSpec("trained", builder="venv", python="3.11", requirements=("--pre", "scikit-learn==1.5.0"))
    made = to_spec(with_packages(spec, ("skl2onnx",)))
    assert (made.builder, made.python) == ("venv", "3.11")
    assert made.requirements == ("--pre", "azureml-defaults", "scikit-learn==1.5.0", "skl2onnx")


def test_an_existing_interpreter_stays_as_it_is() -> None:
    made = to_spec(with_packages(EnvironmentSpec(builder="existing", interpreter="/opt/python"), ("skl2onnx",)))
    assert (made.builder, made.interpreter, made.requirements) == ("existing", "/opt/python", ())


def test_conda_packages_are_refused() -> None:
    with pytest.raises(WebserviceException, match="has conda packages"):
        with_packages(EnvironmentSpec(builder="conda"), ("skl2onnx",))
