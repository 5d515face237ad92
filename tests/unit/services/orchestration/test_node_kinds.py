"""The kind of node that a run's environment is resolved for, over a real store."""

from __future__ import annotations

import sys
from typing import Any

import pytest

from footplate.domain.codec import to_json
from footplate.domain.node_kinds import KIND, NodeKind, kind_for
from footplate.domain.specs import EnvironmentSpec, GpuRequest
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


def test_an_unknown_node_describes_itself_and_the_next_run_knows(far: House) -> None:
    submit(far, "first")
    assert far.store.runs.record("first").lock is None
    assert far.engine.jobs[-1].describe
    assert join(far, "first", described(PLAIN))["node"]["gpu"] is False
    assert kept(far) == PLAIN
    submit(far, "second")
    assert far.store.runs.record("second").lock == far.store.runs.record("first").lock
    assert not far.engine.jobs[-1].describe


def test_runs_that_request_gpus_have_a_kind_of_their_own(far: House) -> None:
    submit(far, "plain")
    join(far, "plain", described(PLAIN))
    submit(far, "wants", gpus=GpuRequest(per_node=1))
    assert far.store.runs.record("wants").lock is None
    assert join(far, "wants", described(WITH_GPU))["node"]["gpu"] is True
    assert (kept(far), kept(far, "GPUs")) == (PLAIN, WITH_GPU)


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


def test_a_node_that_contradicts_the_lock_is_a_warning_and_forgotten(far: House) -> None:
    submit(far, "first")
    join(far, "first", described(PLAIN))
    submit(far, "second")
    join(far, "second", {"gpus": 2})
    (warning,) = far.store.runs.record("second").warnings
    assert "without GPUs, and node 0 (host) has GPUs" in warning
    assert kept(far) is None


def test_only_the_first_report_of_a_node_counts(far: House) -> None:
    submit(far, "first")
    join(far, "first", described(PLAIN))
    join(far, "first", described(WITH_GPU))
    assert kept(far) == PLAIN


def test_a_bad_description_is_refused(far: House) -> None:
    submit(far, "first")
    with pytest.raises(InvalidInput, match="a node describes itself with '--index-url=x'"):
        join(far, "first", described(NodeKind("x86_64", "--index-url=x")))
    assert kept(far) is None


def test_a_node_that_does_not_describe_itself_counts_as_like_the_server(far: House) -> None:
    submit(far, "first")
    assert join(far, "first", {"gpus": 1})["node"]["gpu"] is True
    assert kept(far) is None


def test_other_options_of_the_target_make_its_nodes_unknown(far: House) -> None:
    submit(far, "first")
    join(far, "first", described(PLAIN))
    far.services.computes.change(far.workspace, "far", max_nodes=3)
    assert kept(far) == PLAIN
    far.services.computes.change(far.workspace, "far", options={"vm_size": "STANDARD_NC6"})
    assert kept(far) is None


def test_an_environment_that_cannot_be_resolved_stops_the_node(far: House) -> None:
    lines = ("--no-index", "missing")
    submit(far, "first", environment=EnvironmentSpec(builder="venv", python=VERSION, requirements=lines))
    nodes = far.services.nodes
    with pytest.raises(Unavailable, match="is being resolved"):
        nodes.join("first", 0, 1, "host", "10.0.0.2", described(PLAIN))
    far.bulletin.until(lambda: nodes.has_environment(nodes.record("first", 0)))
    assert nodes.join("first", 0, 1, "host", "10.0.0.2", described(PLAIN)).stop
