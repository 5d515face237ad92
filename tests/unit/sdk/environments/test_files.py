from __future__ import annotations

import os
from pathlib import Path

import pytest

from footplate.sdk.environments.definition import definition
from footplate.sdk.environments.environment import Environment
from footplate.sdk.environments.spec import to_spec
from footplate.sdk.exceptions import UserErrorException


def test_requirements_files_are_read_with_those_they_include(tmp_path: Path):
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "base.txt").write_text("scipy  # for later\n")
    (tmp_path / "requirements.txt").write_text(
        "# mine\n-r sub/base.txt\nnumpy==1.0 \\\n  --hash=sha256:ab\n--extra-index-url https://x.example\n\n"
        "git+https://x.example/y#egg=z\n--requirement=sub/base.txt\n"
    )
    made = Environment.from_pip_requirements("mine", str(tmp_path / "requirements.txt"), pip_version="21.0")
    assert to_spec(made).requirements == (
        "--extra-index-url https://x.example", "scipy", "numpy==1.0    --hash=sha256:ab",
        "git+https://x.example/y#egg=z", "scipy", "pip==21.0.*",
    )  # fmt: skip
    assert to_spec(made).builder == "venv" and "pip=21.0" in list(made.python.conda_dependencies.conda_packages)


def test_unreadable_requirements_files_are_refused(tmp_path: Path):
    with pytest.raises(UserErrorException, match=r"nowhere\.txt"):
        Environment.from_pip_requirements("mine", str(tmp_path / "nowhere.txt"))
    (tmp_path / "a.txt").write_text("-r b.txt\n")
    (tmp_path / "b.txt").write_text("-r a.txt\n")
    with pytest.raises(UserErrorException, match="includes itself"):
        Environment.from_pip_requirements("mine", str(tmp_path / "a.txt"))
    (tmp_path / "c.txt").write_bytes(b"\xff")
    with pytest.raises(UserErrorException, match="not UTF-8"):
        Environment.from_pip_requirements("mine", str(tmp_path / "c.txt"))


def test_a_conda_file_without_python_gets_our_version(tmp_path: Path):
    (tmp_path / "e.yml").write_text("name: x\ndependencies:\n- pip:\n  - six\n")
    made = Environment.from_conda_specification("mine", str(tmp_path / "e.yml"))
    assert made.name == "mine" and len(list(made.python.conda_dependencies.conda_packages)) == 1
    assert to_spec(made).builder == "venv" and to_spec(made).requirements == ("six",)
    (tmp_path / "e.yml").write_text("dependencies: [python=3.6.2, python-dateutil]\n")
    made = Environment.from_conda_specification("mine", str(tmp_path / "e.yml"))
    assert made.python.conda_dependencies.get_python_version() == "3.6.2"


def test_an_environment_survives_a_directory(tmp_path: Path):
    folder = str(tmp_path / "e")
    made = Environment("mine")
    made.docker.base_dockerfile = "FROM a\n"
    made.python.conda_dependencies.add_conda_package("numpy")
    made.environment_variables = {"A": "b"}
    made.save_to_directory(folder)
    assert sorted(os.listdir(folder)) == ["BaseDockerfile", "azureml_environment.json", "conda_dependencies.yml"]
    assert definition(Environment.load_from_directory(folder)) == definition(made)
    with pytest.raises(UserErrorException, match="overwrite=True"):
        made.save_to_directory(folder)
    made.docker.base_image = "some/image"
    made.save_to_directory(folder, overwrite=True)
    assert sorted(os.listdir(folder)) == ["azureml_environment.json", "conda_dependencies.yml"]
    assert definition(Environment.load_from_directory(folder)) == definition(made)


def test_directories_without_an_environment_are_refused(tmp_path: Path):
    with pytest.raises(UserErrorException, match="save_to_directory"):
        Environment.load_from_directory(str(tmp_path))
    for text, words in (("{", "is not JSON"), ("[]", "does not contain an environment")):
        (tmp_path / "azureml_environment.json").write_text(text)
        with pytest.raises(UserErrorException, match=words):
            Environment.load_from_directory(str(tmp_path))
