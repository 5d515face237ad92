"""The web sites of the documents, and the two tiers: whole documents run only with `make documents`."""

from __future__ import annotations

import os
import sys
import threading
import urllib.request
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

sys.path.insert(0, str(Path(__file__).parent))  # for `corpora` and `reading`

import corpora

WHOLE = "FOOTPLATE_TEST_DOCUMENTS"


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    skip = pytest.mark.skip(reason="a whole document: make documents")
    for item in items:
        if item.get_closest_marker("documents") and not os.environ.get(WHOLE):
            item.add_marker(skip)


@pytest.fixture
def web(home: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """Provide the web sites of the documents through a proxy, and return the addresses that were requested."""
    files = {**corpora.mnist(), "text8.zip": corpora.text8(), "fowl_data.zip": corpora.fowl()}
    seen: list[str] = []

    class Proxy(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            seen.append(self.path)
            body = files.get(urlsplit(self.path).path.rpartition("/")[2])
            self.send_response(200 if body else 404)
            self.send_header("Content-Length", str(len(body or b"")))
            self.end_headers()
            if self.command == "GET" and body:
                self.wfile.write(body)

        do_HEAD = do_GET

        def log_message(self, format: str, *args: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Proxy)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    monkeypatch.setenv("http_proxy", f"http://127.0.0.1:{server.server_port}")
    (home / "settings.ini").write_text("[jobs]\npass_environment = http_proxy\n")  # some scripts download their data
    monkeypatch.setattr(urllib.request, "_opener", None)  # which keeps the proxy of its first use
    yield seen
    server.shutdown()
    server.server_close()
