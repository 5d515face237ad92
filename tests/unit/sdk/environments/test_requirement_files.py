from __future__ import annotations

from pathlib import Path

import pytest

from footplate.sdk.environments.conda_dependencies import CondaDependencies
from footplate.sdk.environments.environment import Environment
from footplate.sdk.environments.requirement_files import requirement_lines
from footplate.sdk.environments.spec import to_spec
from footplate.sdk.exceptions import UserErrorException


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name in ("package", "links", "below"):
        (tmp_path / name).mkdir()
    (tmp_path / "limits.txt").write_text("numpy<2\n")
    (tmp_path / "x-1.0-py3-none-any.whl").touch()
    return tmp_path


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("./package", "{0}/package"),
        ("package/", "{0}/package"),
        ("./package[extra]", "{0}/package[extra]"),
        ("./package ; python_version > '3'", "{0}/package ; python_version > '3'"),
        ("-e ./package", "-e {0}/package"),
        ("--editable=package/", "--editable {0}/package"),
        ("name @ ./package", "name @ {0}/package"),
        ("name @ file:package", "name @ {0}/package"),
        ("x-1.0-py3-none-any.whl", "{0}/x-1.0-py3-none-any.whl"),
        ("-c limits.txt", "-c {0}/limits.txt"),
        ("-climits.txt", "-c {0}/limits.txt"),
        ("--constraint=limits.txt", "--constraint {0}/limits.txt"),
        ("-f links", "-f {0}/links"),
        ("-e git+https://example.com/x.git#egg=x", "-e git+https://example.com/x.git#egg=x"),
        ("name @ https://example.com/x.zip", "name @ https://example.com/x.zip"),
        ("-c https://example.com/limits.txt", "-c https://example.com/limits.txt"),
        ("--pre", "--pre"),
        ("package", "package"),
    ],
)
def test_relative_paths_start_at_the_folder_of_the_file(folder: Path, line: str, expected: str) -> None:
    (folder / "all.txt").write_text(f"{line}  # a comment\n")
    assert requirement_lines(str(folder / "all.txt")) == [expected.format(folder)]


def test_paths_of_included_files_start_at_their_own_folder(folder: Path) -> None:
    (folder / "all.txt").write_text("-r below/more.txt\n")
    (folder / "below" / "more.txt").write_text("../package\n-c ../limits.txt\n")
    assert requirement_lines(str(folder / "all.txt")) == [f"{folder}/package", f"-c {folder}/limits.txt"]


@pytest.mark.parametrize("line", ["./missing", "-e ./missing", "-c missing.txt", "name @ ./missing", "-f missing"])
def test_paths_that_do_not_exist_are_refused(folder: Path, line: str) -> None:
    (folder / "all.txt").write_text(f"{line}\n")
    with pytest.raises(UserErrorException, match=r"missing.*does not exist"):
        requirement_lines(str(folder / "all.txt"))


def test_paths_in_conda_files_start_at_their_folder(folder: Path) -> None:
    (folder / "more.txt").write_text("numpy\n")
    pip = "  - pip:\n    - -r more.txt\n    - -e ./package\n"
    (folder / "conda.yml").write_text(f"name: x\ndependencies:\n  - python=3.11\n{pip}")
    assert list(CondaDependencies(str(folder / "conda.yml")).pip_packages) == ["numpy", f"-e {folder}/package"]


@pytest.mark.parametrize(
    ("asked", "line"), [("pip=23.1", "pip==23.1.*"), ("pip==23.1", "pip==23.1"), ("pip>=23", "pip>=23")]
)
def test_pip_of_a_conda_file_is_installed_in_its_version(asked: str, line: str) -> None:
    environment = Environment("x")
    environment.python.conda_dependencies.add_conda_package(asked)
    assert line in to_spec(environment).requirements
