"""Requests of browsers: sessions, foreign hosts and origins, and the headers of answers."""

from __future__ import annotations

import pytest

from footplate.server.app import create_app
from footplate.server.browser import BrowserRules, hosts_of
from footplate.server.hub import Hub

P = "/api/v1"
HOST = "127.0.0.1:8931"
PROOF = {"host": HOST, "cookie": "other=1; footplate-test=good-cookie", "x-footplate-page": "good-secret"}


@pytest.fixture
def page(services):
    rules = BrowserRules(frozenset([HOST]), services.sessions.cookie_name, only_browsers=True)
    return create_app(services, Hub(), None, browser=rules)


@pytest.fixture
def team(services):
    return create_app(services, Hub(), "own", browser=BrowserRules(frozenset([HOST]), services.sessions.cookie_name))


def test_cookie_and_secret_together_are_the_owner(page, team, ask):
    for app in (page, team):
        assert ask(app, "GET", f"{P}/server", headers=PROOF).status == 200


@pytest.mark.parametrize("missing", ["cookie", "x-footplate-page"])
def test_half_a_proof_opens_nothing(page, team, ask, missing):
    half = {name: value for name, value in PROOF.items() if name != missing}
    for app in (page, team):
        assert ask(app, "GET", f"{P}/server", headers=half).status == 403


@pytest.mark.parametrize("change", [{"cookie": "footplate-test=bad"}, {"x-footplate-page": "bad"}])
def test_a_wrong_half_opens_nothing(page, ask, change):
    reply = ask(page, "GET", f"{P}/server", headers={**PROOF, **change})
    assert reply.status == 403
    assert "footplate ui" in reply.json()["error"]["hint"]


@pytest.mark.parametrize("token", ["run-token", "own", "wrong"])
def test_tokens_open_nothing_on_the_port_of_the_page(page, ask, token):
    """A program of a run, or of another user of the machine, can reach the port."""
    assert ask(page, "GET", f"{P}/server", token=token, headers={"host": HOST}).status == 403


def test_a_run_begins_no_session(team, ask):
    reply = ask(team, "POST", f"{P}/session", token="run-token", body=b"{}", headers={"host": HOST})
    assert reply.status == 403


@pytest.mark.parametrize("host", ["evil.example", "127.0.0.1", "127.0.0.1:8932", "127.0.0.1.evil.example:8931", ""])
@pytest.mark.parametrize("method", ["GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS"])
def test_a_foreign_host_is_refused_with_every_method(page, ask, host, method):
    for path in (f"{P}/server", f"{P}/session", f"{P}/nowhere", "/api/openapi.json", "/", "/sign-in"):
        assert ask(page, method, path, headers={**PROOF, "host": host}).status in (403, 405)


@pytest.mark.parametrize(
    "change",
    [
        {"origin": "http://evil.example"},
        {"origin": "null"},
        {"origin": "http://127.0.0.1:8932"},
        {"sec-fetch-site": "cross-site"},
        {"sec-fetch-site": "same-site"},
    ],
)
def test_requests_of_other_sites_are_refused(page, team, ask, change):
    for app in (page, team):
        for method, path in (("POST", "/server/stop"), ("GET", "/server"), ("POST", "/session")):
            reply = ask(app, method, P + path, headers={**PROOF, **change})
            assert reply.status == 403, (method, path)


def test_the_own_origin_is_allowed(page, ask):
    headers = {**PROOF, "origin": f"http://{HOST}", "sec-fetch-site": "same-origin"}
    assert ask(page, "POST", f"{P}/server/stop", headers=headers).status == 202


def test_files_of_runs_cannot_act_as_a_page(page, ask):
    headers = ask(page, "GET", f"{P}/runs/mine/files/report.html", headers=PROOF).headers
    assert headers["content-security-policy"].startswith("sandbox;")
    assert headers["x-content-type-options"] == "nosniff"


def test_the_page_allows_no_inline_script_no_other_host_and_no_frame(page, ask):
    reply = ask(page, "GET", "/", headers={"host": HOST})
    policy = reply.headers["content-security-policy"]
    assert reply.status == 200
    assert "default-src 'none'" in policy and "script-src 'self';" in policy and "frame-ancestors 'none'" in policy
    assert "unsafe" not in policy and "http" not in policy
    assert reply.headers["x-frame-options"] == "DENY"


@pytest.mark.parametrize("path", ["/../../etc/passwd", "/assets/../../app.py", "/assets/%2e%2e/x", "//etc/passwd"])
def test_paths_lead_to_files_of_the_page_only(page, ask, path):
    reply = ask(page, "GET", path, headers={"host": HOST})
    assert reply.status == 404 or b"<!doctype html>" in reply.body


def test_hosts_are_those_that_browsers_name():
    assert hosts_of(["https://Train.example.com:443/x", "http://127.0.0.1:80"]) == {
        "train.example.com",
        "train.example.com:443",
        "127.0.0.1",
        "127.0.0.1:80",
    }
