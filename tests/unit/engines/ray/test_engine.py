"""The engine's requests and its reading of Ray's answers, against a small HTTP server in the place of the head."""

from __future__ import annotations

import pytest

from footplate.engines.ray import api
from footplate.errors import Unavailable


def test_nothing_listens_at_the_address() -> None:
    with pytest.raises(Unavailable, match="does not answer"):
        api.Head("http://127.0.0.1:1").jobs()
