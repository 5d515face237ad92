"""Shipments of node agents, over a real store."""

from __future__ import annotations

import time

import pytest

from footplate.domain.orders import Cause
from footplate.domain.shipments import LOG, FilePiece, NodeHost, NodeReport, Shipment, encode
from footplate.errors import Conflict, InvalidInput

from .conftest import House

RUN, LOG_NAME = "short", "user_logs/std_log.txt"


def log(offset: int, text: str, replace: bool = False) -> FilePiece:
    return FilePiece(LOG_NAME, LOG, offset, encode(text.encode()), replace)


def joined(house: House) -> None:
    house.submit(RUN)
    house.until_launched(RUN)
    house.services.nodes.join(RUN, 0, 1, "gandalf", "127.0.0.1", {})


def test_one_shipment_takes_a_run_from_its_start_to_its_end(house: House) -> None:
    joined(house)
    take = house.services.shipments.take
    assert take(RUN, 0, Shipment(1, (NodeReport("started"),))).stop is False
    last = Shipment(1, (NodeReport("exited"),), (log(0, "one\n"), log(4, "two\n")), is_last=True)
    assert take(RUN, 0, last).stored == 2
    assert house.status(RUN) == "Completed"
    assert house.store.logs.read(RUN, LOG_NAME, 0, 100) == b"one\ntwo\n"


def test_a_node_may_join_with_its_first_shipment(house: House) -> None:
    house.submit(RUN)
    house.until_launched(RUN)
    first = Shipment(1, (NodeReport("joined", host=NodeHost("gandalf", "127.0.0.1", {})), NodeReport("started")))
    for _ in range(2):
        assert house.services.shipments.take(RUN, 0, first).stop is False
    assert house.status(RUN) == "Running"
    assert house.store.runs.record(RUN).nodes[0].host == "gandalf"
    events = [line.event for line in house.store.runs.story(RUN)]
    assert events[-2:] == ["NodeJoined", "NodeStarted"]
    with pytest.raises(InvalidInput, match="'joined' is unknown"):
        house.services.nodes.report(RUN, 0, "joined", None, None)


def test_a_shipment_may_be_repeated(house: House) -> None:
    joined(house)
    shipment = Shipment(1, (NodeReport("started"),), (log(0, "one\n"),))
    assert [house.services.shipments.take(RUN, 0, shipment).stored for _ in range(2)] == [1, 1]
    assert house.store.logs.read(RUN, LOG_NAME, 0, 100) == b"one\n"


def test_a_refused_piece_ends_the_shipment_and_the_node_is_not_done(house: House) -> None:
    joined(house)
    pieces = (log(0, "one\n"), FilePiece("w", "slots", 64, encode(b"x" * 32)), log(4, "two\n"))
    reply = house.services.shipments.take(RUN, 0, Shipment(1, (NodeReport("exited"),), pieces, is_last=True))
    assert (reply.stop, reply.stored) == (True, 1)
    assert house.status(RUN) == "Finalizing"
    assert house.store.logs.read(RUN, LOG_NAME, 0, 100) == b"one\n"


def test_the_cause_of_a_failure_arrives(house: House) -> None:
    joined(house)
    reports = (NodeReport("exited", cause=Cause("exit_code", "rank 0 exited with 3")),)
    house.services.shipments.take(RUN, 0, Shipment(1, reports, is_last=True))
    outcome = house.store.runs.record(RUN).outcome
    assert house.status(RUN) == "Failed"
    assert outcome is not None and outcome.cause is not None
    assert outcome.cause.message == "rank 0 exited with 3"


def test_a_shipment_of_another_attempt_is_refused_as_a_whole(house: House) -> None:
    joined(house)
    with pytest.raises(Conflict, match="is at attempt 1, not 2"):
        house.services.shipments.take(RUN, 0, Shipment(2, pieces=(log(0, "one\n"),)))
    assert house.store.logs.read(RUN, LOG_NAME, 0, 100) == b""


def test_bytes_that_are_not_in_base_64_are_named() -> None:
    with pytest.raises(InvalidInput, match="'a' is not in base 64"):
        assert FilePiece("a", LOG, 0, "é").content


@pytest.mark.parametrize(("age", "is_early"), [(0.0, False), (3600.0, True), (-3600.0, False), (float("nan"), False)])
def test_an_event_happened_before_it_arrived_but_not_before_its_run(house: House, age: float, is_early: bool) -> None:
    joined(house)
    house.services.shipments.take(RUN, 0, Shipment(1, (NodeReport("started", age=age),)))
    record = house.store.runs.record(RUN)
    assert record.started is not None
    assert (record.started == record.created) == is_early
    assert record.created <= record.started <= time.time()


def test_a_run_that_is_reported_at_its_end_has_a_duration(house: House) -> None:
    joined(house)
    reports = (NodeReport("started", age=0.001), NodeReport("exited"))
    house.services.shipments.take(RUN, 0, Shipment(1, reports, is_last=True))
    record = house.store.runs.record(RUN)
    assert house.status(RUN) == "Completed"
    assert record.started is not None and record.ended is not None
    assert record.ended - record.started == pytest.approx(0.001, abs=1e-5)
    told = [line.event for line in house.services.runs.story(RUN)]
    assert told[-3:] == ["NodeStarted", "NodeExited", "NodeFinished"]
