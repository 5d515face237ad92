"""A run submits nothing that it may not use itself."""

from __future__ import annotations

import pytest

from footplate.domain.specs import EnvironmentSpec
from footplate.errors import NotAllowed

from ...unit.services.test_run_limits import data, submit
from .conftest import House

__all__ = ["data"]  # fixtures
PRIVATE = "https://private.example.com/simple"


def venv(address: str) -> EnvironmentSpec:
    return EnvironmentSpec(builder="venv", requirements=(f"--index-url {address}", "numpy"))


def test_a_child_may_not_use_a_login_that_its_parent_lacks(
    house: House, data: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("UV_OFFLINE", "1")  # else the end of the test waits for retries of its index
    house.store.logins.put({PRIVATE: "https://me:secret@private.example.com/simple"})
    with pytest.raises(NotAllowed, match=PRIVATE):
        submit(house, "child", parent="parent", environment=venv(PRIVATE))
    with pytest.raises(NotAllowed, match="use or replace the stored login"):
        submit(house, "child", parent="parent", environment=venv("https://me:other@private.example.com/simple"))
    assert house.store.logins.all() == {PRIVATE: "https://me:secret@private.example.com/simple"}
    submit(house, "brings", parent="parent", environment=venv("https://me:secret@private.example.com/simple"))
    submit(house, "grandchild", "brings", parent="brings", environment=venv(PRIVATE))
