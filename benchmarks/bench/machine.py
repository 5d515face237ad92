"""The machine that was measured, and the environment variables that all contestants share."""

from __future__ import annotations

import os
import platform
import shutil
import socket
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import metadata
from pathlib import Path

_FOREIGN = ("FOOTPLATE_", "AZUREML_", "MLFLOW_", "RAY_")


def clean_environment(environment: dict[str, str]) -> dict[str, str]:
    """Remove settings of earlier sessions, and permit bytecode: without it, every start parses all sources."""
    kept = {key: value for key, value in environment.items() if not key.startswith(_FOREIGN)}
    kept.pop("PYTHONDONTWRITEBYTECODE", None)
    kept.pop("PYTHONPATH", None)
    here = str(Path(sys.executable).parent)
    kept["PATH"] = os.pathsep.join([here, kept.get("PATH", os.defpath)])
    kept["GIT_PYTHON_REFRESH"] = "quiet"  # MLflow warns about git through it
    kept["MLFLOW_DISABLE_TELEMETRY"] = "true"
    kept["MLFLOW_LOGGING_LEVEL"] = "ERROR"
    kept["RAY_AUTH_MODE"] = "disabled"  # a token file in the home folder would turn it on silently
    kept["RAY_USAGE_STATS_ENABLED"] = "0"
    return kept


def describe() -> dict[str, str]:
    packages = {name: metadata.version(name) for name in ("footplate", "mlflow", "ray", "tensorboardx")}
    return {
        "cores": str(os.cpu_count()),
        "load": f"{os.getloadavg()[0]:.2f}",
        "python": platform.python_version(),
        "kernel": platform.release(),
        **packages,
    }


def tool(name: str) -> str:
    """Return the path of a program of this environment."""
    return str(Path(sys.executable).parent / name)


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@contextmanager
def temporary_folder() -> Iterator[Path]:
    """Provide a folder with a short path, because the path of a Unix socket is limited."""
    folder = Path(tempfile.mkdtemp(prefix="fpb-"))
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
