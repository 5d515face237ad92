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

from footplate.errors import NotAllowed, NotFound
from footplate.server.peers import STATE, Peer
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


class FakeSessions:
    """One session, of a browser that has signed in."""

    cookie_name: str = "footplate-test"

    def recall(self, cookie: str, secret: str) -> bool:
        return False

    def is_valid(self, cookie: str, secret: str) -> bool:
        return (cookie, secret) == ("good-cookie", "good-secret")

    def exist(self) -> bool:
        return True


class FakeDatastores:
    """A datastore that every run may open, and one that none may."""

    def access_for_run(self, run: str, name: str) -> None:
        if name == "private":
            raise NotAllowed(f"run {run} may not open {name}", "name it")


@dataclass
class FakeServices:
    home: Path
    active: int = 0
    runs: FakeRuns = field(default_factory=FakeRuns)
    tokens: FakeTokens = field(default_factory=FakeTokens)
    datastores: FakeDatastores = field(default_factory=FakeDatastores)
    sessions: FakeSessions = field(default_factory=FakeSessions)

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
