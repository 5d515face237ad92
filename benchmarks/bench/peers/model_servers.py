"""Servers of models beside ours: MLflow's, LitServe and mosec, in an environment of their own that is built once."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

import psutil

from bench.harness import wait_for
from footplate.domain.specs import EnvironmentSpec
from footplate.environments.base import ResolverSettings
from footplate.environments.venv import VenvBuilder

PACKAGES = (
    "mlflow==3.17.2", "litserve==0.2.19", "mosec==0.9.8", "onnx==1.23.2", "onnxruntime==1.31.1", "lightgbm==4.7.0",
    "scikit-learn==1.9.1", "numpy==2.4.6",
)  # fmt: skip
JOBS = Path(__file__).resolve().parent.parent / "jobs"
ROOT = Path(__file__).resolve().parent.parent.parent / ".peers"


def peers_python() -> Path:
    """Return the interpreter of the peers; the first call builds their environment."""
    python = f"{sys.version_info.major}.{sys.version_info.minor}"
    builder = VenvBuilder()
    spec = EnvironmentSpec(builder="venv", python=python, requirements=PACKAGES)
    lock = builder.lock(spec, ResolverSettings(ROOT), _quiet)
    return Path(builder.build(lock, ROOT, _quiet).argv[0])


def mlflow_command(python: Path, models: Path, model: str, port: int, workers: int) -> list[str]:
    return [
        str(python.parent / "mlflow"), "models", "serve", "--model-uri", str(models / f"mlflow-{model}"),
        "--env-manager", "local", "--host", "127.0.0.1", "--port", str(port), "--workers", str(workers),
    ]  # fmt: skip


def litserve_command(python: Path, models: Path, model: str, port: int, batch_seconds: float) -> list[str]:
    return [str(python), str(JOBS / "serve_litserve.py"), model, str(models), str(port), str(batch_seconds)]


def mosec_command(python: Path, models: Path, model: str, port: int) -> list[str]:
    job, address = str(JOBS / "serve_mosec.py"), ["--address", "127.0.0.1", "--port", str(port)]
    return [str(python), job, model, str(models), *address, "--log-level", "error"]


@contextmanager
def serving(command: list[str], port: int, log: Path, python: Path) -> Iterator[psutil.Process]:
    """Run a server until its port accepts; at the end, stop it with all its children."""
    environment = {**os.environ, "PATH": os.pathsep.join([str(python.parent), os.environ["PATH"]])}
    with log.open("wb") as file:
        process = subprocess.Popen(command, stdout=file, stderr=file, env=environment, start_new_session=True)

    def accepts() -> bool | None:
        if process.poll() is not None:
            raise RuntimeError(f"{command[0]} ended with {process.returncode}: {log.read_text()[-1000:]}")
        with socket.socket() as probe:
            return True if probe.connect_ex(("127.0.0.1", port)) == 0 else None

    try:
        wait_for(f"a server ({log})", accepts, 120, 0.1)
        yield psutil.Process(process.pid)
    finally:
        family = psutil.Process(process.pid).children(recursive=True) if process.poll() is None else []
        send(signal.SIGCONT, family)
        process.send_signal(signal.SIGCONT)
        process.send_signal(signal.SIGTERM)
        _, left = psutil.wait_procs(family, 10)
        for child in left:
            child.kill()
        try:
            process.wait(10)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def family_of(processes: Sequence[psutil.Process]) -> list[psutil.Process]:
    """Return the processes with all that they started."""
    return [each for process in processes for each in (process, *process.children(recursive=True))]


@contextmanager
def awake(processes: Sequence[psutil.Process]) -> Iterator[None]:
    """Let the processes of a server run, and suspend them at the end: an idle LitServe polls all the time."""
    send(signal.SIGCONT, family_of(processes))
    try:
        yield
    finally:
        send(signal.SIGSTOP, family_of(processes))


def send(number: signal.Signals, processes: Sequence[psutil.Process]) -> None:
    for process in processes:
        with suppress(psutil.NoSuchProcess):
            process.send_signal(number)


def _quiet(_line: str) -> None:
    pass
