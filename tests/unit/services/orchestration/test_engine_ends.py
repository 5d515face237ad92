from __future__ import annotations

from footplate.domain.orders import NODE_LOST, Program
from footplate.domain.records import NodeRecord, NodeState, RunRecord, Stage
from footplate.domain.specs import RESTART_CAUSES, RestartPolicy, RunSpec
from footplate.engines import agent_bootstrap
from footplate.engines.base import ENDED_BY, Observation
from footplate.engines.local import LocalEngine
from footplate.node import agent
from footplate.services.orchestration.watcher import cause_of
from support.namespace_engine import NamespaceEngine

NODES = (NodeRecord(0, NodeState.DONE), NodeRecord(1, NodeState.RUNNING))
RECORD = RunRecord("r7", "w", RunSpec("e", program=Program("s.py")), Stage.RUNNING, created=1.0, nodes=NODES)


def test_every_reason_of_an_engine_has_a_cause_with_its_words() -> None:
    for reason in ENDED_BY:
        cause = cause_of(Observation("exited", reason="node-3 is down", ended_by=reason), RECORD, NamespaceEngine())
        assert cause is not None
        assert "namespaces" in cause.message
        assert cause.message.endswith(": node-3 is down")
        assert cause.node == 1
        assert cause.hint


def test_the_default_policy_covers_preemption_lost_nodes_and_limits() -> None:
    covered = {code for name in RestartPolicy().causes for code in RESTART_CAUSES[name]}
    codes = {reason: cause_of(Observation("exited", ended_by=reason), RECORD, NamespaceEngine()) for reason in ENDED_BY}
    found = {reason for reason, cause in codes.items() if cause is not None and cause.code in covered}
    assert found == {"preempted", "node_lost", "time_limit"}


def test_agents_that_ended_by_themselves_have_no_cause() -> None:
    assert cause_of(Observation("exited", {0: 0, 1: None}), RECORD, NamespaceEngine()) is None


def test_forgotten_agents_on_other_machines_are_lost() -> None:
    cause = cause_of(Observation("gone"), RECORD, NamespaceEngine())
    assert cause is not None
    assert cause.code == NODE_LOST
    assert cause_of(Observation("gone"), RECORD, LocalEngine()) is None


def test_a_bootstrap_that_refuses_names_its_reason() -> None:
    refused = cause_of(Observation("exited", {0: 0, 1: agent_bootstrap.UNTRUSTED}), RECORD, NamespaceEngine())
    assert refused is not None and refused.node == 1
    assert refused.message == "node 1 does not trust the certificate of the server" and "--ca-file" in str(refused.hint)
    old = cause_of(Observation("exited", {1: agent_bootstrap.REFUSED}), RECORD, NamespaceEngine())
    assert old is not None and "Python is older than 3.8" in old.message
    first = Observation("exited", {0: agent_bootstrap.REFUSED})
    assert cause_of(first, RECORD, NamespaceEngine()) is None, "node 0 is done"
    assert agent.UNTRUSTED_SERVER == agent_bootstrap.UNTRUSTED
