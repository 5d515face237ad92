"""Requests sent directly to an ASGI application, and services that do nothing."""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from footplate.domain.access.people import AuditEntry, Maker, PersonView, ServerKeyView, TokenView
from footplate.errors import NotAllowed, NotFound
from footplate.server.peers import STATE, Peer
from footplate.services.access.identities import Identity, SessionHolder, limited
from footplate.services.access.tokens import TokenHolder


@dataclass
class Reply:
    status: int
    body: bytes
    headers: dict[str, str]

    def json(self) -> Any:
        return json.loads(self.body)


def send(app: Any, method: str, path: str, **options: Any) -> Reply:
    """Send one request with its body in two pieces; return the whole response."""
    return asyncio.run(asend(app, method, path, **options))


async def asend(
    app: Any,
    method: str,
    path: str,
    *,
    token: str | None = None,
    body: bytes = b"",
    query: str = "",
    headers: dict[str, str] | None = None,
) -> Reply:
    state = {STATE: Peer(os.getpid(), os.geteuid())}
    fields = [(name.encode(), value.encode()) for name, value in (headers or {}).items()]
    if token is not None:
        fields.append((b"authorization", f"Bearer {token}".encode()))
    scope = {
        "type": "http", "http_version": "1.1", "method": method, "path": path, "raw_path": path.encode(),
        "query_string": query.encode(), "root_path": "", "scheme": "http", "headers": fields,
        "client": None, "server": None, "state": state, "asgi": {"version": "3.0"},
    }  # fmt: skip
    half = len(body) // 2
    incoming = [
        {"type": "http.request", "body": body[:half], "more_body": True},
        {"type": "http.request", "body": body[half:], "more_body": False},
    ]
    sent: list[dict[str, Any]] = []

    async def receive() -> dict[str, Any]:
        return incoming.pop(0) if incoming else {"type": "http.disconnect"}

    async def collect(message: Any) -> None:
        sent.append(message)

    await app(scope, receive, collect)
    head = {name.decode(): value.decode() for name, value in sent[0]["headers"]}
    return Reply(sent[0]["status"], b"".join(m.get("body", b"") for m in sent[1:]), head)


@dataclass
class FakeRuns:
    """Runs that have a workspace and a parent only."""

    known: dict[str, tuple[str, str | None]] = field(default_factory=dict)

    def view(self, run: str) -> Any:
        if run not in self.known:
            raise NotFound(f"there is no run {run!r}")
        workspace, parent = self.known[run]
        return SimpleNamespace(id=run, workspace=workspace, parent=parent)


@dataclass
class FakeTokens:
    known: dict[str, str] = field(default_factory=dict)

    def recall(self, token: str) -> TokenHolder | None:
        return None

    def holder_of(self, token: str) -> TokenHolder | None:
        run = self.known.get(token)
        return None if run is None else TokenHolder(run, "w1")

    def token_of_signer(self, signer: str) -> str | None:
        return next((token for token in self.known if token.startswith(f"{signer}.")), None)


ROLES: dict[str, dict[str, str]] = {
    "reader": {"w1": "reader"},
    "contributor": {"w1": "contributor"},
    "owner": {"w1": "owner"},
    "elsewhere": {"w2": "owner"},
    "reader-of-all": {"*": "reader"},
    "contributor-of-all": {"*": "contributor"},
    "owner-of-all": {"*": "owner"},
    "nobody": {},
}
"""The people of the tests by name, with their roles."""

LIMITS: dict[str, dict[str, Any]] = {
    "": {},
    "/w1": {"workspace": "w1"},
    "/w2": {"workspace": "w2"},
    "/read": {"read_only": True},
    "/w1/read": {"workspace": "w1", "read_only": True},
}
"""Kinds of tokens: what follows the name of the person, and the limits of the token."""


def identity(name: str, limits: str = "") -> Identity:
    """Return a person of the tests with a token of this kind."""
    person = PersonView(name, "person", 0.0)
    token = TokenView(f"id-{name}{limits}", name, "test", 0.0, **LIMITS[limits])
    return Identity(person, limited(ROLES[name], token), token, token.id)


class FakePersonTokens:
    """A token of each kind for each person: `fpt_reader`, `fpt_owner/w1/read` and so on."""

    def recall(self, token: str) -> Identity | None:
        return None

    def holder_of(self, token: str) -> Identity | None:
        name, slash, limits = token.removeprefix("fpt_").partition("/")
        return identity(name, slash + limits) if name in ROLES else None

    def holder_of_id(self, id: str) -> Identity | None:
        return self.holder_of(id.replace("id-", "fpt_"))

    def link_key(self, id: str) -> str:
        return f"key of {id}"


@dataclass
class FakeServerKey:
    accepted: bool = True

    def recall(self) -> bool | None:
        return None

    def is_accepted(self) -> bool:
        return self.accepted

    def switch(self, accepted: bool) -> ServerKeyView:
        self.accepted = accepted
        return ServerKeyView(accepted)


class FakeSessions:
    """Sessions of the owner, and of each person: `good-cookie` and `good-secret`, `cookie-reader` and so on."""

    cookie_name: str = "footplate-test"

    def recall(self, cookie: str, secret: str) -> SessionHolder | None:
        return None

    def holder_of(self, cookie: str, secret: str) -> SessionHolder | None:
        if (cookie, secret) == ("good-cookie", "good-secret"):
            return SessionHolder(None, "link")
        name = cookie.removeprefix("cookie-")
        return SessionHolder(identity(name), "provider") if name in ROLES and secret == f"secret-{name}" else None

    def exist(self) -> bool:
        return True


class FakeDatastores:
    """A datastore that every run may open, and one that none may."""

    def access_for_run(self, run: str, name: str) -> None:
        if name == "private":
            raise NotAllowed(f"run {run} may not open {name}", "name it")


@dataclass
class FakeOwnership:
    """Every run was submitted by `submitters[run]`, or else by the owner of the server."""

    runs: FakeRuns
    submitters: dict[str, str]

    def recall_run(self, run: str) -> Maker | None:
        return None

    def of_run(self, run: str) -> Maker | None:
        if run not in self.runs.known:
            return None
        return Maker(self.runs.known[run][0], self.submitters.get(run, "root"), self.submitters.get(run))

    def of_service(self, workspace: str, name: str) -> Maker | None:
        return Maker(workspace, "root", {"own": "contributor", "store": "root"}.get(name))

    def workspace_of_experiment(self, experiment: str) -> str | None:
        return {"e1": "w1", "e2": "w2"}.get(experiment)


@dataclass
class FakePeople:
    roles: dict[str, dict[str, str]] = field(default_factory=lambda: {**ROLES})

    def recall_submitter(self, name: str) -> Identity | None:
        return None

    def submitter(self, name: str) -> Identity:
        return Identity(PersonView(name, "person", 0.0), self.roles[name])


@dataclass
class FakeAudit:
    entries: list[AuditEntry] = field(default_factory=list)

    def record(self, entry: AuditEntry) -> None:
        self.entries.append(entry)


@dataclass
class FakeServices:
    home: Path
    active: int = 0
    runs: FakeRuns = field(default_factory=FakeRuns)
    tokens: FakeTokens = field(default_factory=FakeTokens)
    datastores: FakeDatastores = field(default_factory=FakeDatastores)
    sessions: FakeSessions = field(default_factory=FakeSessions)
    person_tokens: FakePersonTokens = field(default_factory=FakePersonTokens)
    server_key: FakeServerKey = field(default_factory=FakeServerKey)
    people: FakePeople = field(default_factory=FakePeople)
    audit: FakeAudit = field(default_factory=FakeAudit)
    ownership: FakeOwnership = field(init=False)

    def __post_init__(self) -> None:
        submitters = {"mine": "contributor", "child": "contributor", "far": "elsewhere"}
        self.ownership = FakeOwnership(self.runs, submitters)

    def active_runs(self) -> int:
        return self.active


@pytest.fixture
def services(tmp_path: Path) -> FakeServices:
    runs = FakeRuns(
        {
            "mine": ("w1", "above"),
            "child": ("w1", "mine"),
            "grandchild": ("w1", "child"),
            "other": ("w1", "above"),
            "above": ("w1", None),
            "far": ("w2", None),
        }
    )
    return FakeServices(tmp_path, runs=runs, tokens=FakeTokens({"run-token": "mine"}))


@pytest.fixture
def ask() -> Callable[..., Reply]:
    return send


@pytest.fixture
def aask() -> Any:
    return asend
