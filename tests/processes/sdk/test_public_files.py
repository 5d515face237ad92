"""Listing a public container, with a server that answers like Azure's Blob service."""

from __future__ import annotations

import threading
import urllib.parse
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from footplate import environ
from footplate.errors import Unavailable
from footplate.sdk import public_files

NAMES = [
    "yellow/_SUCCESS",
    *(f"yellow/puYear=2018/puMonth={month}/part-{month}.parquet" for month in range(1, 13)),
    "yellowish/other.parquet",
]


class Handler(BaseHTTPRequestHandler):
    """Pages of five names; the marker is the number of the first."""

    def log_message(self, format: str, *args: Any) -> None:
        pass

    def do_GET(self) -> None:
        url = urllib.parse.urlsplit(self.path)
        query = dict(urllib.parse.parse_qsl(url.query))
        if url.path != "/nyctlc" or (query.get("restype"), query.get("comp")) != ("container", "list"):
            self.send_error(404, "The specified container does not exist.")
            return
        names = [name for name in NAMES if name.startswith(query["prefix"])]
        start = int(query.get("marker", 0))
        blobs = "".join(f"<Blob><Name>{name}</Name></Blob>" for name in names[start : start + 5])
        marker = start + 5 if start + 5 < len(names) else ""
        page = f"<EnumerationResults><Blobs>{blobs}</Blobs><NextMarker>{marker}</NextMarker></EnumerationResults>"
        self.send_response(200)
        self.end_headers()
        self.wfile.write(page.encode())


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    httpd = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=httpd.serve_forever, args=(0.05,))
    thread.start()
    address = f"http://127.0.0.1:{httpd.server_port}"
    monkeypatch.setenv(environ.OPEN_DATASETS, address)
    yield address
    httpd.shutdown()
    httpd.server_close()
    thread.join()


def test_all_pages_of_a_folder_are_listed(server: str) -> None:
    found = public_files.list_files("nyctlc/yellow")
    assert found == [f"nyctlc/{name}" for name in NAMES[1:-1]]  # without markers and folders with a longer name
    expected = f"{server}/nyctlc/yellow/puYear=2018/puMonth=1/part-1.parquet"
    assert public_files.address_of(found[0]) == expected


@pytest.mark.usefixtures("server")
@pytest.mark.parametrize("folder", ["nyctlc/green", "other/yellow"])
def test_a_folder_that_cannot_be_listed_is_an_error(folder: str) -> None:
    with pytest.raises(Unavailable, match=rf"/{folder} (has no files|cannot be listed: the server answers 404 The)"):
        public_files.list_files(folder)
