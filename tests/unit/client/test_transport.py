from __future__ import annotations

import os

import pytest

from footplate.client.http import parse_endpoint, unix_endpoint
from footplate.client.transport import Transport
from footplate.errors import InvalidInput, NotAllowed, Unavailable


def test_no_listener_is_unavailable_with_a_hint(tmp_path):
    with pytest.raises(Unavailable, match="does not answer") as caught:
        Transport(unix_endpoint(str(tmp_path / "x.sock")), patience=0).request("GET", "/x").json()
    assert "footplate server" in (caught.value.hint or "")


@pytest.mark.parametrize("token", ["two words", "new\nline", "ümlaut"])
def test_token_that_would_break_the_request_is_refused(token):
    with pytest.raises(NotAllowed):
        Transport("http://localhost:1", token)


@pytest.mark.parametrize(
    "url", ["", "server:80", "ftp://x", "unix://relative/path", "unix:/a/b", "http://", "http://h:port"]
)
def test_wrong_address_is_refused_by_name(url):
    with pytest.raises(InvalidInput, match="is not a server's address"):
        parse_endpoint(url)


@pytest.mark.parametrize(
    ("url", "host", "header"),
    [
        ("http://h:8080/base/", "h", "h:8080"),
        ("https://h", "h", "h"),
        ("http://[::1]:90", "::1", "[::1]:90"),
    ],
)
def test_addresses(url, host, header):
    endpoint = parse_endpoint(url)
    assert (endpoint.host, endpoint.host_header) == (host, header)
    assert endpoint.tls == url.startswith("https")


def test_socket_paths_with_odd_characters_survive():
    path = "/tmp/a ?#%41" + os.fsdecode(b"\xfe") + "/s"
    assert parse_endpoint(unix_endpoint(path)).socket == path
