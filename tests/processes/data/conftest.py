from __future__ import annotations

from collections.abc import Iterator

import pytest

from support.web_server import WebServer


@pytest.fixture
def web() -> Iterator[WebServer]:
    server = WebServer()
    yield server
    server.stop()
