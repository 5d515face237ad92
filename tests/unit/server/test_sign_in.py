"""Signing in with a token, and the attacks on it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from footplate.server.app import create_app
from footplate.server.browser import BrowserRules
from footplate.server.hub import Hub
from footplate.server.sign_in_limit import MOST_FAILURES
from footplate.services import Services
from footplate.services.orchestration.agent_jobs import Listeners
from footplate.storage import Storage

P = "/api/v1"
HOST = "train.example:8700"


class Team:
    """A team server over a real store, without its orchestrator."""

    def __init__(self, home: Path, ask: Any) -> None:
        self.store = Storage.open(home)
        self.services = Services(self.store, lambda *_: None, Listeners("", None), home)
        self.workspace = self.services.workspaces.create("vision", "local", "local").id
        self.services.people.add("anna")
        self.services.people.grant(self.workspace, "user", "anna", "contributor")
        rules = BrowserRules(frozenset([HOST]), self.services.sessions.cookie_name)
        self.app = create_app(self.services, Hub(), "key", browser=rules)
        self._ask = ask

    def token(self, **limits: Any) -> str:
        return self.services.person_tokens.create("anna", "laptop", **limits).token

    def send(self, method: str, path: str, token: str | None = None, **headers: str) -> Any:
        named = {"host": HOST, "content-type": "application/json"}
        named.update({name.replace("_", "-"): value for name, value in headers.items()})
        body = b'{"code": null}' if path == "/session" else b""
        return self._ask(self.app, method, P + path, token=token, headers=named, body=body)

    def sign_in(self, token: str, **headers: str) -> dict[str, str]:
        """Return the headers of a browser that has signed in."""
        reply = self.send("POST", "/session", token, **headers)
        assert reply.status == 201, reply.body
        cookie = reply.headers["set-cookie"].partition(";")[0]
        return {"cookie": cookie, "x_footplate_page": reply.json()["secret"]}


@pytest.fixture
def team(tmp_path: Path, ask: Any) -> Any:
    made = Team(tmp_path / "home", ask)
    yield made
    made.store.close()


def test_a_session_is_the_person_of_its_token(team):
    browser = team.sign_in(team.token())
    who = team.send("GET", "/whoami", **browser).json()
    assert (who["name"], who["roles"]) == ("anna", {team.workspace: "contributor"})
    assert team.send("GET", "/people", **browser).status == 403


def test_a_session_keeps_the_limits_of_its_token(team):
    browser = team.sign_in(team.token(read_only=True))
    assert team.send("GET", "/whoami", **browser).json()["roles"] == {team.workspace: "reader"}


def test_a_session_of_the_server_key_is_the_owner_until_it_is_switched_off(team):
    browser = team.sign_in("key")
    assert team.send("GET", "/people", **browser).status == 200
    team.services.server_key.switch(False)
    assert team.send("GET", "/people", **browser).status == 403
    assert team.send("GET", "/server", "key").status == 403
    assert team.send("GET", "/server", team.token()).status == 200


def test_signing_in_gives_a_new_session_and_ends_the_old_one(team):
    """An attacker who plants a cookie (session fixation) knows no session afterwards."""
    token = team.token()
    before = team.sign_in(token)
    after = team.sign_in(token, cookie=before["cookie"])
    assert after["cookie"] != before["cookie"] and after["x_footplate_page"] != before["x_footplate_page"]
    assert team.send("GET", "/whoami", **before).status == 403
    assert team.send("GET", "/whoami", **after).status == 200


def test_a_session_begins_no_other_session(team):
    browser = team.sign_in(team.token())
    for half in ({"cookie": browser["cookie"]}, {"x_footplate_page": browser["x_footplate_page"]}, {}):
        assert team.send("POST", "/session", **half).status == 403


@pytest.mark.parametrize(
    "foreign",
    [{"origin": "https://evil.example"}, {"sec_fetch_site": "cross-site"}, {"sec_fetch_site": "same-site"},
     {"origin": "null"}, {"host": "evil.example"}, {"origin": "http://train.example:9999"}],
)  # fmt: skip
def test_another_site_sends_no_request_of_a_session(team, foreign):
    browser = team.sign_in(team.token())
    for method, path in (("GET", "/whoami"), ("POST", "/tokens"), ("DELETE", "/session")):
        assert team.send(method, path, **browser, **foreign).status == 403
    assert team.send("GET", "/whoami", **browser).status == 200


def test_failed_attempts_are_limited_whatever_the_headers_claim(team):
    codes = [
        team.send("POST", "/session", "fpt_guess", x_forwarded_for=f"10.0.0.{number}", forwarded=f"for=10.0.0.{number}")
        for number in range(MOST_FAILURES + 1)
    ]
    assert [reply.status for reply in codes] == [403] * MOST_FAILURES + [429]
    assert codes[-1].json()["error"]["code"] == "too_many"
    assert team.send("GET", "/server", team.token()).status == 200  # requests with a valid token go on


@pytest.mark.parametrize(
    "header", ["x_forwarded_host", "x_forwarded_for", "x_forwarded_user", "x_real_ip", "remote_user"]
)
def test_forged_headers_of_proxies_change_nothing(team, header):
    assert team.send("GET", "/server", **{header: "127.0.0.1"}).status == 403
    browser = team.sign_in(team.token())
    assert team.send("GET", "/whoami", **browser, host="evil.example", **{header: HOST}).status == 403


def test_a_token_is_in_no_answer_but_the_one_that_creates_it(team):
    token = team.token()
    browser = team.sign_in(token)
    team.send("POST", "/session", "fpt_wrong")
    for path in ("/tokens", "/whoami", "/audit", "/server"):
        assert token not in team.send("GET", path, "key").body.decode()
        assert browser["cookie"].partition("=")[2] not in team.send("GET", path, "key").body.decode()
    assert team.send("GET", "/tokens", "key").json()["items"][0]["label"] == "laptop"


def test_the_audit_log_names_who_did_what_from_where(team):
    team.send("PUT", f"/workspaces/{team.workspace}/experiments/e", team.token())
    team.send("DELETE", f"/workspaces/{team.workspace}", team.token())
    team.send("GET", f"/workspaces/{team.workspace}/experiments", team.token())
    team.sign_in("key")
    entries = team.send("GET", "/audit", "key").json()["items"]
    assert [(e["who"], e["action"], e["status"]) for e in entries] == [
        ("owner", "begin_session", 201), ("anna", "delete_workspace", 403), ("anna", "ensure_experiment", 200),
    ]  # fmt: skip
    assert {e["source"] for e in entries} == {"socket"} and entries[1]["workspace"] == team.workspace
    assert team.send("GET", "/audit", "key").json()["items"] == entries, "reading adds nothing"


def test_the_audit_log_names_the_person_who_gets_a_role(team):
    body = json.dumps({"kind": "user", "name": "anna", "role": "owner"}).encode()
    headers = {"host": HOST, "content-type": "application/json"}
    path = f"{P}/workspaces/{team.workspace}/roles"
    assert team._ask(team.app, "PUT", path, token="key", headers=headers, body=body).status == 200
    [entry] = team.send("GET", "/audit", "key").json()["items"]
    assert (entry["path"], entry["detail"]) == (path.removeprefix(P), "user anna: owner")


def test_lists_show_only_workspaces_that_one_may_read(team):
    other = team.services.workspaces.create("secret", "local", "local").id
    listed = [view["id"] for view in team.send("GET", "/workspaces", team.token()).json()["items"]]
    assert listed == [team.workspace]
    assert {view["id"] for view in team.send("GET", "/workspaces", "key").json()["items"]} == {team.workspace, other}


def test_people_see_and_revoke_only_tokens_of_their_own(team):
    team.services.people.add("ben")
    his = team.services.person_tokens.create("ben", "laptop").view.id
    mine = team.token()
    assert [each["person"] for each in team.send("GET", "/tokens", mine).json()["items"]] == ["anna"]
    assert team.send("DELETE", f"/tokens/{his}", mine).status == 403
    limited = team.services.person_tokens.create("anna", "ci", read_only=True)
    assert team.send("DELETE", f"/tokens/{team.services.person_tokens.list('anna')[0].id}", limited.token).status == 403
    assert team.send("DELETE", f"/tokens/{limited.view.id}", limited.token).status == 204
    assert json.loads(team.send("GET", "/tokens", "key").body)["items"][-1]["person"] == "ben"
