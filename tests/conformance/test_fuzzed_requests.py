"""Requests that schemathesis generates from the OpenAPI document: no 5xx, and every answer is as the document says.

The number of cases and their choice are fixed, so a failure repeats. One half of the requests are valid by the
document and the other half are not; one half name a workspace, a run and an experiment that exist.
"""

from __future__ import annotations

import json
import urllib.error
import urllib.request
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from schemathesis import checks
from schemathesis.generation import GenerationMode

from footplate.api import PREFIX, ApiClient
from footplate.client.transport import Transport
from footplate.domain.specs import RunSpec
from footplate.server.app import create_app
from footplate.server.hub import Hub
from support.servers import TeamServer

CASES = 20
SECONDS = 60.0
"""The limit on one answer. Long polls are cut short, so only a server that hangs takes that long."""

LEFT_OUT = ("stop_server", "switch_server_key", "resolve_lock", "build_lock", "follow_changes")
"""These would end the server under test or lock us out of it, download packages, or answer without an end."""

FILES = "/workspaces/{workspace}/datastores/workspaceblobstore/files"
CHECKS = [
    checks.not_a_server_error,
    checks.status_code_conformance,
    checks.content_type_conformance,
    checks.response_headers_conformance,
    checks.response_schema_conformance,
    checks.negative_data_rejection,
]

document = create_app(SimpleNamespace(), Hub(), None).openapi()  # type: ignore[arg-type]
operations = [
    found.ok()  # type: ignore[union-attr]
    for found in schemathesis.openapi.from_dict(document).exclude(operation_id=list(LEFT_OUT)).get_all_operations()
]


@pytest.fixture(scope="module")
def server() -> Iterator[TeamServer]:
    server = TeamServer()
    yield server
    server.stop()


@pytest.fixture(scope="module")
def known(server: TeamServer) -> dict[str, str]:
    """Return path parameters that name something on the server."""
    api = ApiClient(Transport(server.address, server.TOKEN))
    workspace = api.workspaces.create("known", "s", "g")
    run = api.runs.submit(workspace.id, "known", RunSpec("known", kind="interactive"))
    return {"workspace": workspace.id, "run": run.id, "experiment": run.experiment, "node": "0"}


def send(server: TeamServer, method: str, path: str, body: bytes | None = None) -> tuple[int, bytes]:
    headers = {"Authorization": f"Bearer {server.TOKEN}", "Content-Type": "application/json"}
    request = urllib.request.Request(f"{server.address}{PREFIX}{path}", body, headers, method=method)
    try:
        with urllib.request.urlopen(request, timeout=SECONDS) as answer:
            return answer.status, answer.read()
    except urllib.error.HTTPError as error:
        return error.code, error.read()


@pytest.mark.parametrize(
    ("method", "path", "body", "status", "reason"),
    [
        ("POST", "/runs/{run}/nodes/0/stacks", '{"key": "k", "processes": null}', 400, "body.processes is None"),
        ("POST", "/workspaces", "[" * 100_000, 400, "error parsing the body"),
        ("POST", "/workspaces", '{"name":' * 300 + "1" + "}" * 300, 400, "deeper than 100 levels"),
        ("POST", "/blobs/missing", json.dumps({"digests": ["0" * 64] * 5001}), 400, "at most 5000 items"),
        (
            "GET",
            "/workspaces/{workspace}/datastores/workspaceblobstore/files?prefix=..",
            None,
            400,
            "leaves its folder",
        ),
        ("GET", FILES + "?prefix=%00", None, 400, "NUL character"),
    ],
    ids=["null-stacks", "deep", "rather-deep", "many-digests", "prefix-outside", "prefix-with-nul"],
)
def test_requests_that_once_broke_the_server_are_refused(
    server: TeamServer, known: dict[str, str], method: str, path: str, body: str | None, status: int, reason: str
) -> None:
    found, answer = send(server, method, path.format_map(known), None if body is None else body.encode())
    assert found == status, answer
    assert reason in json.loads(answer)["error"]["message"]


def shorten_wait(part: Any) -> None:
    if isinstance(part, dict) and isinstance(part.get("wait"), (int, float)):
        part["wait"] = min(part["wait"], 0.01)


@pytest.mark.parametrize("operation", operations, ids=lambda operation: operation.label)
def test_every_answer_is_as_documented(operation: Any, server: TeamServer, known: dict[str, str]) -> None:
    headers = {"Authorization": f"Bearer {server.TOKEN}"}
    kinds = st.one_of(*(operation.as_strategy(generation_mode=mode) for mode in GenerationMode))  # type: ignore[attr-defined]

    @given(case=kinds, exists=st.booleans())
    @settings(
        max_examples=CASES,
        derandomize=True,
        database=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),  # type: ignore[arg-type]
    )
    def answers_as_documented(case: schemathesis.Case, exists: bool) -> None:
        shorten_wait(case.query)
        shorten_wait(case.body)
        if exists:
            case.path_parameters.update({name: known[name] for name in case.path_parameters if name in known})
        case.call_and_validate(base_url=server.address, headers=headers, timeout=SECONDS, checks=CHECKS)

    answers_as_documented()
