from __future__ import annotations

import sys
from pathlib import Path

import pytest

from footplate.domain.specs import EnvironmentSpec
from footplate.sdk.conda_dependencies import CondaDependencies, package_name
from footplate.sdk.environment import Environment, from_definition
from footplate.sdk.environment_definition import definition
from footplate.sdk.environment_spec import to_spec
from footplate.sdk.exceptions import UserErrorException
from footplate.sdk.run_configuration import RunConfiguration


def test_the_default_template():
    made = CondaDependencies()
    assert list(made.pip_packages) == ["azureml-defaults"]
    assert list(made.conda_channels) == ["anaconda", "conda-forge"]
    assert made.get_python_version() == f"{sys.version_info[0]}.{sys.version_info[1]}"
    with pytest.raises(TypeError):
        made.pip_packages[0]  # type: ignore[index]  # an iterator, as in the original


def test_create_replaces_the_default_pip_packages():
    made = CondaDependencies.create(pip_packages=["numpy", "scikit-learn==1.0"], python_version="3.8")
    assert list(made.pip_packages) == ["numpy", "scikit-learn==1.0"]
    assert made.get_python_version() == "3.8"
    with pytest.raises(UserErrorException, match="list of strings"):
        CondaDependencies.create(pip_packages="numpy")  # type: ignore[arg-type]


def test_a_package_of_the_same_name_is_replaced():
    made = CondaDependencies.create(pip_packages=["Scikit_Learn==0.22", "numpy"])
    made.add_pip_package("scikit-learn==1.5")
    assert list(made.pip_packages) == ["scikit-learn==1.5", "numpy"]
    made.remove_pip_package("SCIKIT.learn")
    assert list(made.pip_packages) == ["numpy"]
    made.add_conda_package("python=3.9")
    made.add_conda_package("python=3.10")
    assert list(made.conda_packages) == ["python=3.10"]


def test_pip_options():
    made = CondaDependencies.create(pip_packages=["numpy"], pip_indexurl="https://one.example")
    made.set_pip_index_url("https://two.example")
    made.set_pip_option("--pre")
    assert list(made.pip_options) == ["--index-url https://two.example", "--pre"]
    made.remove_pip_option("--pre")
    assert list(made.pip_options) == ["--index-url https://two.example"]


def test_as_yaml_and_on_disk(tmp_path: Path):
    made = CondaDependencies.create(
        pip_packages=["numpy>=1.0", "torch @ https://x.example/t.whl"], python_version="3.9"
    )
    assert made.serialize_to_string() == (
        "name: project_environment\ndependencies:\n- python=3.9\n- pip:\n  - numpy>=1.0\n"
        '  - "torch @ https://x.example/t.whl"\nchannels:\n- anaconda\n- conda-forge\n'
    )
    assert made.save_to_file(str(tmp_path)) == "conda_dependencies.yml"
    assert (tmp_path / "conda_dependencies.yml").read_text() == made.serialize_to_string()


@pytest.mark.parametrize(
    "text", ["Foo.Bar", "foo-bar==1", "foo_bar[x]>=2", "foo--bar @ https://x", " foo.bar ; python_version<'3'"]
)
def test_names_of_packages(text: str):
    assert package_name(text) == "foo-bar"


def test_names_must_be_strings():
    with pytest.raises(TypeError):
        Environment(5)  # type: ignore[arg-type]


def test_an_interpreter_that_is_there():
    environment = Environment("mine")
    environment.python.user_managed_dependencies = True
    assert to_spec(environment).builder == "existing"
    assert to_spec(environment).interpreter == sys.executable
    environment.python.interpreter_path = "/opt/py/bin/python"
    assert to_spec(environment).interpreter == "/opt/py/bin/python"


def test_no_environment_is_the_interpreter_that_submits():
    made = to_spec(RunConfiguration().environment)
    assert (made.builder, made.interpreter) == ("existing", sys.executable)


def test_packages_are_built_without_azures_own():
    environment = Environment("mine")
    environment.environment_variables = {"A": "b"}
    environment.python.conda_dependencies = CondaDependencies.create(
        pip_packages=["azureml-defaults", "azureml_core==1.2", "numpy"], python_version="3.10"
    )
    assert to_spec(environment) == EnvironmentSpec(
        "mine", None, "venv", python="3.10", requirements=("numpy",), variables={"A": "b"}
    )


def test_packages_added_to_the_default_environment_are_built():
    run_config = RunConfiguration(conda_dependencies=CondaDependencies.create(pip_packages=["numpy"]))
    assert to_spec(run_config.environment).builder == "venv"


def test_conda_packages_are_refused_by_name():
    environment = Environment("mine")
    environment.python.conda_dependencies = CondaDependencies.create(
        conda_packages=["scikit-learn=1.0", "pip=21", "python=3.9"]
    )
    with pytest.raises(UserErrorException, match=r"scikit-learn=1\.0") as caught:
        to_spec(environment)
    assert "pip_packages" in str(caught.value) and "pip=21" not in caught.value.message


def test_a_container_is_said_not_to_be_used(caplog: pytest.LogCaptureFixture):
    environment = Environment("mine")
    environment.docker.base_image = "some/image"
    to_spec(environment)
    assert "no container" in caplog.text


def test_the_definition_can_be_read_again():
    environment = Environment("mine")
    environment.docker.enabled = True
    environment.python.conda_dependencies = CondaDependencies.create(
        pip_packages=["numpy"], pip_indexurl="https://x.example"
    )
    again = from_definition(definition(environment))
    assert definition(again) == definition(environment)
    assert list(again.python.conda_dependencies.pip_options) == ["--index-url https://x.example"]


def test_clone_drops_the_version_and_shares_nothing():
    environment = Environment("mine")
    environment.version = "3"
    cloned = environment.clone("other")
    cloned.python.conda_dependencies.add_pip_package("numpy")
    assert (cloned.name, cloned.version) == ("other", None)
    assert "numpy" not in list(environment.python.conda_dependencies.pip_packages)


def test_requirement_files_are_read_with_those_they_name(tmp_path: Path):
    (tmp_path / "base.txt").write_text("scipy  # for later\n")
    (tmp_path / "requirements.txt").write_text(
        "# mine\n-r base.txt\nnumpy==1.0\n--extra-index-url https://x.example\n\n"
    )
    made = Environment.from_pip_requirements("mine", str(tmp_path / "requirements.txt"))
    assert to_spec(made).requirements == ("--extra-index-url https://x.example", "scipy", "numpy==1.0")
    with pytest.raises(UserErrorException, match=r"nowhere\.txt"):
        Environment.from_pip_requirements("mine", str(tmp_path / "nowhere.txt"))
