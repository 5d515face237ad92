"""Routes of a request: with and without proxies, and never from https down to http."""

from __future__ import annotations

import pytest

from footplate import environ
from footplate.data.stores.server import away_seconds
from footplate.data.stores.web_client import follow
from footplate.errors import InvalidInput, NotAllowed


@pytest.fixture
def no_proxies(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    for name in ("http_proxy", "https_proxy", "all_proxy", "no_proxy"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)
    return monkeypatch


@pytest.mark.parametrize("there", ["http://other.example/x", "http://safe.example/x"])
def test_no_redirect_from_https_to_http(there: str) -> None:
    with pytest.raises(NotAllowed, match="redirects from https to http") as refused:
        follow("https://user@safe.example/a?signature=secret", there + "?token=secret")
    assert "secret" not in str(refused.value.to_wire())


def test_other_redirects_are_followed() -> None:
    assert follow("https://a.example/x/y", "z") == "https://a.example/x/z"
    assert follow("http://a.example/", "https://b.example/") == "https://b.example/"
    assert follow("https://a.example/", "//b.example/y") == "https://b.example/y"
    with pytest.raises(InvalidInput):
        follow("https://a.example/", "file:///etc/passwd")


def test_only_jobs_wait_for_the_server(no_proxies: pytest.MonkeyPatch) -> None:
    no_proxies.delenv(environ.RUN_ID, raising=False)
    assert away_seconds() == 0.0
    no_proxies.setenv(environ.RUN_ID, "r1")
    assert away_seconds() >= 3600.0
