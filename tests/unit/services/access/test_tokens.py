from __future__ import annotations

import time
from dataclasses import replace

import pytest

from footplate.domain.records import NodeRecord, NodeState, RunRecord, Stage
from footplate.domain.specs import RunSpec
from footplate.services.access.tokens import DELIVERY_SECONDS, REPEAT_SECONDS, TokenHolder, TokenService, is_valid

from ..conftest import House

ENDED = RunRecord("r", "w", RunSpec("e"), Stage.ENDED, created=0.0, ended=1000.0)


def node(state: NodeState) -> NodeRecord:
    return NodeRecord(0, state)


@pytest.mark.parametrize("run", ["r1", "with.dots.2", "r1.1"])
def test_a_token_names_its_run(house: House, run: str) -> None:
    house.submit(run)
    tokens = TokenService(house.store)
    token = tokens.token_of(run, 1)
    assert tokens.recall(token) is None
    assert tokens.holder_of(token) == TokenHolder(run, house.workspace) == tokens.recall(token)


def test_a_changed_or_foreign_token_is_not_valid(house: House) -> None:
    for run in ("r1", "r2"):
        house.submit(run)
    tokens = TokenService(house.store)
    token = tokens.token_of("r1", 1)
    signature = token.rpartition(".")[2]
    wrong = ["", ".", "..", "r1", token[:-1], token + "0", f"r2.1.{signature}", f"r1.2.{signature}",
             f"r1.01.{signature}", f"r1.{'9' * 5000}.{signature}",
             tokens.token_of("unknown", 1), "ü.1.x", "\udcff.1.x"]  # fmt: skip
    assert [tokens.holder_of(each) for each in wrong] == [None] * len(wrong)


def test_a_token_ends_with_its_run(house: House) -> None:
    house.submit("r1")
    house.until_launched("r1")
    house.services.nodes.join("r1", 0, 1, "host", "127.0.0.1", {})
    tokens = TokenService(house.store)
    token = tokens.token_of("r1", 1)
    for event in ("started", "exited", "done"):
        house.services.nodes.report("r1", 0, event, None, None)
    house.until_status("r1", "Completed")
    assert tokens.holder_of(token) is not None, "an agent may repeat its last report"
    record = house.store.runs.record("r1")
    assert not is_valid(record, time.time() + REPEAT_SECONDS + 1)


@pytest.mark.parametrize(("state", "seconds"), [(NodeState.DONE, REPEAT_SECONDS), (NodeState.LOST, DELIVERY_SECONDS)])
def test_lost_nodes_have_longer_to_deliver(state: NodeState, seconds: float) -> None:
    record = replace(ENDED, nodes=(node(NodeState.DONE), node(state)))
    assert is_valid(record, 1000.0 + seconds - 1)
    assert not is_valid(record, 1000.0 + seconds)
    assert is_valid(replace(record, stage=Stage.RUNNING), 1e12)


def test_lost_nodes_can_deliver_after_the_server_was_away_for_an_hour() -> None:
    record, back = replace(ENDED, nodes=(node(NodeState.LOST),)), 1000.0 + 3600.0
    assert is_valid(record, back + DELIVERY_SECONDS - 1, started=back)
    assert not is_valid(record, back + DELIVERY_SECONDS, started=back)
    assert not is_valid(record, 1000.0 + 25 * 3600.0, started=1000.0 + 25 * 3600.0), "a token of yesterday works again"
    delivered = replace(ENDED, nodes=(node(NodeState.DONE),))
    assert not is_valid(delivered, back, started=back)
