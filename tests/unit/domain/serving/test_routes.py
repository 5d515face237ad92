"""The files between server, gateway and workers keep the keys that 0.1.0 writes and reads."""

from __future__ import annotations

import json
from dataclasses import fields
from typing import Any

from footplate.domain.codec import from_json, to_json
from footplate.domain.serving.endpoints import RequestLimits
from footplate.domain.serving.rollouts import VersionFigures
from footplate.domain.serving.routes import GatewayStatus, Routes, ServiceRoute, VersionRoute
from footplate.domain.serving.worker_config import ServedModel, WorkerConfig

LIMITS = {"body_bytes": 10, "timeout_seconds": 1.5, "queue": 3, "max_batch": 4}
SERVICE: dict[str, Any] = {
    "workspace": "w", "port": None, "auth": "key", "key_hashes": ["a", "b"], "token_key": None, "limits": LIMITS,
    "cors": ["*"], "tls": None, "collect": None, "collect_share": 0.0,
}  # fmt: skip


def test_routes_of_an_older_server_are_read() -> None:
    versions = {"1": {"weight": 100, "shadow": False, "sockets": ["s"]}, "2": {"tunnels": ["r"], "model_data": "m"}}
    routes = from_json(Routes, {"revision": 7, "services": {"line": {**SERVICE, "versions": versions}}})
    assert (routes.revision, routes.memory, list(routes.services)) == (7, None, ["line"])
    assert routes.services["line"].limits == RequestLimits(10, 1.5, 3, 4)
    assert routes.services["line"].versions == {
        "1": VersionRoute(sockets=("s",)),
        "2": VersionRoute(tunnels=("r",), model_data="m"),
    }


def test_an_older_gateway_can_read_the_routes() -> None:
    """The gateways of 0.1.0 pass the keys of a service on as arguments, so that an unknown one is an error."""
    services = {"line": ServiceRoute(limits=RequestLimits(10, 1.5, 3, 4), versions={"1": VersionRoute()})}
    written = json.loads(json.dumps(to_json(Routes(1, 2, services))))
    assert set(written) == {"revision", "memory", "services"}
    assert set(written["services"]["line"]) == {*SERVICE, "versions"}
    assert written["services"]["line"]["limits"] == LIMITS


def test_a_status_is_read_as_it_is_written() -> None:
    status = GatewayStatus(1.0, 2, 3, {"line": {"1": VersionFigures(healthy=2, p99_seconds=0.5)}}, [8080])
    written = json.loads(json.dumps(to_json(status)))
    assert written["services"]["line"]["1"]["healthy"] == 2
    assert from_json(GatewayStatus, written) == status
    assert status.figures("line", 1) == VersionFigures(healthy=2, p99_seconds=0.5)
    assert status.figures("line", 2) is None and status.figures("curve", 1) is None


def test_a_configuration_is_read_as_it_is_written() -> None:
    model = ServedModel("line", 1, "/models/line.pkl", "ScikitLearn", "1.5", {"inputs": []})
    config = WorkerConfig("s", "1", "w", "s/g/w", (model,), "score.py", ".", "src", "/app", {"gpus": 1}, "/data", "x")
    assert set(json.loads(config.encode())) == {field.name for field in fields(WorkerConfig)}
    assert WorkerConfig.decode(config.encode(), "/elsewhere") == config


def test_relative_paths_of_a_configuration_begin_at_its_folder() -> None:
    text = {"service": "s", "version": "1", "model_root": "", "models": [{"name": "m", "version": 1, "path": "a/m"}]}
    config = WorkerConfig.decode(json.dumps(text).encode(), "/packed")
    assert (config.models[0].path, config.model_root) == ("/packed/a/m", "/packed/")
    assert WorkerConfig.decode(b'{"service": "s", "version": "1"}', "/packed").model_root is None
