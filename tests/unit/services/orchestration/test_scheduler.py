"""The cost of a queue, counted in statements: an event must cost the same however many runs wait."""

from __future__ import annotations

from ..conftest import House, Statements, run_through

TARGET = "small"


def enqueue(house: House, *runs: str) -> None:
    for run in runs:
        house.submit(run, target=TARGET)
    for run in runs:
        house.bulletin.until(lambda run=run: house.store.runs.record(run).waiting is not None)


def cost(house: House, statements: Statements, name: str, first: str, second: str) -> int:
    """Let a run arrive, cancel it, and let `second` take the place of `first`; return the number of statements."""
    statements.count.clear()
    statements.texts.clear()
    enqueue(house, name)
    house.services.runs.cancel(name)
    run_through(house, first)
    house.until_launched(second)
    scans = [text for text in statements.texts if "runs.stage" in text.partition("WHERE")[2]]
    assert scans == [], "no statement looks for runs by their stage"
    return sum(n for thread, n in statements.count.items() if thread == "scheduler" or thread.startswith("effects"))


def test_an_event_costs_the_same_however_many_runs_wait(house: House) -> None:
    house.services.computes.put(house.workspace, TARGET, max_nodes=1)
    statements = Statements(house.store)
    house.submit("r0", target=TARGET)
    house.until_launched("r0")
    enqueue(house, "r1", "r2")
    few = cost(house, statements, "x0", "r0", "r1")
    enqueue(house, *(f"r{number}" for number in range(3, 43)))
    many = cost(house, statements, "x1", "r1", "r2")
    assert many <= few + 20, "a look may happen twice; forty waiting runs would cost forty times two"
    waiting = house.services.runs.view("r42").waiting
    assert waiting is not None and waiting.position == 40
    assert waiting.reason == "1 of 1 node of 'small' is busy, and 39 runs wait before it"
    assert house.services.computes.get(house.workspace, TARGET).waiting_runs == 40
