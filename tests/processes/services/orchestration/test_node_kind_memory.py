"""The kind of node that a run's environment is resolved for, over a real store."""

from __future__ import annotations

import pytest

from footplate.domain.specs import EnvironmentSpec, GpuRequest
from footplate.errors import Unavailable

from ....unit.services.orchestration.test_node_kind_memory import (
    PLAIN,
    VERSION,
    WITH_GPU,
    described,
    far,
    join,
    kept,
    submit,
)
from ..conftest import House

__all__ = ["far"]  # fixtures


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
