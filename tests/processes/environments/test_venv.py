from __future__ import annotations

import functools
import os
import signal
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from footplate import __version__
from footplate.domain.orders import Lock
from footplate.domain.specs import EnvironmentSpec
from footplate.environments.base import ResolverSettings, Say
from footplate.environments.built_environments import MARKER
from footplate.environments.pythons import Python, installed
from footplate.environments.venv import VenvBuilder
from footplate.errors import Broken, InvalidInput
from footplate.node.node_directory import runtime_folder
from support.wheels import make_wheel

PYTHON = f"{sys.version_info.major}.{sys.version_info.minor}"


def quiet(_line: str) -> None:
    pass


def spec(*requirements: str, python: str | None = PYTHON) -> EnvironmentSpec:
    return EnvironmentSpec(builder="venv", python=python, requirements=requirements)


class QuietHandler(SimpleHTTPRequestHandler):
    def log_message(self, format: str, *args: object) -> None:
        pass


@pytest.fixture
def pythons(tmp_path: Path) -> list[Python]:
    return installed(tmp_path / "e")


def lock_of(wanted: EnvironmentSpec, say: Say = quiet, **rules: Any) -> Lock:
    return VenvBuilder().lock(wanted, ResolverSettings(Path(os.environ["UV_CACHE_DIR"]).parent / "e", **rules), say)


def test_the_lock_is_exact_and_hashed(wheels: Path) -> None:
    lock = lock_of(spec("tiny"), quiet)
    assert lock.content["requirements"].startswith("tiny==2.0 \\\n    --hash=sha256:")
    assert lock.content["python"] == PYTHON


def test_azureml_packages_are_left_out_and_logged(wheels: Path) -> None:
    said: list[str] = []
    requirements = ("azureml-defaults~=1.6", "azureml_core", "azureml", "azureml-sdk[x]>=1", "tiny<2", "# a comment")
    lock = lock_of(spec(*requirements), said.append)
    assert lock.content["requirements"].startswith("tiny==1.0")
    assert sum("not installed" in line for line in said) == 4


def test_a_conflict_shows_uvs_message(wheels: Path) -> None:
    with pytest.raises(InvalidInput) as caught:
        lock_of(spec("tiny<2", "tiny>=2"), quiet)
    assert "tiny" in caught.value.message
    assert "unsatisfiable" in caught.value.message


def test_an_invalid_python_version_is_refused(wheels: Path) -> None:
    with pytest.raises(InvalidInput, match="'three'"):
        lock_of(spec("tiny", python="three"), quiet)


def test_a_build_contains_the_locked_packages_with_bytecode(wheels: Path, tmp_path: Path) -> None:
    builder, said = VenvBuilder(), list[str]()
    python = builder.build(lock_of(spec("tiny<2"), quiet), tmp_path / "e", said.append)
    argv = [*python.argv, "-c", "import tiny, sys; print(tiny.version, tiny.__cached__, sys.prefix)"]
    version, cached, prefix = subprocess.run(argv, capture_output=True, text=True, check=True).stdout.split()
    assert version == "1.0"
    assert Path(cached).exists()
    assert python.variables == {"VIRTUAL_ENV": prefix}
    assert any("building" in line for line in said)


def test_an_environment_without_requirements_is_empty(wheels: Path, tmp_path: Path) -> None:
    builder = VenvBuilder()
    python = builder.build(lock_of(spec("azureml-defaults"), quiet), tmp_path / "e", quiet)
    assert subprocess.run([*python.argv, "-c", "import tiny"], capture_output=True).returncode == 1


def test_a_wheel_with_another_hash_is_refused(wheels: Path, tmp_path: Path) -> None:
    builder = VenvBuilder()
    lock = lock_of(spec("tiny"), quiet)
    (wheels / "tiny-1.0-py3-none-any.whl").replace(wheels / "tiny-2.0-py3-none-any.whl")
    (tmp_path / "cache").rename(tmp_path / "old cache")
    with pytest.raises(Broken):
        builder.build(lock, tmp_path / "e", quiet)
    assert not (tmp_path / "e" / lock.digest).exists()


def test_concurrent_builds_build_once_and_log_the_wait(wheels: Path, tmp_path: Path) -> None:
    builder, said = VenvBuilder(), list[str]()
    lock = lock_of(spec("tiny"), quiet)
    with ThreadPoolExecutor(3) as pool:
        list(pool.map(lambda _: builder.build(lock, tmp_path / "e", said.append), range(3)))
    assert sum(line.startswith("building") for line in said) == 1
    assert sum(line.startswith("waiting") for line in said) == 2


def test_a_killed_build_starts_afresh(wheels: Path, tmp_path: Path) -> None:
    builder = VenvBuilder()
    lock = lock_of(spec("tiny"), quiet)
    text = (
        "import os, signal, sys; from pathlib import Path; from footplate.environments.venv import VenvBuilder\n"
        "from footplate.domain.orders import Lock; import json\n"
        "def say(line):\n"
        "    if line.startswith(('Using', 'Creating', 'Installed')): os.kill(os.getpid(), signal.SIGKILL)\n"
        f"VenvBuilder().build(Lock({lock.digest!r}, 'venv', {lock.content!r}), Path({str(tmp_path / 'e')!r}), say)\n"
    )
    killed = subprocess.run([sys.executable, "-c", text], env=dict(os.environ), timeout=60)
    assert killed.returncode == -signal.SIGKILL
    assert not (tmp_path / "e" / lock.digest / MARKER).exists()
    python = builder.build(lock, tmp_path / "e", quiet)
    assert subprocess.run([*python.argv, "-c", "import tiny"]).returncode == 0


def test_an_environment_without_its_python_is_rebuilt(wheels: Path, tmp_path: Path) -> None:
    builder = VenvBuilder()
    lock = lock_of(spec("tiny"), quiet)
    python = Path(builder.build(lock, tmp_path / "e", quiet).argv[0])
    python.unlink()
    python.symlink_to("/nowhere/python")
    assert builder.build(lock, tmp_path / "e", quiet).argv == (str(python),)
    assert subprocess.run([str(python), "-c", "import tiny"]).returncode == 0


def test_a_conflict_names_the_lines_as_they_were_written(wheels: Path) -> None:
    make_wheel(wheels, "innocent", "1.0")
    make_wheel(wheels, "demanding", "1.0", needs=("tiny>=2",))
    with pytest.raises(InvalidInput) as caught:
        lock_of(spec("innocent", "Tiny<2  # the old one", "demanding"))
    lines = caught.value.message.split("these lines conflict:\n")[1].splitlines()
    assert sorted(lines) == ["  Tiny<2", "  demanding"]


def test_azureml_dependencies_of_packages_are_left_out_too(wheels: Path) -> None:
    make_wheel(wheels, "helper", "1.0", needs=("azureml-core>=1.20", "tiny"))
    assert [line.split()[0] for line in lock_of(spec("helper")).content["requirements"].splitlines()[::2]] == [
        "helper==1.0",
        "tiny==2.0",
    ]


def test_azureml_is_importable_although_it_is_not_installed(wheels: Path, tmp_path: Path) -> None:
    ours = ("azureml-sdk[automl,explain]>=1.1; python_version>'3'", "azureml-core @ https://x/y.whl")
    lock = lock_of(spec(*ours, "tiny"))
    python = VenvBuilder().build(lock, tmp_path / "e", quiet)
    (tmp_path / "home").mkdir()
    runtime = runtime_folder(str(tmp_path / "home"), __version__)
    text = "import azureml.core, tiny; from azureml.core import Run, Workspace; print(azureml.core.__file__)"
    argv = [*python.argv, "-c", text]
    done = subprocess.run(argv, env={"PYTHONPATH": runtime}, capture_output=True, text=True, check=True)
    assert str(tmp_path / "e") not in done.stdout


def test_pip_constraints_apply_to_locks_but_not_to_builds(
    wheels: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "constraints.txt").write_text("tiny<2\n")
    monkeypatch.setenv("PIP_CONSTRAINT", str(tmp_path / "constraints.txt"))
    lock = lock_of(spec("tiny"))
    assert lock.content["requirements"].startswith("tiny==1.0")
    VenvBuilder().build(lock, tmp_path / "e", quiet)


def test_cached_packages_need_no_index(wheels: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "simple").mkdir()
    wheels.rename(tmp_path / "simple" / "tiny")  # a folder's listing is an index of the simplest kind
    handler = functools.partial(QuietHandler, directory=str(tmp_path))
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as index:
        threading.Thread(target=index.serve_forever, daemon=True).start()
        monkeypatch.setenv("PIP_INDEX_URL", f"http://127.0.0.1:{index.server_port}/simple")
        monkeypatch.delenv("PIP_NO_INDEX")
        monkeypatch.delenv("PIP_FIND_LINKS")
        builder, lock = VenvBuilder(), lock_of(spec("tiny"))
        built = Path(builder.build(lock, tmp_path / "e", quiet).argv[0]).parent.parent
        index.shutdown()
    built.rename(tmp_path / "aside")
    assert Path(builder.build(lock, tmp_path / "e", quiet).argv[0]).exists()


def test_a_changed_environment_stays_and_a_new_one_is_built(wheels: Path, tmp_path: Path) -> None:
    builder, lock, said = VenvBuilder(), lock_of(spec("tiny")), list[str]()
    first = Path(builder.build(lock, tmp_path / "e", quiet).argv[0])
    site = next(first.parent.parent.glob("lib/*/site-packages"))
    (site / "intruder.py").write_text("")
    second = builder.build(lock, tmp_path / "e", said.append)
    assert Path(second.argv[0]) != first
    assert (site / "intruder.py").exists()
    assert "was changed after it was built" in said[0]
    assert builder.build(lock, tmp_path / "e", quiet) == second
    assert subprocess.run([*second.argv, "-c", "import intruder"], capture_output=True).returncode == 1


def test_the_last_use_is_recorded(wheels: Path, tmp_path: Path) -> None:
    builder, lock = VenvBuilder(), lock_of(spec("tiny"))
    builder.build(lock, tmp_path / "e", quiet)
    marker = tmp_path / "e" / lock.digest / MARKER
    os.utime(marker, (1000, 1000))
    builder.build(lock, tmp_path / "e", quiet)
    assert marker.stat().st_mtime > 1000


# ── Pythons ───────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_a_missing_python_is_replaced_with_a_warning(wheels: Path) -> None:
    lock = lock_of(spec("tiny", python="3.6.2"))
    assert len(lock.warnings) == 1
    assert "Python 3.6.2 cannot run jobs" in lock.warnings[0]
    assert tuple(map(int, lock.content["python"].split("."))) >= (3, 8)


def test_the_nearest_python_is_one_that_the_packages_support(
    wheels: Path, tmp_path: Path, pythons: list[Python]
) -> None:
    newest = max(pythons, key=lambda python: python.version)
    if len(pythons) < 2:
        pytest.skip("there is only one Python here")
    make_wheel(wheels, "modern", "1.0", python=f">={newest.minor}")
    lock = lock_of(spec("modern", python="3.6"))
    assert lock.content["python"] == newest.minor
    assert newest.minor in lock.warnings[0]


def test_exact_interpreters_refuse_a_replacement(wheels: Path) -> None:
    with pytest.raises(InvalidInput, match="interpreters = exact") as caught:
        lock_of(spec("tiny", python="3.6.2"), interpreters="exact")
    assert PYTHON in (caught.value.hint or "")


def test_environments_build_with_every_python_of_this_machine(
    wheels: Path, tmp_path: Path, pythons: list[Python]
) -> None:
    builder = VenvBuilder()
    for python in pythons:
        lock = lock_of(spec("tiny", python=python.minor))
        assert lock.warnings == ()
        argv = [*builder.build(lock, tmp_path / "e", quiet).argv, "-c", "import sys, tiny; print(sys.version)"]
        out = subprocess.run(argv, capture_output=True, text=True, check=True).stdout
        assert out.startswith(python.minor + ".")


BACKEND = """
import os, zipfile

def build_wheel(directory, config_settings=None, metadata_directory=None):
    name = "mine-1.0-py3-none-any.whl"
    with zipfile.ZipFile(os.path.join(directory, name), "w") as wheel:
        wheel.write("mine.py")
        wheel.writestr("mine-1.0.dist-info/METADATA", "Metadata-Version: 2.1\\nName: mine\\nVersion: 1.0\\n")
        wheel.writestr("mine-1.0.dist-info/WHEEL", "Wheel-Version: 1.0\\nRoot-Is-Purelib: true\\nTag: py3-none-any\\n")
        wheel.writestr("mine-1.0.dist-info/RECORD", "")
    return name
"""


def test_editable_packages_are_installed_as_they_are_now(wheels: Path, tmp_path: Path) -> None:
    package = tmp_path / "package"
    package.mkdir()
    (package / "backend.py").write_text(BACKEND)
    (package / "pyproject.toml").write_text(
        '[build-system]\nrequires = []\nbuild-backend = "backend"\nbackend-path = ["."]\n'
    )
    for value in ("1", "2"):
        (package / "mine.py").write_text(f"value = {value}\n")
        made = VenvBuilder().build(lock_of(spec(f"-e {package}")), tmp_path / "e", quiet)
        code = "import mine; print(mine.value, mine.__file__)"
        told = subprocess.run([*made.argv, "-c", code], capture_output=True, text=True, check=True).stdout.split()
        assert told[0] == value
        assert not told[1].startswith(str(package)), "a later change of the folder does not change the run"
