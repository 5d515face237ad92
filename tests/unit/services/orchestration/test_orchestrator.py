from __future__ import annotations

import typing

from footplate.domain.runs import events

from ..conftest import House


def test_every_effect_has_a_row_in_the_table(house: House) -> None:
    assert set(house.services.orchestrator.effect_types) == set(typing.get_args(events.Effect))
