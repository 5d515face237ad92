"""The kind of node that a run's environment is resolved for, over a real store."""

from __future__ import annotations

import sys
from typing import Any

import pytest

from footplate.domain.codec import to_json
from footplate.domain.node_kinds import KIND, NodeKind, kind_for
from footplate.domain.specs import EnvironmentSpec
from footplate.errors import InvalidInput, Unavailable
from support.wheels import make_wheel

from ..conftest import House

VERSION = "%d.%d" % sys.version_info[:2]  # noqa: UP031
PLAIN = NodeKind("x86_64", "2.36", pythons={"/usr/bin/python3": f"{VERSION}.1"})
WITH_GPU = NodeKind("x86_64", "2.36", gpu=True, pythons=PLAIN.pythons)


@pytest.fixture
def far(house: House, tmp_path: Any) -> House:
    """Return a house with a target on other machines, and an index of wheels."""
    for name in ("tiny", "pip", "setuptools", "wheel"):
        make_wheel(tmp_path / "wheels", name, "1.0")
    house.services.computes.put(house.workspace, "far", 2, check=False)
    house.engine.shares_home = False
    vars(house.services.nodes._jobs._listeners).update(url="http://10.0.0.1:8000")
    return house


def submit(house: House, run: str, **changes: Any) -> None:
    lines = ("--no-index", f"--find-links {house.home}/wheels", "tiny")
    environment = EnvironmentSpec(builder="venv", python=VERSION, requirements=lines)
    house.submit(run, **{"target": "far", "environment": environment, **changes})
    house.until_launched(run)


def join(house: House, run: str, info: dict[str, Any]) -> dict[str, Any]:
    """Join as node 0 does, until the environment is resolved; return the content of the lock."""
    nodes = house.services.nodes
    try:
        nodes.join(run, 0, 1, "host", "10.0.0.2", info)
    except Unavailable:
        house.bulletin.until(lambda: nodes.has_environment(nodes.record(run, 0)))
    return nodes.join(run, 0, 1, "host", "10.0.0.2", info).lock.content


def described(kind: NodeKind) -> dict[str, Any]:
    return {"gpus": int(kind.gpu), KIND: to_json(kind)}


def kept(house: House, request: str = "") -> NodeKind | None:
    return kind_for(house.store.computes.get(house.workspace, "far").kinds, request)


def test_an_unchanged_interpreter_waits_for_no_node(far: House) -> None:
    submit(far, "as-it-is", environment=EnvironmentSpec(interpreter="/usr/bin/python3"))
    assert far.store.runs.record("as-it-is").lock is not None
    assert not far.engine.jobs[-1].describe


def test_a_check_describes_its_node_although_it_needs_no_kind(far: House) -> None:
    submit(far, "check", environment=EnvironmentSpec(interpreter="/usr/bin/python3"), describe_nodes=True)
    assert far.engine.jobs[-1].describe
    join(far, "check", described(WITH_GPU))
    assert kept(far) == WITH_GPU


def test_a_run_on_this_machine_is_never_described(house: House) -> None:
    house.submit("here", describe_nodes=True)
    house.until_launched("here")
    assert not house.engine.jobs[-1].describe
    assert house.store.runs.record("here").lock is not None


def test_a_bad_description_is_refused(far: House) -> None:
    submit(far, "first")
    with pytest.raises(InvalidInput, match="a node describes itself with '--index-url=x'"):
        join(far, "first", described(NodeKind("x86_64", "--index-url=x")))
    assert kept(far) is None
