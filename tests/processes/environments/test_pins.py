"""Pinned requirements: with pip, setuptools and wheel; old ones with packages of their time."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from footplate.domain.locks import packages
from footplate.domain.specs import EnvironmentSpec
from footplate.environments.base import ResolverSettings
from footplate.environments.venv import VenvBuilder
from footplate.errors import InvalidInput
from support.wheels import make_wheel


def test_a_file_of_2020_gets_packages_of_that_time(tmp_path: Path) -> None:
    """With the real index: numpy's releases broke most packages compiled before them."""
    spec = EnvironmentSpec(builder="venv", python="3.6.2", requirements=("six",))
    lock = VenvBuilder().lock(spec, ResolverSettings(tmp_path), lambda _: None)
    assert packages(lock) == {"six": "1.16.0", "pip": "21.3.1", "setuptools": "60.0.5", "wheel": "0.37.1"}
    (warning,) = lock.warnings
    assert warning.startswith("Python 3.6.2 cannot run jobs, which need at least 3.8: the run uses Python 3.")
    assert warning.endswith(", the nearest that the packages support, with packages as of 2021-12-23")


def test_a_file_for_python_3_7_gets_a_numpy_that_supported_it(tmp_path: Path) -> None:
    """With the real index: np.float, which scripts of that time use, went with numpy 1.24 in 2022."""
    spec = EnvironmentSpec(builder="venv", python="3.7", requirements=("numpy", "pandas==1.5.3"))
    found = packages(VenvBuilder().lock(spec, ResolverSettings(tmp_path), lambda _: None))
    assert (found["numpy"], found["pandas"]) == ("1.21.5", "1.5.3")


def test_a_directory_without_dates_gives_what_it_has(wheels: Path, tmp_path: Path) -> None:
    spec = EnvironmentSpec(builder="venv", python="3.6.2", requirements=("tiny",))
    lock = VenvBuilder().lock(spec, ResolverSettings(tmp_path / "e"), lambda _: None)
    assert packages(lock) == {"tiny": "2.0"} and len(lock.warnings) == 1


# ── pip, setuptools and wheel ─────────────────────────────────────────────────────────────────────────────────────────


@pytest.fixture
def installers(wheels: Path) -> Path:
    for name, version in (("pip", "26.0"), ("setuptools", "80.9"), ("setuptools", "82.0"), ("wheel", "0.45")):
        make_wheel(wheels, name, version)
    return wheels


def pinned(root: Path, *requirements: str) -> dict[str, str]:
    spec = EnvironmentSpec(builder="venv", requirements=requirements)
    return packages(VenvBuilder().lock(spec, ResolverSettings(root / "e"), print))


@pytest.mark.usefixtures("installers")
@pytest.mark.parametrize("requirements", [(), ("azureml-defaults",), ("--pre",)])
def test_environments_contain_pip_setuptools_and_wheel(requirements: tuple[str, ...], tmp_path: Path) -> None:
    assert pinned(tmp_path, *requirements) == {"pip": "26.0", "setuptools": "80.9", "wheel": "0.45"}


def test_a_package_that_needs_a_newer_setuptools_gets_it(installers: Path, tmp_path: Path) -> None:
    make_wheel(installers, "modern", "1.0", needs=("setuptools>=81",))
    found = pinned(tmp_path, "modern")
    assert (found["setuptools"], found["pip"]) == ("82.0", "26.0")


@pytest.mark.usefixtures("installers")
def test_a_line_about_setuptools_is_respected(tmp_path: Path) -> None:
    assert pinned(tmp_path, "setuptools==82.0", "tiny")["setuptools"] == "82.0"


@pytest.mark.usefixtures("wheels")
def test_an_index_without_pip_is_no_failure(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert pinned(tmp_path, "tiny") == {"tiny": "2.0"}
    assert "has none for these requirements: pip, setuptools<81, wheel" in capsys.readouterr().out


@pytest.mark.usefixtures("installers")
def test_a_conflict_of_other_packages_does_not_mention_pip(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput) as caught:
        pinned(tmp_path, "tiny==1.0", "tiny==2.0")
    assert "pip" not in caught.value.message


@pytest.mark.slow
def test_a_built_environment_can_import_pkg_resources_and_run_pip(tmp_path: Path) -> None:
    """With the real index: torch 1.10, tensorboard and many older packages import pkg_resources."""
    lock = VenvBuilder().lock(EnvironmentSpec(builder="venv", requirements=("six",)), ResolverSettings(tmp_path), print)
    (python,) = VenvBuilder().build(lock, tmp_path, print).argv
    code = "import pkg_resources, setuptools, wheel; print(pkg_resources.get_distribution('six').version)"
    done = subprocess.run([python, "-W", "ignore", "-c", code], capture_output=True, text=True)
    assert (done.returncode, done.stdout.strip()) == (0, packages(lock)["six"]), done.stderr
    assert subprocess.run([python, "-m", "pip", "--version"], capture_output=True).returncode == 0
