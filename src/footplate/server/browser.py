"""Requests of browsers: which hosts and origins may send them, and the headers of answers.

A browser sends requests that its user never made: for other sites (CSRF), for names that an attacker points to this
machine (DNS rebinding), and from programs on other ports (which share the cookies of a host). So each request of a
session must name a host of this server, must not come from another origin, and carries a header that only the page
knows beside the cookie.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from http.cookies import CookieError, SimpleCookie
from typing import NamedTuple

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from footplate.errors import NotAllowed

SECRET_HEADER = "x-footplate-page"

PAGE_HEADERS: Mapping[str, str] = {
    "content-security-policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' blob: data:; media-src blob:; "
        "font-src 'self'; connect-src 'self'; frame-src 'none'; frame-ancestors 'none'; base-uri 'none'; "
        "form-action 'none'"
    ),
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "referrer-policy": "no-referrer",
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
}
"""For the page itself: it loads nothing from elsewhere, runs no inline script, and is never inside a frame."""

ANSWER_HEADERS: Mapping[str, str] = {
    "content-security-policy": "sandbox; default-src 'none'; frame-ancestors 'none'",
    "cross-origin-resource-policy": "same-origin",
    "referrer-policy": "no-referrer",
    "x-content-type-options": "nosniff",
}
"""For everything else. Files of runs may be HTML, SVG, PDF or notebooks: opened, they get no script and no origin."""


class SessionProof(NamedTuple):
    """The two values that prove a session."""

    cookie: str
    secret: str


@dataclass(frozen=True)
class BrowserRules:
    """The hosts of one listener, as browsers name them: `127.0.0.1:8931`, `train.example.com`."""

    hosts: frozenset[str]
    cookie_name: str
    only_browsers: bool = False  # the listener serves nobody else, so that each request is checked

    def check_host(self, scope: Scope) -> None:
        """Raise NotAllowed for a request to a name that somebody else may have pointed to this machine."""
        host = _headers(scope).get("host", "").lower()
        if host not in self.hosts:
            raise NotAllowed(
                f"this server does not serve the host {host!r}", f"open it at {', '.join(sorted(self.hosts))}"
            )

    def check_origin(self, scope: Scope) -> None:
        """Raise NotAllowed for a request that names another host, or that another site sends."""
        self.check_host(scope)
        headers = _headers(scope)
        origin = headers.get("origin")
        if origin is not None and origin.partition("://")[2].lower() != headers["host"].lower():
            raise NotAllowed(f"the origin {origin!r} may not send requests here", "open the server's own page")
        if headers.get("sec-fetch-site", "none") not in ("same-origin", "none"):
            raise NotAllowed("another site may not send requests here", "open the server's own page")

    def proof(self, scope: Scope) -> SessionProof | None:
        """Return what a browser sends to prove its session; None unless both parts are there."""
        headers = _headers(scope)
        secret = headers.get(SECRET_HEADER)
        if not secret:  # as in all requests of agents and other programs
            return None
        cookie = _cookies(headers.get("cookie", "")).get(self.cookie_name)
        return SessionProof(cookie, secret) if cookie else None


def with_headers(send: Send, headers: Mapping[str, str]) -> Send:
    """Return a `send` that adds headers which the response does not set itself."""

    async def send_with_headers(message: Message) -> None:
        if message["type"] == "http.response.start":
            present = {bytes(name).lower() for name, _ in message.get("headers", ())}
            more = [(name.encode(), value.encode()) for name, value in headers.items() if name.encode() not in present]
            message = {**message, "headers": [*message.get("headers", ()), *more]}
        await send(message)

    return send_with_headers


class AnswerHeaders:
    """Adds the headers of answers for browsers to everything that the application sends."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await self._app(scope, receive, with_headers(send, ANSWER_HEADERS))


def hosts_of(addresses: Iterable[str]) -> frozenset[str]:
    """Return the values of a Host header that mean these `http(s)://host[:port]` addresses."""
    hosts: set[str] = set()
    for address in addresses:
        scheme, _, host = address.lower().partition("://")
        host = host.partition("/")[0]
        hosts.add(host)
        if scheme == "https" and host.endswith(":443"):
            hosts.add(host[: -len(":443")])
        if scheme == "http" and host.endswith(":80"):
            hosts.add(host[: -len(":80")])
    return frozenset(hosts)


def _headers(scope: Scope) -> dict[str, str]:
    return {bytes(name).decode("latin-1").lower(): bytes(value).decode("latin-1") for name, value in scope["headers"]}


def _cookies(text: str) -> dict[str, str]:
    try:
        return {name: morsel.value for name, morsel in SimpleCookie(text).items()}
    except CookieError:
        return {}
