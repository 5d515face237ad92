"""Routes of a request: with and without proxies, and never from https down to http."""

from __future__ import annotations

import pytest

from footplate.data.stores.registry import open_store
from footplate.data.stores.web_client import Web, WebResponse
from footplate.domain.data import StoreSpec
from footplate.errors import Unavailable
from support.web_server import Manners, WebServer


@pytest.fixture
def no_proxies(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    for name in ("http_proxy", "https_proxy", "all_proxy", "no_proxy"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)
    return monkeypatch


def test_a_proxy_from_the_environment_is_used(web: WebServer, no_proxies: pytest.MonkeyPatch) -> None:
    """The web server plays the proxy, which is sent whole URLs."""
    web.serve("x", b"through the proxy")
    no_proxies.setenv("http_proxy", web.address)
    Web(None, 10).request("GET", "http://nowhere.invalid/x", {}).done()
    (seen,) = web.seen
    assert seen.headers["Host"] == "nowhere.invalid" and seen.path == "x"


def test_a_host_in_no_proxy_is_contacted_directly(web: WebServer, no_proxies: pytest.MonkeyPatch) -> None:
    web.serve("x", b"direct")
    no_proxies.setenv("http_proxy", "http://127.0.0.1:9")
    no_proxies.setenv("no_proxy", "127.0.0.1,localhost")
    assert open_store(StoreSpec("http", {"url": web.address})).read("x") == b"direct"


def test_direct_requests_ignore_all_proxies(web: WebServer, no_proxies: pytest.MonkeyPatch) -> None:
    web.serve("x", b"direct")
    no_proxies.setenv("http_proxy", "http://127.0.0.1:9")
    answer = Web(None, 10, direct=True).request("GET", f"{web.address}/x", {})
    assert answer.response.read() == b"direct"


class AwayServer:
    """A clock that only pauses move, and a server that answers again after some time."""

    def __init__(self, web: WebServer, seconds: float) -> None:
        self.now, self._web, self._seconds = 0.0, web, seconds
        web.serve("x", b"back")
        web.manners["x"] = Manners(statuses=[503] * 10_000)

    def sleep(self, seconds: float) -> None:
        self.now += seconds
        if self.now >= self._seconds:
            self._web.manners["x"].statuses.clear()

    def ask(self, away: float, url: str = "") -> WebResponse:
        client = Web(None, 10, direct=True, away=away, clock=lambda: self.now, sleep=self.sleep)
        return client.request("GET", url or f"{self._web.address}/x", {})


def test_a_request_waits_for_a_server_that_is_away_for_an_hour(web: WebServer) -> None:
    server = AwayServer(web, 3600.0)
    answer = server.ask(away=7200.0)
    assert (answer.status, answer.response.read()) == (200, b"back")
    assert 3600 <= server.now < 3616, "the longest pause is 15 s"


def test_a_request_gives_up_when_the_server_is_away_too_long(web: WebServer) -> None:
    server = AwayServer(web, 3600.0)
    assert server.ask(away=600.0).status == 503 and 600 <= server.now < 616
    with pytest.raises(Unavailable):
        server.ask(away=600.0, url="http://127.0.0.1:9/x")
    assert 1200 <= server.now < 1232
