from __future__ import annotations

from footplate.domain.runs import events

from ..conftest import House


def test_every_effect_has_a_row_in_the_table(house: House) -> None:
    assert house.services.orchestrator.handlers.keys() == set(events.Effect.__subclasses__())
