from __future__ import annotations

import pytest

from footplate.data.stores.registry import open_store
from footplate.domain.data import StoreSpec
from footplate.errors import Unavailable


def test_a_closed_port_is_unavailable() -> None:
    with pytest.raises(Unavailable, match="does not respond"):
        open_store(StoreSpec("http", {"url": "http://127.0.0.1:9"})).stat("x")
