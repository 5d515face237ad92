"""torch with CUDA from one index, and builds for CPUs from another, as PyPI and PyTorch's own index have them."""

from __future__ import annotations

import json
import sys
import threading
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from footplate import environments
from footplate.domain.locks import packages
from footplate.domain.node_kinds import NodeKind
from footplate.domain.orders import Lock
from footplate.domain.specs import EnvironmentSpec
from footplate.environments.base import ResolverSettings
from footplate.environments.python_choice import DAY
from support.wheels import make_wheel

RELEASED = "2024-01-01T00:00:00Z"
PYTHON = f"{sys.version_info.major}.{sys.version_info.minor}"


def publish(index: Path, name: str, version: str, needs: tuple[str, ...] = ()) -> None:
    """Add a wheel to a simple index in a folder."""
    folder = index / name
    make_wheel(folder, name.replace("-", "_"), version, needs)
    links = [f'<a href="{wheel.name}">{wheel.name}</a><br>' for wheel in sorted(folder.glob("*.whl"))]
    (folder / "index.html").write_text("<!DOCTYPE html><html><body>" + "\n".join(links) + "</body></html>")


@pytest.fixture
def pypi(wheels: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    index = tmp_path / "pypi"
    publish(index, "nvidia-cublas", "12.0")
    publish(index, "torch", "2.2.2", ("nvidia-cublas",))
    publish(index, "torch", "1.10.0")
    publish(index, "numpy", "1.26.0")
    publish(index, "lightning", "1.0", ("torch==2.2.2",))
    monkeypatch.delenv("PIP_NO_INDEX")
    monkeypatch.setenv("PIP_INDEX_URL", index.as_uri())
    return index


@pytest.fixture
def cpu_index(tmp_path: Path) -> Path:
    index = tmp_path / "cpu"
    for version in ("2.2.2+cpu", "1.10.0+cpu"):
        publish(index, "torch", version)
    publish(index, "numpy", "1.20.0")  # PyTorch's index has old copies of other packages
    return index


def settings(tmp_path: Path, index: str) -> ResolverSettings:
    return ResolverSettings(tmp_path / "e", cpu_builds=True, torch_cpu_index=index)


def lock(rules: ResolverSettings, *lines: str, **options: str) -> Lock:
    spec = EnvironmentSpec(builder="venv", python=PYTHON, requirements=lines, options=options)
    return environments.resolve(spec, rules, lambda _: None)


@pytest.mark.usefixtures("pypi")
@pytest.mark.parametrize(
    ("line", "version"), [("torch==2.2.2", "2.2.2"), ("lightning", "2.2.2"), ("torch==1.10.0", "1.10.0")]
)
def test_cpu_builds_come_from_their_index(line: str, version: str, cpu_index: Path, tmp_path: Path) -> None:
    rules = settings(tmp_path, cpu_index.as_uri())
    found = lock(rules, line, "numpy")
    assert packages(found)["torch"] == f"{version}+cpu" and "nvidia-cublas" not in packages(found)
    assert packages(found)["numpy"] == "1.26.0"
    assert found.warnings == (
        f"this machine has no GPU: the CPU build of torch {version} is installed from {cpu_index.as_uri()}",
    )
    folder = environments.load("venv").build(found, rules.root, lambda _: None).variables["VIRTUAL_ENV"]
    assert list(Path(folder).glob("lib/python*/site-packages/torch-*+cpu.dist-info"))


class _DatedIndex(BaseHTTPRequestHandler):
    """A folder as an index that tells the days of releases, as PyPI does."""

    folder: Path

    def do_GET(self) -> None:
        place = self.folder / self.path.strip("/")
        if place.is_file():
            self._answer(place.read_bytes(), "application/octet-stream")
        elif place.is_dir():
            files = [
                {"filename": wheel.name, "url": f"/{place.name}/{wheel.name}", "hashes": {}, "upload-time": RELEASED}
                for wheel in place.glob("*.whl")
            ]
            about = {"meta": {"api-version": "1.1"}, "name": place.name, "files": files}
            self._answer(json.dumps(about).encode(), "application/vnd.pypi.simple.v1+json")
        else:
            self.send_error(404)

    def _answer(self, body: bytes, kind: str) -> None:
        self.send_response(200)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *arguments: object) -> None:
        """Print nothing."""


def test_the_day_of_a_curated_environment_admits_cpu_builds(
    pypi: Path, cpu_index: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    handler = type("Handler", (_DatedIndex,), {"folder": pypi})
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever).start()
        try:
            monkeypatch.setenv("PIP_INDEX_URL", f"http://127.0.0.1:{server.server_port}")
            found = lock(settings(tmp_path, cpu_index.as_uri()), "torch==2.2.2", "numpy", **{DAY: "2024-06-30"})
        finally:
            server.shutdown()
    assert packages(found)["torch"] == "2.2.2+cpu" and packages(found)["numpy"] == "1.26.0"


@pytest.mark.usefixtures("pypi")
def test_a_cpu_build_for_a_cluster_is_explained_with_its_nodes(cpu_index: Path, tmp_path: Path) -> None:
    kind = NodeKind("x86_64", "2.36", pythons={sys.executable: f"{PYTHON}.0"})
    rules = replace(settings(tmp_path, cpu_index.as_uri()), node=kind)
    spec = EnvironmentSpec(builder="venv", python=PYTHON, requirements=("torch==2.2.2",))
    said: list[str] = []
    found = environments.resolve(spec, rules, said.append)
    cluster = "the nodes of this compute target have no GPU"
    assert found.warnings[0].startswith(f"{cluster}: the CPU build of torch 2.2.2 is installed from")
    assert f"torch 2.2.2 contains CUDA, and {cluster}: looking for a CPU build" in said


@pytest.mark.usefixtures("pypi")
def test_a_missing_index_is_reported_and_cuda_stays(tmp_path: Path) -> None:
    for index, why in (
        ("", "names no index"),
        ((tmp_path / "none").as_uri(), "is not a directory"),
        ("http://127.0.0.1:9/whl", "cannot be reached"),
    ):
        found = lock(settings(tmp_path, index), "torch==2.2.2")
        assert packages(found)["torch"] == "2.2.2" and "nvidia-cublas" in packages(found)
        (warning,) = found.warnings
        assert warning.startswith("torch 2.2.2 is installed with CUDA") and why in warning


@pytest.mark.usefixtures("pypi")
def test_an_index_without_the_version_is_reported(cpu_index: Path, tmp_path: Path) -> None:
    publish(tmp_path / "pypi", "torch", "2.9.0", ("nvidia-cublas",))
    found = lock(settings(tmp_path, cpu_index.as_uri()), "torch==2.9.0")
    assert found.warnings[0].endswith(f"and {cpu_index.as_uri()} has none of this version")


@pytest.mark.usefixtures("pypi")
def test_machines_with_gpus_keep_cuda(cpu_index: Path, tmp_path: Path) -> None:
    found = lock(replace(settings(tmp_path, cpu_index.as_uri()), cpu_builds=False), "torch==2.2.2")
    assert "nvidia-cublas" in packages(found) and found.warnings == ()


@pytest.mark.usefixtures("pypi")
def test_a_line_with_an_extra_index_finds_the_best_version_of_all(cpu_index: Path, tmp_path: Path) -> None:
    found = lock(settings(tmp_path, ""), f"--extra-index-url {cpu_index.as_uri()}", "numpy==1.26.0")
    assert packages(found)["numpy"] == "1.26.0"
