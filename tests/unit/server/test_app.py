from __future__ import annotations

import errno
import json
import logging

import pytest
from fastapi import FastAPI

from footplate import __version__
from footplate.errors import Conflict
from footplate.server.app import About, create_app
from footplate.server.gate import Gate
from footplate.server.hub import Hub

P = "/api/v1"


@pytest.fixture
def app(services) -> FastAPI:
    app = create_app(services, Hub(), None, about=About(database="sqlite"))

    @app.get("/fails/{how}")
    def fails(how: str, count: int = 0):
        if how == "conflict":
            raise Conflict("taken", "choose another")
        if how == "full":
            raise OSError(errno.ENOSPC, "No space left on device")
        raise RuntimeError("a secret detail")

    return app


def test_server_describes_itself(app, ask, services):
    services.active = 3
    told = ask(app, "GET", f"{P}/server").json()
    assert told.pop("started") > 0
    assert told.pop("pid") > 0
    assert told == {
        "version": __version__,
        "home": str(services.home),
        "blobs": str(services.home / "blobs"),
        "database": "sqlite",
        "active_runs": 3,
        "page": None,
    }


def test_tcp_requires_the_token_and_hides_the_blobs_folder(services, ask):
    app = create_app(services, Hub(), "secret")
    assert ask(app, "GET", f"{P}/server").status == 403
    assert ask(app, "GET", "/api/openapi.json").status == 403
    assert ask(app, "GET", f"{P}/server", token="secret").json()["blobs"] is None


def test_stop_stops_the_process(services, ask):
    asked: list[int] = []
    app = create_app(services, Hub(), None, gate=Gate(lambda: asked.append(1)))
    assert ask(app, "POST", f"{P}/server/stop").status == 202
    assert asked == [1]


def test_our_errors_keep_their_form(app, ask):
    reply = ask(app, "GET", "/fails/conflict")
    assert reply.status == 409
    assert reply.json()["error"] == {"code": "conflict", "message": "taken", "hint": "choose another", "details": {}}


def test_invalid_parameters_are_named_with_their_value(app, ask):
    reply = ask(app, "GET", "/fails/x", query="count=many")
    error = reply.json()["error"]
    assert (reply.status, error["code"], error["details"]) == (400, "invalid", {"field": "query.count"})
    assert "query.count is 'many'" in error["message"]


@pytest.mark.parametrize(
    ("method", "path", "status", "code"),
    [
        ("GET", "/nowhere", 404, "not_found"),
        ("GET", f"{P}/server/", 404, "not_found"),
        ("PUT", f"{P}/server", 405, "invalid"),
    ],
)
def test_wrong_paths_and_methods_have_the_same_form_of_error(app, ask, method, path, status, code):
    reply = ask(app, method, path)
    error = reply.json()["error"]
    assert (reply.status, error["code"]) == (status, code)
    assert f"{method} {path}" in error["message"]
    assert error["hint"]


def test_internal_errors_are_logged_and_reported_by_number(app, ask, caplog):
    caplog.set_level(logging.ERROR)
    reply = ask(app, "GET", "/fails/unexpectedly")
    error = reply.json()["error"]
    assert (reply.status, error["code"]) == (500, "broken")
    assert b"secret" not in reply.body
    assert f"incident {error['details']['incident']}" in caplog.text
    assert "a secret detail" in caplog.text
    assert len(caplog.records) == 1


def test_full_disk_is_reported_as_such(app, ask):
    reply = ask(app, "GET", "/fails/full")
    assert (reply.status, reply.json()["error"]["code"]) == (507, "out_of_space")


def test_openapi_document_has_our_names_and_errors(app, ask):
    document = ask(app, "GET", "/api/openapi.json").json()
    operations = [o for path in document["paths"].values() for o in path.values()]
    names = [o["operationId"] for o in operations]
    assert {"get_server", "stop_server", "submit_run", "list_runs", "put_blob"} <= set(names)
    assert len(names) == len(set(names))
    assert all("422" not in o["responses"] and "default" in o["responses"] for o in operations)
    assert "HTTPValidationError" not in json.dumps(document)
    assert document["info"] == {"title": "Footplate", "version": __version__}


def test_no_page_loads_scripts_from_another_host(app, ask):
    assert [ask(app, "GET", path).status for path in ("/docs", "/redoc", "/api/docs")] == [404] * 3
