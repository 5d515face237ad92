"""`python -m footplate.serving.standalone FOLDER`: serve a package of models without a server, as its image does.

    package.json          the service: its models, its script, its variables
    azureml-models/       the models, as NAME/VERSION/…
    source/               the folder of the entry script, if there is one

One worker and one gateway start. The process ends with the first of them that ends; whoever started it restarts it.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

from footplate.domain.codec import from_json, to_json
from footplate.domain.serving.routes import Routes, ServiceRoute, VersionRoute
from footplate.domain.serving.worker_config import WorkerConfig

PORT = 5001
LOOK_SECONDS = 0.2
STOP_SECONDS = 35.0  # a little longer than the gateway drains


def configurations(folder: Path, package: dict[str, Any], home: Path, port: int) -> tuple[WorkerConfig, Routes]:
    """Return the configuration of the worker and the routes of the gateway for the package in `folder`."""
    socket = str(home / "worker.sock")
    models = [
        {**model, "path": str(folder / "azureml-models" / model["name"] / str(model["version"]) / model["root"])}
        for model in package["models"]
    ]
    worker = replace(
        from_json(WorkerConfig, {**package, "version": "1", "models": models}),
        socket=socket,
        source=str(folder / "source") if package["entry_script"] else None,
        model_root=str(folder),
    )
    service = ServiceRoute(package["workspace"], port, versions={"1": VersionRoute(sockets=(socket,))})
    return worker, Routes(1, services={package["service"]: service})


def serve(folder: Path, host: str, port: int, python: str) -> int:
    """Start both processes, the worker under `python`, and wait for the first end or a signal; return the exit code."""
    with tempfile.TemporaryDirectory(prefix="footplate-") as name:
        home = Path(name) / "serving"
        home.mkdir()
        package: dict[str, Any] = json.loads((folder / "package.json").read_text(encoding="utf-8"))
        worker, routes = configurations(folder, package, home, port)
        (home / "worker.json").write_bytes(worker.encode())
        (home / "routes.json").write_text(json.dumps(to_json(routes)), encoding="utf-8")
        module = [python, "-m", "footplate.serving.worker", str(home / "worker.json")]
        variables = {**os.environ, **package["variables"]}
        processes = [subprocess.Popen(module, cwd=worker.source or folder, env=variables)]
        gateway = [sys.executable, "-m", "footplate.serving.gateway", "--home", name, "--host", host]
        processes.append(subprocess.Popen(gateway))
        try:
            return _first_end(processes)
        finally:
            _stop(processes)


def _first_end(processes: list[subprocess.Popen[bytes]]) -> int:
    while True:
        ended = [code for code in (process.poll() for process in processes) if code is not None]
        if ended:
            return ended[0] or 1  # neither of them ends by itself
        time.sleep(LOOK_SECONDS)


def _stop(processes: list[subprocess.Popen[bytes]]) -> None:
    """Stop the gateway first: it answers what it has taken."""
    for process in reversed(processes):
        process.terminate()
        try:
            process.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m footplate.serving.standalone")
    parser.add_argument("folder", type=Path)
    parser.add_argument("--host", default="0.0.0.0")
    parser.add_argument("--port", default=PORT, type=int)
    parser.add_argument("--python", default=sys.executable, help="the interpreter of the worker")
    options = parser.parse_args(arguments)
    signal.signal(signal.SIGTERM, _exit)
    return serve(options.folder.absolute(), options.host, options.port, options.python)


def _exit(*_: Any) -> None:
    sys.exit(0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
