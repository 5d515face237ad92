from __future__ import annotations

from pathlib import Path

import pytest

from footplate.sdk.environments.conda_dependencies import CondaDependencies, package_name
from footplate.sdk.exceptions import UserErrorException


def conda_file(folder: Path, text: str) -> str:
    (folder / "env.yml").write_text(text)
    return str(folder / "env.yml")


def test_the_default_template():
    made = CondaDependencies()
    assert list(made.pip_packages) == ["azureml-defaults"]
    assert list(made.conda_channels) == ["anaconda", "conda-forge"]
    assert made.get_python_version() == "3.8.13"
    assert CondaDependencies.create().get_python_version() == "3.10.18"


@pytest.mark.parametrize("name", ["conda_channels", "conda_packages", "pip_packages", "pip_options"])
def test_packages_are_iterators_as_in_azures_class(name: str):
    made = CondaDependencies()
    assert next(iter(getattr(made, name)), None) == next(getattr(made, name), None)
    with pytest.raises(TypeError):
        getattr(made, name)[0]
    for item in getattr(made, name):  # changed while it is walked through, as scripts do
        made.remove_channel(item)
        made.remove_conda_package(item)
        made.remove_pip_package(item)
    assert list(getattr(made, name)) == []


def test_create_replaces_the_default_pip_packages():
    made = CondaDependencies.create(pip_packages=["numpy", "scikit-learn==1.0"], python_version="3.8")
    assert list(made.pip_packages) == ["numpy", "scikit-learn==1.0"]
    assert made.get_python_version() == "3.8"
    with pytest.raises(UserErrorException, match="list of strings"):
        CondaDependencies.create(pip_packages="numpy")  # type: ignore[arg-type]


def test_a_package_of_the_same_name_is_replaced_in_place():
    made = CondaDependencies.create(pip_packages=["Scikit_Learn==0.22", "numpy"])
    made.add_pip_package("scikit-learn==1.5")
    assert list(made.pip_packages) == ["scikit-learn==1.5", "numpy"]
    made.remove_pip_package("SCIKIT.learn")
    assert list(made.pip_packages) == ["numpy"]
    made.add_conda_package("python=3.9")
    made.add_conda_package("conda-forge::python=3.10")
    assert list(made.conda_packages) == ["conda-forge::python=3.10"]
    assert made.get_python_version() == "3.10"


def test_two_wheels_of_one_directory_are_two_packages():
    made = CondaDependencies.create(pip_packages=["https://x.example/a-1.0-py3-none-any.whl"])
    made.add_pip_package("https://x.example/b-1.0-py3-none-any.whl")
    made.add_pip_package("https://x.example/a-2.0-py3-none-any.whl")
    made.add_pip_package("git+https://x.example/repo")
    assert list(made.pip_packages) == [
        "https://x.example/a-2.0-py3-none-any.whl",
        "https://x.example/b-1.0-py3-none-any.whl",
        "git+https://x.example/repo",
    ]


@pytest.mark.parametrize(
    "text",
    [
        "Foo.Bar", "foo-bar==1", "foo_bar[x]>=2", "foo--bar @ https://x", " foo.bar ; python_version<'3'",
        "conda-forge::foo_bar=1.0", "conda-forge/linux-64::foo-bar", "git+https://x.example/y#egg=Foo_Bar",
        "file:///a/b/foo_bar-1.0-1-py3-none-any.whl", "dist/foo_bar-1.0-py3-none-any.whl",
    ],
)  # fmt: skip
def test_package_names_are_normalized(text: str):
    assert package_name(text) == "foo-bar"


@pytest.mark.parametrize(
    "package, version",
    [("python=3.9", "3.9"), ("python==3.9.1", "3.9.1"), ("python 3.8.*", "3.8"), ("python=3.8.*", "3.8"),
     ("python=3.8=h1_0", "3.8"), ("python>=3.8,<3.12", ">=3.8,<3.12"), ("python", None),
     ("python-dateutil=2", "3.8.13")],
)  # fmt: skip
def test_the_python_version_is_read_and_set(package: str, version: str):
    made = CondaDependencies()
    made.add_conda_package(package)
    assert made.get_python_version() == version


def test_pip_options_replace_those_of_the_same_name():
    made = CondaDependencies.create(pip_packages=["numpy"], pip_indexurl="https://one.example")
    made.set_pip_index_url("https://two.example")
    made.set_pip_option("--pre")
    assert list(made.pip_options) == ["--index-url https://two.example", "--pre"]
    made.set_pip_option("-i https://three.example")
    made.remove_pip_option("--pre")
    assert list(made.pip_options) == ["-i https://three.example"]
    for place in ("https://a.example", "https://b.example", "https://b.example"):
        made.set_pip_option(f"--extra-index-url {place}")
    assert list(made.pip_options)[1:] == [
        "--extra-index-url https://a.example", "--extra-index-url https://b.example"
    ]  # fmt: skip
    with pytest.raises(UserErrorException, match="'pre' has no dash"):
        made.set_pip_option("pre")


def test_set_pip_requirements_replaces_everything():
    made = CondaDependencies()
    made.set_pip_requirements(["# mine", "--pre", "numpy", "", "-e ./here", "scipy ; python_version<'4'"])
    assert list(made.pip_options) == ["--pre"]
    assert list(made.pip_packages) == ["numpy", "-e ./here", "scipy ; python_version<'4'"]


def test_framework_packages_can_be_added():
    made = CondaDependencies.create(pip_packages=[])
    made.add_tensorflow_conda_package("gpu", "1.13")
    made.add_tensorflow_pip_package(version="2.2")
    assert list(made.conda_packages)[-1] == "tensorflow-gpu=1.13" and list(made.pip_packages) == ["tensorflow==2.2"]
    made.add_tensorflow_conda_package()
    made.add_tensorflow_pip_package("gpu")
    made.add_cntk_package("gpu")
    made.add_cntk_package()
    assert list(made.conda_packages)[1:] == ["tensorflow"]
    assert list(made.pip_packages) == ["tensorflow-gpu", "cntk"]
    with pytest.raises(UserErrorException, match="'tpu'"):
        made.add_tensorflow_pip_package("tpu")


def test_channels():
    made = CondaDependencies()
    made.add_channel("pytorch")
    made.add_channel("pytorch")
    made.remove_channel("anaconda")
    assert list(made.conda_channels) == ["conda-forge", "pytorch"]


@pytest.mark.parametrize("value", [None, "", 3])
def test_values_that_are_not_strings_are_refused(value: object):
    made = CondaDependencies()
    for add in (made.add_channel, made.add_conda_package, made.add_pip_package, made.set_pip_option):
        with pytest.raises(UserErrorException, match="give a string"):
            add(value)  # type: ignore[arg-type]


def test_dependencies_are_written_as_yaml(tmp_path: Path):
    made = CondaDependencies.create(
        pip_packages=["numpy>=1.0", "torch @ https://x.example/t.whl"], python_version="3.9"
    )
    made.set_pip_option("--pre")
    assert made.serialize_to_string() == (
        "name: project_environment\ndependencies:\n- python=3.9\n- pip:\n  - --pre\n  - numpy>=1.0\n"
        "  - torch @ https://x.example/t.whl\nchannels:\n- anaconda\n- conda-forge\n"
    )
    assert made.save_to_file(str(tmp_path)) == "conda_dependencies.yml"
    assert (tmp_path / "conda_dependencies.yml").read_text() == made.serialize_to_string()
    assert made.save_to_file(str(tmp_path), "sub/env.yml") == "sub/env.yml"
    assert CondaDependencies(str(tmp_path / "sub" / "env.yml")) == made
    assert made.save(str(tmp_path / "other.yml")) == str(tmp_path / "other.yml")
    assert CondaDependencies(str(tmp_path / "other.yml")) == made
    assert CondaDependencies(_underlying_structure=made.as_dict()) == made


def test_a_conda_file_is_read(tmp_path: Path):
    path = conda_file(
        tmp_path,
        """\
        # what I need
        name: mine
        channels: [conda-forge, defaults]
        dependencies:
          - python=3.10   # not newer
          - conda-forge::numpy >=1.20,<2
          - pip
          - pip:
              - six==1.16.0
              - --extra-index-url https://x.example
        prefix: /home/me/env
        """.replace("\n        ", "\n"),
    )
    made = CondaDependencies(path)
    assert made.as_dict() == {
        "name": "mine",
        "dependencies": [
            "python=3.10", "conda-forge::numpy >=1.20,<2", "pip",
            {"pip": ["--extra-index-url https://x.example", "six==1.16.0"]},
        ],
        "channels": ["conda-forge", "defaults"],
    }  # fmt: skip


@pytest.mark.parametrize(
    "text, words",
    [
        ("nmae: x", "unknown key nmae"),
        ("variables:\n  A: b", "environment_variables"),
        ("- a", "not a conda file"),
        ("dependencies: numpy", "dependencies of .* is 'numpy'"),
        ("dependencies:\n- 1.0", "has 1.0 among its dependencies"),
        ("dependencies:\n- npm:\n  - x", "npm"),
        ("dependencies:\n- pip:\n  - 1.0", r"pip of .* has 1\.0"),
        ("channels:\n- [a]", r"\['a'\]"),
        ("dependencies:\n  - a\n - b", "line 3"),
    ],
)
def test_an_invalid_conda_file_is_refused_by_name(tmp_path: Path, text: str, words: str):
    with pytest.raises(UserErrorException, match=words) as caught:
        CondaDependencies(conda_file(tmp_path, text))
    assert "env.yml" in str(caught.value) and "hint: " in str(caught.value)
    with pytest.raises(UserErrorException, match="nowhere"):
        CondaDependencies(str(tmp_path / "nowhere.yml"))
