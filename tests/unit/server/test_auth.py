from __future__ import annotations

import pytest

from footplate.api.links import file_link, sign
from footplate.server.app import create_app
from footplate.server.hub import Hub

P = "/api/v1"
OWN = "the-server's-own"


@pytest.fixture
def tcp(services):
    return create_app(services, Hub(), OWN)


@pytest.fixture
def socket(services):
    return create_app(services, Hub(), None)


def test_the_servers_token_belongs_to_the_owner(tcp, ask):
    assert ask(tcp, "GET", f"{P}/server", token=OWN).status == 200
    assert ask(tcp, "POST", f"{P}/server/stop", token=OWN).status == 202


@pytest.mark.parametrize("token", [None, "", "wrong", OWN + "x", "ünknown"])
def test_no_token_or_a_wrong_one_is_refused_over_tcp(tcp, ask, token):
    for path in (f"{P}/server", f"{P}/nowhere", "/api/openapi.json"):
        reply = ask(tcp, "GET", path, token=token)
        assert (reply.status, reply.json()["error"]["code"]) == (403, "not_allowed")
        assert "FOOTPLATE_TOKEN" in reply.json()["error"]["hint"]


def test_a_process_of_the_owner_needs_no_token_on_the_socket(socket, ask):
    for token in (None, "of-another-server"):
        assert ask(socket, "POST", f"{P}/server/stop", token=token).status == 202


def test_a_runs_token_makes_a_request_of_the_owner_one_of_the_run(socket, ask):
    reply = ask(socket, "POST", f"{P}/server/stop", token="run-token")
    assert (reply.status, reply.json()["error"]["code"]) == (403, "not_allowed")
    assert reply.json()["error"]["hint"] == "a run has this right on nothing"


@pytest.mark.parametrize("token", [None, "expired"])
def test_a_process_of_a_run_is_not_the_owner(socket, ask, token, monkeypatch):
    monkeypatch.setattr("footplate.server.peers.Peer.refusal", lambda *_: "process 7 belongs to run mine")
    reply = ask(socket, "GET", f"{P}/server", token=token)
    assert reply.status == 403
    assert "process 7 belongs to run mine" in reply.json()["error"]["message"]
    assert ask(socket, "GET", f"{P}/server", token="run-token").status == 200


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("GET", "/runs/far"),
        ("GET", "/runs/unknown"),
        ("POST", "/runs/other/cancel"),
        ("GET", "/runs/mine2"),
        ("POST", "/runs/child/nodes/0/heartbeat"),
        ("GET", "/runs/child/data"),
        ("GET", "/runs/above/datastores/d"),
        ("GET", "/workspaces/w2"),
        ("GET", "/workspaces/w10/runs"),
        ("GET", "/workspaces/w2/secrets/key"),
        ("GET", "/workspaces/w2/datastores/d/files/a"),
        ("GET", "/workspaces/w1/datastores/private/files/a"),
        ("POST", "/workspaces/w1/datastores/d/access"),
    ],
)
def test_a_runs_token_does_not_reach(tcp, ask, method, path):
    assert ask(tcp, method, P + path, token="run-token").status == 403


RUN_TOKEN = f"mine.1.{'0f' * 32}"


def test_a_link_that_a_run_signed_reaches_what_the_run_may_read(tcp, services, ask):
    services.tokens.known[RUN_TOKEN] = "mine"
    for run, is_read in (("mine", True), ("child", True), ("far", False)):
        query = file_link("", run, "logs/a.txt", RUN_TOKEN).partition("?")[2]
        assert (ask(tcp, "GET", f"{P}/runs/{run}/files/logs/a.txt", query=query).status != 403) is is_read
        assert ask(tcp, "GET", f"{P}/runs/{run}/files/logs/b.txt", query=query).status == 403
        assert ask(tcp, "GET", f"{P}/server", query=query).status == 403
    query = file_link("", "mine", "logs/a.txt", f"other.1.{'0f' * 32}").partition("?")[2]
    assert ask(tcp, "GET", f"{P}/runs/mine/files/logs/a.txt", query=query).status == 403
    services.tokens.known.clear()  # the run has ended
    query = file_link("", "mine", "logs/a.txt", RUN_TOKEN).partition("?")[2]
    assert ask(tcp, "GET", f"{P}/runs/mine/files/logs/a.txt", query=query).status == 403


@pytest.mark.parametrize(("person", "is_read"), [("reader", True), ("reader-of-all", True), ("elsewhere", False)])
def test_a_link_that_a_person_signed_reads_what_the_person_may_read(tcp, ask, person, is_read):
    def query(key: str, token_id: str) -> str:
        return file_link("", "mine", "logs/a.txt", key, token_id=token_id).partition("?")[2]

    own = query(f"key of id-{person}", f"id-{person}")
    assert (ask(tcp, "GET", f"{P}/runs/mine/files/logs/a.txt", query=own).status != 403) is is_read
    for method, path in (("GET", "/runs/mine/files/logs/b.txt"), ("GET", "/whoami"), ("POST", "/runs/mine/cancel")):
        assert ask(tcp, method, P + path, query=own).status == 403
    for forged in (query(f"fpt_{person}", f"id-{person}"), query("key of id-unknown", "id-unknown"), query("", "")):
        assert ask(tcp, "GET", f"{P}/runs/mine/files/logs/a.txt", query=forged).status == 403


def test_a_signed_link_reads_one_file_and_nothing_else(tcp, ask):
    query = file_link("", "mine", "logs/a b.txt", OWN).partition("?")[2]
    assert ask(tcp, "GET", f"{P}/runs/mine/files/logs/a b.txt", query=query).status != 403
    for method, other in (("GET", "/runs/mine/files/logs/b.txt"), ("PUT", "/runs/mine/files/logs/a b.txt"),
                          ("GET", "/runs/mine"), ("GET", "/server")):  # fmt: skip
        assert ask(tcp, method, P + other, query=query).status == 403
    expires = 2**40
    signed = f"expires={expires}&signature={sign(f'{P}/server', expires, OWN)}"
    assert ask(tcp, "GET", f"{P}/server", query=signed).status == 403
