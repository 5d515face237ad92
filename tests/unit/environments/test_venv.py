from __future__ import annotations

import os
import signal
import subprocess
import sys
import zipfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from footplate.domain.specs import EnvironmentSpec
from footplate.environments.venv import MARKER, VenvBuilder
from footplate.errors import Broken, InvalidInput

PYTHON = f"{sys.version_info.major}.{sys.version_info.minor}"


def quiet(_line: str) -> None:
    pass


@pytest.fixture
def wheels(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A world in which the only packages are `tiny` 1.0 and 2.0."""
    folder = tmp_path / "wheels"
    folder.mkdir()
    for version in ("1.0", "2.0"):
        info = f"tiny-{version}.dist-info"
        with zipfile.ZipFile(folder / f"tiny-{version}-py3-none-any.whl", "w") as wheel:
            wheel.writestr("tiny.py", f"version = {version!r}\n")
            wheel.writestr(f"{info}/METADATA", f"Metadata-Version: 2.1\nName: tiny\nVersion: {version}\n")
            wheel.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
            wheel.writestr(f"{info}/RECORD", f"tiny.py,,\n{info}/METADATA,,\n{info}/WHEEL,,\n{info}/RECORD,,\n")
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(folder))
    monkeypatch.setenv("UV_CACHE_DIR", str(tmp_path / "cache"))
    return folder


def spec(*requirements: str, python: str | None = PYTHON) -> EnvironmentSpec:
    return EnvironmentSpec(builder="venv", python=python, requirements=requirements)


def test_the_lock_is_exact_and_hashed(wheels: Path) -> None:
    lock = VenvBuilder().lock(spec("tiny"), quiet)
    assert lock.content["requirements"].startswith("tiny==2.0 \\\n    --hash=sha256:")
    assert lock.content["python"] == PYTHON


def test_azureml_packages_are_ours_and_left_out_aloud(wheels: Path) -> None:
    said: list[str] = []
    requirements = ("azureml-defaults~=1.6", "azureml_core", "azureml", "azureml-sdk[x]>=1", "tiny<2", "# a comment")
    lock = VenvBuilder().lock(spec(*requirements), said.append)
    assert lock.content["requirements"].startswith("tiny==1.0")
    assert sum("left out" in line for line in said) == 4


def test_a_conflict_is_explained_in_uv_s_words(wheels: Path) -> None:
    with pytest.raises(InvalidInput) as caught:
        VenvBuilder().lock(spec("tiny<2", "tiny>=2"), quiet)
    assert "tiny" in caught.value.message
    assert "unsatisfiable" in caught.value.message


def test_what_is_no_version_is_refused(wheels: Path) -> None:
    with pytest.raises(InvalidInput, match="'three'"):
        VenvBuilder().lock(spec("tiny", python="three"), quiet)


def test_the_build_holds_what_was_locked_compiled(wheels: Path, tmp_path: Path) -> None:
    builder, said = VenvBuilder(), list[str]()
    python = builder.build(builder.lock(spec("tiny<2"), quiet), tmp_path / "e", said.append)
    argv = [*python.argv, "-c", "import tiny, sys; print(tiny.version, tiny.__cached__, sys.prefix)"]
    version, cached, prefix = subprocess.run(argv, capture_output=True, text=True, check=True).stdout.split()
    assert version == "1.0"
    assert Path(cached).exists()
    assert python.variables == {"VIRTUAL_ENV": prefix}
    assert any("building" in line for line in said)


def test_an_environment_without_requirements_is_an_empty_one(wheels: Path, tmp_path: Path) -> None:
    builder = VenvBuilder()
    python = builder.build(builder.lock(spec("azureml-defaults"), quiet), tmp_path / "e", quiet)
    assert subprocess.run([*python.argv, "-c", "import tiny"], capture_output=True).returncode == 1


def test_a_wheel_that_is_not_the_one_that_was_locked_is_refused(wheels: Path, tmp_path: Path) -> None:
    builder = VenvBuilder()
    lock = builder.lock(spec("tiny"), quiet)
    (wheels / "tiny-1.0-py3-none-any.whl").replace(wheels / "tiny-2.0-py3-none-any.whl")
    (tmp_path / "cache").rename(tmp_path / "old cache")
    with pytest.raises(Broken):
        builder.build(lock, tmp_path / "e", quiet)
    assert not (tmp_path / "e" / lock.digest).exists()


def test_it_is_built_once_while_others_wait_and_say_so(wheels: Path, tmp_path: Path) -> None:
    builder, said = VenvBuilder(), list[str]()
    lock = builder.lock(spec("tiny"), quiet)
    with ThreadPoolExecutor(3) as pool:
        list(pool.map(lambda _: builder.build(lock, tmp_path / "e", said.append), range(3)))
    assert sum(line.startswith("building") for line in said) == 1
    assert sum(line.startswith("waiting") for line in said) == 2


def test_a_killed_build_is_made_anew(wheels: Path, tmp_path: Path) -> None:
    builder = VenvBuilder()
    lock = builder.lock(spec("tiny"), quiet)
    text = (
        "import os, signal, sys; from pathlib import Path; from footplate.environments.venv import VenvBuilder\n"
        "from footplate.domain.records import Lock; import json\n"
        "def say(line):\n"
        "    if line.startswith(('Using', 'Creating', 'Installed')): os.kill(os.getpid(), signal.SIGKILL)\n"
        f"VenvBuilder().build(Lock({lock.digest!r}, 'venv', {lock.content!r}), Path({str(tmp_path / 'e')!r}), say)\n"
    )
    killed = subprocess.run([sys.executable, "-c", text], env=dict(os.environ), timeout=60)
    assert killed.returncode == -signal.SIGKILL
    assert not (tmp_path / "e" / lock.digest / MARKER).exists()
    python = builder.build(lock, tmp_path / "e", quiet)
    assert subprocess.run([*python.argv, "-c", "import tiny"]).returncode == 0


def test_one_whose_python_has_gone_is_made_anew(wheels: Path, tmp_path: Path) -> None:
    builder = VenvBuilder()
    lock = builder.lock(spec("tiny"), quiet)
    python = Path(builder.build(lock, tmp_path / "e", quiet).argv[0])
    python.unlink()
    python.symlink_to("/nowhere/python")
    assert builder.build(lock, tmp_path / "e", quiet).argv == (str(python),)
    assert subprocess.run([str(python), "-c", "import tiny"]).returncode == 0
