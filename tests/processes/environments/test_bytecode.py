from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from footplate.domain.specs import EnvironmentSpec
from footplate.environments import built_environments, bytecode
from footplate.environments.base import ResolverSettings
from footplate.environments.bytecode import STORE
from footplate.environments.venv import VenvBuilder
from support.wheels import make_wheel

PYTHON = f"{sys.version_info.major}.{sys.version_info.minor}"


def build(tmp_path: Path, *requirements: str) -> tuple[str, list[str], Path]:
    said, builder, root = list[str](), VenvBuilder(), tmp_path / "e"
    spec = EnvironmentSpec(builder="venv", python=PYTHON, requirements=requirements)
    lock = builder.lock(spec, ResolverSettings(root), lambda _: None)
    python = builder.build(lock, root, said.append).argv[0]
    return python, said, next(Path(python).parent.parent.glob("lib/*/site-packages"))


def compiled(site: Path, module: str) -> Path:
    return site / "__pycache__" / f"{module}.{sys.implementation.cache_tag}.pyc"


def test_two_environments_with_the_same_wheel_share_one_compilation(wheels: Path, tmp_path: Path) -> None:
    make_wheel(wheels, "more", "1.0")
    _, first_said, first = build(tmp_path, "tiny")
    _, second_said, second = build(tmp_path, "tiny", "more")
    assert [line for line in first_said if line.startswith("compiling")] == ["compiling 1 file of tiny-2.0"]
    assert [line for line in second_said if line.startswith("compiling")] == ["compiling 1 file of more-1.0"]
    assert compiled(first, "tiny").samefile(compiled(second, "tiny"))


def test_python_accepts_shared_bytecode_and_tracebacks_name_files(
    wheels: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTHONDONTWRITEBYTECODE", "1")
    make_wheel(wheels, "failing", "1.0", files={"failing/why.py": "def fail():\n    raise ValueError\n"})
    for name in ("tiny", "failing"):  # the second environment has what the first compiled elsewhere
        build(tmp_path, name)
    python, _, site = build(tmp_path, "tiny", "failing")
    text = "import tiny, traceback, failing.why\ntry: failing.why.fail()\nexcept ValueError: traceback.print_exc()"
    done = subprocess.run([python, "-v", "-c", text], capture_output=True, text=True, check=True)
    assert f"matches {site}/tiny.py" in done.stderr
    assert f'File "{site}/failing/why.py", line 2' in done.stderr


def test_a_wheel_that_was_unpacked_again_is_not_compiled_again(wheels: Path, tmp_path: Path) -> None:
    _, _, first = build(tmp_path, "tiny<2")
    (tmp_path / "cache").rename(tmp_path / "old")
    make_wheel(wheels, "more", "1.0")
    os.utime(first / "tiny.py", (1, 1))  # whatever the clock does, the two differ
    python, said, site = build(tmp_path, "tiny<2", "more")
    assert not [line for line in said if line.startswith("compiling") and "tiny" in line]
    done = subprocess.run([python, "-v", "-c", "import tiny"], capture_output=True, text=True, check=True)
    assert f"matches {site}/tiny.py" in done.stderr


def test_files_that_do_not_compile_are_skipped(wheels: Path, tmp_path: Path) -> None:
    make_wheel(wheels, "odd", "1.0", files={"odd.py": "", "odd_template.py": "this is {{ not }} Python\n"})
    python, said, site = build(tmp_path, "odd")
    assert compiled(site, "odd").exists()
    assert not compiled(site, "odd_template").exists()
    assert not [line for line in said if "no bytecode" in line]
    assert subprocess.run([python, "-c", "import odd"]).returncode == 0


def test_tests_inside_packages_are_not_compiled(wheels: Path, tmp_path: Path) -> None:
    make_wheel(wheels, "big", "1.0", files={"big/__init__.py": "", "big/tests/test_it.py": "x = 1\n"})
    _, _, site = build(tmp_path, "big")
    assert (site / "big" / "__pycache__").exists()
    assert not (site / "big" / "tests" / "__pycache__").exists()


def test_no_partial_bytecode_stays_in_the_store(wheels: Path, tmp_path: Path) -> None:
    build(tmp_path, "tiny")
    (store,) = (tmp_path / "e" / STORE).iterdir()
    assert store.name.startswith(f"{sys.implementation.cache_tag}-")
    assert all(len(entry.name) == 64 and (entry / "index").exists() for entry in store.iterdir())


def test_bytecode_that_no_environment_links_to_is_removed(wheels: Path, tmp_path: Path) -> None:
    python, _, _ = build(tmp_path, "tiny")
    root, later = tmp_path / "e", time.time() + 60
    (stored,) = (root / STORE).glob("*/*")
    assert bytecode.clear(root, later) == 0 and stored.exists()  # linked
    assert built_environments.remove(Path(python).parent.parent)
    assert bytecode.clear(root, time.time() - 60) == 0 and stored.exists()  # young
    assert bytecode.clear(root, later) > 0
    assert not stored.exists()
