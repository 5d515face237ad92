"""A run submits nothing that it may not use itself."""

from __future__ import annotations

import sys
from typing import Any

import pytest

from footplate.domain.orders import DataInput, DataOutput, Program
from footplate.domain.records import RunView
from footplate.domain.requests import NewDataset, NewDatastore
from footplate.domain.specs import ControllerSpec, EnvironmentSpec, RunSpec
from footplate.errors import FootplateError, NotAllowed

from .conftest import House

SECRET = NewDatastore("s3", {"bucket": "b"}, {"access_key_id": "k", "secret_access_key": "s"})
EXISTING = EnvironmentSpec(builder="existing", interpreter=sys.executable)


@pytest.fixture
def data(house: House) -> str:
    """Register two datastores with credentials and one without; return a dataset of the second."""
    for name in ("given", "other"):
        house.services.datastores.put(house.workspace, name, SECRET)
    house.services.datastores.put(house.workspace, "open", NewDatastore("folder", {"path": "/tmp"}))
    definition = {"sources": [{"datastore": "other", "path": "a"}]}
    house.submit("parent", inputs=(DataInput("x", datastore="given"),))
    return house.services.datasets.register(house.workspace, NewDataset("k", "file", definition)).id


def submit(house: House, run: str, submitter: str | None = "parent", **fields: object) -> RunView:
    fields = {"program": Program(script="train.py"), "environment": EXISTING, **fields}
    spec = RunSpec("lab", **fields)  # type: ignore[arg-type]
    house.services.runs.submit(house.workspace, run, spec, "tester", submitter)
    return house.services.runs.view(run)


@pytest.mark.parametrize("store", ["given", "open", "workspaceblobstore"])
def test_a_child_may_use_what_its_parent_may_use(house: House, data: str, store: str) -> None:
    child = submit(house, "child", parent="parent", inputs=(DataInput("x", datastore=store),))
    assert child.parent == "parent"
    assert house.services.datastores.access_for_run("child", store)


@pytest.mark.parametrize("how", ["input", "output", "dataset", "controller"])
def test_a_child_may_not_name_a_datastore_that_its_parent_lacks(house: House, data: str, how: str) -> None:
    wanted = DataInput("x", datastore="other")
    child = RunSpec("lab", program=Program(script="t"), environment=EXISTING, inputs=(wanted,))
    fields: dict[str, Any] = {
        "input": {"inputs": (wanted,)},
        "output": {"outputs": (DataOutput("x", datastore="other"),)},
        "dataset": {"inputs": (DataInput("x", dataset=data),)},
        "controller": {
            "kind": "group", "program": None, "environment": EnvironmentSpec(),
            "controller": ControllerSpec("completes_with_children", children={"1": child}),
        },
    }[how]  # type: ignore[assignment]  # fmt: skip
    for parent in ("parent", None):
        with pytest.raises(NotAllowed, match="'other'"):
            submit(house, "child", parent=parent, **fields)
    with pytest.raises(FootplateError):
        house.services.runs.view("child")


def test_a_run_submits_below_itself_or_without_a_parent(house: House, data: str) -> None:
    submit(house, "stranger", None)
    submit(house, "child", parent="parent")
    submit(house, "grandchild", parent="child")
    submit(house, "alone")
    with pytest.raises(NotAllowed, match="may not create objects of run 'stranger'"):
        submit(house, "wrong", parent="stranger")
    with pytest.raises(NotAllowed, match="may not create objects of run 'parent'"):
        submit(house, "wrong", "child", parent="parent")
