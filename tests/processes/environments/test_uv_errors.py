"""Messages for packages that cannot be installed: uv's own message, the line that caused it, and a hint."""

from __future__ import annotations

import io
import socket
import sys
import tarfile
from pathlib import Path

import pytest

from footplate import environments
from footplate.domain.specs import EnvironmentSpec
from footplate.environments.base import ResolverSettings
from footplate.errors import FootplateError
from support.wheels import make_wheel

PYTHON = f"{sys.version_info.major}.{sys.version_info.minor}"
BACKEND = """
import sys

def build_wheel(*arguments):
    sys.stderr.write({words!r})
    raise SystemExit(1)

def prepare_metadata_for_build_wheel(folder, *arguments):
    {early}
    import os
    os.makedirs(folder + "/broken-1.0.dist-info")
    open(folder + "/broken-1.0.dist-info/METADATA", "w").write("Metadata-Version: 2.1\\nName: broken\\nVersion: 1.0\\n")
    open(folder + "/broken-1.0.dist-info/WHEEL", "w").write("Wheel-Version: 1.0\\nTag: py3-none-any\\n")
    return "broken-1.0.dist-info"
"""


def refused(root: Path, *lines: str) -> tuple[FootplateError, list[str]]:
    """Return the error of locking and building these lines, and the log."""
    said = list[str]()
    spec = EnvironmentSpec(builder="venv", python=PYTHON, requirements=lines)
    with pytest.raises(FootplateError) as caught:
        lock = environments.resolve(spec, ResolverSettings(root / "e"), said.append)
        environments.load("venv").build(lock, root / "e", said.append)
    return caught.value, said


def make_source(folder: Path, words: str, early: bool = False) -> None:
    """Make a source archive whose backend fails, when it is built or already when it is asked for metadata."""
    backend = BACKEND.format(words=words, early="build_wheel()" if early else "")
    system = '[build-system]\nrequires = []\nbuild-backend = "backend"\nbackend-path = ["."]\n'
    project = '[project]\nname = "broken"\ndynamic = ["version"]\n'
    files = {"pyproject.toml": system + project, "backend.py": backend}
    with tarfile.open(folder / "broken-1.0.tar.gz", "w:gz") as archive:
        for path, text in files.items():
            entry = tarfile.TarInfo(f"broken-1.0/{path}")
            entry.size = len(text)
            archive.addfile(entry, io.BytesIO(text.encode()))


def test_conflicting_lines_are_shown(wheels: Path, tmp_path: Path) -> None:
    make_wheel(wheels, "large", "1.0", needs=("tiny<2",))
    error, said = refused(tmp_path, "large", "tiny==2.0", "azureml-defaults")
    assert error.message.startswith(f"the requirements cannot be resolved for Python {PYTHON}")
    assert "tiny<2" in error.message
    assert error.message.endswith("these lines conflict:\n  large\n  tiny==2.0") and error.hint
    assert any("unsatisfiable" in line for line in said), "the log has it as well"


def test_a_missing_wheel_names_the_pythons_with_wheels(wheels: Path, tmp_path: Path) -> None:
    for tag in ("cp36-cp36m", "cp38-cp38"):
        make_wheel(wheels, "native", "1.0")
        (wheels / "native-1.0-py3-none-any.whl").rename(wheels / f"native-1.0-{tag}-manylinux2014_x86_64.whl")
    error, _ = refused(tmp_path, "native==1.0")
    assert "this line cannot be satisfied:\n  native==1.0" in error.message
    assert error.hint == "request a Python that native has wheels for (3.6, 3.8), or another version of native"


@pytest.mark.parametrize(("tag", "tries"), [("cp36-cp36m", 1), (f"cp{PYTHON.replace('.', '')}-none", None)])
def test_pythons_without_a_wheel_for_a_pin_are_not_tried(
    tag: str, tries: int | None, wheels: Path, tmp_path: Path
) -> None:
    make_wheel(wheels, "native", "1.0")
    (wheels / "native-1.0-py3-none-any.whl").rename(wheels / f"native-1.0-{tag}-linux_x86_64.whl")
    spec, said = EnvironmentSpec(builder="venv", python="3.6.2", requirements=("native==1.0",)), list[str]()
    if tries is None:
        assert environments.resolve(spec, ResolverSettings(tmp_path / "e"), said.append).content["python"] == PYTHON
        return
    with pytest.raises(FootplateError, match=r"native==1\.0"):
        environments.resolve(spec, ResolverSettings(tmp_path / "e"), said.append)
    assert sum("; trying " in line for line in said) == tries


def test_an_index_that_is_down_is_named(wheels: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PIP_NO_INDEX")
    monkeypatch.setenv("UV_HTTP_RETRIES", "0")
    with socket.create_server(("127.0.0.1", 0)) as closed:
        address = f"http://127.0.0.1:{closed.getsockname()[1]}/simple"
    error, _ = refused(tmp_path, f"--index-url {address}", "tiny")
    assert error.message.startswith(f"the packages cannot be looked up: {address}/tiny/ could not be downloaded")
    assert "refused" in error.message and "check the index" in str(error.hint)


@pytest.mark.parametrize("early", [False, True])
def test_a_source_that_does_not_compile_shows_its_error(early: bool, wheels: Path, tmp_path: Path) -> None:
    make_source(wheels, "broken.c:1:11: error: expected declaration\n", early)
    error, said = refused(tmp_path, "broken")
    assert error.message.startswith("broken==1.0 has no wheel for ")
    assert "cannot be built from source:\nerror: Failed to" in error.message, "what went well is left to the log"
    assert "broken.c:1:11: error: expected declaration" in error.message
    assert "a version of broken that has a wheel" in str(error.hint)
    assert any("broken.c:1:11" in line for line in said)


def test_a_missing_header_is_named_in_the_hint(wheels: Path, tmp_path: Path) -> None:
    make_source(wheels, "broken.c:1:10: fatal error: lapacke.h: No such file or directory\n")
    assert "install the -dev package that contains lapacke.h" in str(refused(tmp_path, "broken")[0].hint)
