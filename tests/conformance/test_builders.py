from __future__ import annotations

import sys
import zipfile
from dataclasses import dataclass
from pathlib import Path

import pytest

from footplate import environments
from footplate.domain.specs import EnvironmentSpec
from footplate.environments.base import Builder
from footplate.testing.builder_suite import BuilderSuite


@dataclass
class Arena:
    builder: Builder
    root: Path
    spec: EnvironmentSpec
    other: EnvironmentSpec
    impossible: EnvironmentSpec


def test_the_suite_runs_over_every_builder() -> None:
    tested = {TestExisting.NAME, TestVenv.NAME}
    assert tested == set(environments.names())


class TestExisting(BuilderSuite):
    NAME = "existing"

    @pytest.fixture
    def arena(self, tmp_path: Path) -> Arena:
        return Arena(
            environments.load(self.NAME),
            tmp_path,
            EnvironmentSpec(interpreter=sys.executable),
            EnvironmentSpec(interpreter="/usr/bin/env"),
            EnvironmentSpec(interpreter="/nowhere/bin/python"),
        )


class TestVenv(BuilderSuite):
    NAME = "venv"

    @pytest.fixture
    def arena(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Arena:
        wheels = tmp_path / "wheels"
        for version in ("1.0", "2.0"):
            make_wheel(wheels, "tinything", version)
        monkeypatch.setenv("PIP_CONFIG_FILE", "/dev/null")
        monkeypatch.setenv("PIP_NO_INDEX", "1")
        monkeypatch.setenv("PIP_FIND_LINKS", str(wheels))
        monkeypatch.setenv("UV_CACHE_DIR", str(tmp_path / "cache"))
        python = f"{sys.version_info.major}.{sys.version_info.minor}"
        return Arena(
            environments.load(self.NAME),
            tmp_path / "environments",
            EnvironmentSpec(builder="venv", python=python, requirements=("tinything",)),
            EnvironmentSpec(builder="venv", python=python, requirements=("tinything<2",)),
            EnvironmentSpec(builder="venv", python=python, requirements=("tinything==3",)),
        )


def make_wheel(folder: Path, name: str, version: str) -> None:
    """The smallest wheel there is: one module with its version."""
    folder.mkdir(parents=True, exist_ok=True)
    info = f"{name}-{version}.dist-info"
    with zipfile.ZipFile(folder / f"{name}-{version}-py3-none-any.whl", "w") as wheel:
        wheel.writestr(f"{name}.py", f"version = {version!r}\n")
        wheel.writestr(f"{info}/METADATA", f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n")
        wheel.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        wheel.writestr(f"{info}/RECORD", f"{name}.py,,\n{info}/METADATA,,\n{info}/WHEEL,,\n{info}/RECORD,,\n")
