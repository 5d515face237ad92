from __future__ import annotations

import json

import pytest

from footplate.api.links import file_link
from footplate.server.auth import MAX_SPEC, Guard

P = "/api/v1"


async def echo(scope, receive, send):
    """Respond with 200 and the received body, so that a test sees what passed the guard."""
    body, more = b"", True
    while more:
        message = await receive()
        body, more = body + message.get("body", b""), message.get("more_body", False)
    await send({"type": "http.response.start", "status": 200, "headers": []})
    await send({"type": "http.response.body", "body": body})


@pytest.fixture
def guard(services):
    return Guard(echo, "the server's own".replace(" ", "-"), P, services)


OWN = "the-server's-own"


def test_the_servers_token_may_do_everything(guard, ask):
    assert ask(guard, "DELETE", "/anything", token=OWN).status == 200


@pytest.mark.parametrize("token", [None, "", "wrong", OWN + "x", "ünknown", "odd"])
def test_no_token_or_a_wrong_one_is_refused(guard, ask, token):
    reply = ask(guard, "GET", f"{P}/server", token=token)
    assert (reply.status, reply.json()["error"]["code"]) == (403, "not_allowed")
    assert "FOOTPLATE_TOKEN" in reply.json()["error"]["hint"]


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("GET", "/runs/mine"),
        ("POST", "/runs/mine/complete"),
        ("PUT", "/runs/mine/logs/a/b/../c.txt"),
        ("PATCH", "/runs/child"),
        ("POST", "/runs/grandchild/cancel"),
        ("PUT", "/blobs/abc"),
        ("POST", "/blobs/missing"),
        ("GET", "/workspaces/w1"),
        ("GET", "/workspaces/w1/models/m/3"),
        ("GET", "/workspaces/w1/datastores"),
        ("GET", "/workspaces/w1/datasets/d/latest"),
        ("GET", "/runs/mine/datastores/d"),
        ("GET", "/runs/mine/data"),
        ("POST", "/runs/mine/datasets"),
    ],
)
def test_a_runs_token_reaches(guard, ask, method, path):
    assert ask(guard, method, P + path, token="run-token").status == 200


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("GET", "/runs/other"),
        ("GET", "/runs/unknown"),
        ("POST", "/runs/other/cancel"),
        ("GET", "/runs/mine2"),
        ("GET", "/workspaces"),
        ("GET", "/workspaces/w2"),
        ("GET", "/workspaces/w10/runs"),
        ("POST", "/workspaces"),
        ("PUT", "/workspaces/w1/computes/c"),
        ("DELETE", "/workspaces/w1/models/m/3"),
        ("GET", "/server"),
        ("POST", "/server/stop"),
        ("DELETE", "/experiments/e"),
        ("POST", "/workspaces/w1/datastores/d/access"),
        ("PUT", "/workspaces/w1/datastores/d"),
        ("PUT", "/workspaces/w1/default-datastore"),
        ("DELETE", "/workspaces/w1/datasets/d"),
        ("GET", "/runs/other/data"),
        ("GET", "/runs/other/datastores/d"),
    ],
)
def test_a_runs_token_does_not_reach(guard, ask, method, path):
    reply = ask(guard, method, P + path, token="run-token")
    assert (reply.status, reply.json()["error"]["code"]) == (403, "not_allowed")
    assert path in reply.json()["error"]["message"]


def test_a_runs_token_does_not_reach_outside_the_api(guard, ask):
    assert ask(guard, "GET", "/xxxxxxx/runs/mine", token="run-token").status == 403


@pytest.mark.parametrize(("parent", "status"), [("mine", 200), ("child", 200), ("other", 403), (None, 403), (7, 403)])
def test_a_runs_token_submits_children_and_nothing_else(guard, ask, parent, status):
    body = json.dumps({"id": "new", "spec": {"experiment": "e", "parent": parent}}).encode()
    reply = ask(guard, "POST", f"{P}/workspaces/w1/runs", token="run-token", body=body)
    assert reply.status == status
    if status == 200:
        assert reply.body == body


@pytest.mark.parametrize(("run", "status"), [("mine", 200), ("child", 200), ("other", 403), (None, 403)])
@pytest.mark.parametrize("noun", ["models", "datasets"])
def test_a_runs_token_registers_its_own_objects_only(guard, ask, noun, run, status):
    body = json.dumps({"key": "k", "name": "n", "run": run}).encode()
    assert ask(guard, "POST", f"{P}/workspaces/w1/{noun}", token="run-token", body=body).status == status


@pytest.mark.parametrize("body", [b"", b"[]", b"{}", b'{"spec": 1}', b"\xff"])
def test_nonsense_is_not_a_child(guard, ask, body):
    assert ask(guard, "POST", f"{P}/workspaces/w1/runs", token="run-token", body=body).status == 403


def test_an_endless_spec_is_not_collected(guard, ask):
    reply = ask(guard, "POST", f"{P}/workspaces/w1/runs", token="run-token", body=b" " * (MAX_SPEC + 1))
    assert reply.status == 403


def test_a_signed_link_reads_one_file_and_nothing_else(guard, ask):
    query = file_link("", "mine", "logs/a b.txt", OWN).partition("?")[2]
    assert ask(guard, "GET", f"{P}/runs/mine/files/logs/a b.txt", query=query).status == 200
    for method, other in (("GET", "/runs/mine/files/logs/b.txt"), ("PUT", "/runs/mine/files/logs/a b.txt"),
                          ("GET", "/runs/mine"), ("GET", "/server")):  # fmt: skip
        assert ask(guard, method, P + other, query=query).status == 403
