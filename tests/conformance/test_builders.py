from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from footplate import environments
from footplate.domain.specs import EnvironmentSpec
from footplate.environments.base import Builder
from footplate.testing.builder_suite import BuilderSuite
from support.conda_channel import MINOR, make_channel, module, python_package
from support.wheels import make_wheel


@dataclass
class Arena:
    builder: Builder
    root: Path
    spec: EnvironmentSpec
    other: EnvironmentSpec
    impossible: EnvironmentSpec


def test_suite_covers_every_builder() -> None:
    tested = {TestExisting.NAME, TestVenv.NAME, TestConda.NAME, TestContainer.NAME}
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
        only_tinything(tmp_path, monkeypatch)
        python = f"{sys.version_info.major}.{sys.version_info.minor}"
        return Arena(
            environments.load(self.NAME),
            tmp_path / "environments",
            EnvironmentSpec(builder="venv", python=python, requirements=("tinything",)),
            EnvironmentSpec(builder="venv", python=python, requirements=("tinything<2",)),
            EnvironmentSpec(builder="venv", python=python, requirements=("tinything==3",)),
        )


class TestConda(BuilderSuite):
    NAME = "conda"

    @pytest.fixture
    def arena(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Arena:
        only_tinything(tmp_path, monkeypatch)
        python = f"python={sys.version_info.major}.{sys.version_info.minor}"

        def spec(*packages: str) -> EnvironmentSpec:
            options = {"conda": {"channels": ["conda-forge"], "dependencies": [python, *packages], "pip": []}}
            return EnvironmentSpec(builder="conda", options=options)

        return Arena(
            environments.load(self.NAME),
            tmp_path / "environments",
            spec("tinything=2"),
            spec("tinything=1.0"),
            spec("tinything", "ffmpeg=4.2"),
        )


class TestCondaSolved(BuilderSuite):
    """The same builder with a reachable channel: conda packages, with a pip package on top."""

    @pytest.fixture
    def arena(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Arena:
        only_tinything(tmp_path, monkeypatch)
        channel = make_channel(tmp_path / "channel", [python_package(), module("alpha", "1.0"), module("alpha", "2.0")])

        def spec(*packages: str) -> EnvironmentSpec:
            conda = {"channels": [channel], "dependencies": [f"python={MINOR}", *packages], "pip": ["tinything"]}
            return EnvironmentSpec(builder="conda", options={"conda": conda})

        root = tmp_path / "environments"
        return Arena(environments.load("conda"), root, spec("alpha"), spec("alpha=1"), spec("alpha=3"))


class TestContainer(BuilderSuite):
    NAME = "container"

    @pytest.fixture
    def arena(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, python_image: str) -> Arena:
        only_tinything(tmp_path, monkeypatch)

        def spec(image: str, *packages: str) -> EnvironmentSpec:
            options = {"docker": {"base_image": image}}
            return EnvironmentSpec(builder="container", requirements=packages, options=options)

        return Arena(
            environments.load(self.NAME),
            tmp_path / "environments",
            spec(python_image, "tinything"),
            spec(python_image, "tinything<2"),
            spec("localhost/not-there:1"),
        )


def only_tinything(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Provide an index whose only packages are `tinything` 1.0 and 2.0."""
    wheels = tmp_path / "wheels"
    for version in ("1.0", "2.0"):
        make_wheel(wheels, "tinything", version)
    monkeypatch.setenv("PIP_CONFIG_FILE", "/dev/null")
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(wheels))
    monkeypatch.setenv("UV_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setenv("UV_PYTHON_DOWNLOADS", "never")
