"""Shares as percentages: whatever happens to a service, those of its versions add up to 100."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from footplate.domain.serving.endpoints import (
    READY,
    STARTING,
    EndpointRecord,
    Rollback,
    ServiceSettings,
    VersionRecord,
    VersionSpec,
)
from footplate.domain.serving.rollouts import VersionReport, advance, remove_version, split_traffic
from footplate.domain.serving.shares import fill, make_room, restore, serves, shares_of
from footplate.errors import InvalidInput


def version(number: int, weight: float, state: str = READY, **more: Any) -> VersionRecord:
    return VersionRecord(number, f"run{number}", VersionSpec(("m:1",), name=more.pop("name", None)), 0.0, state, weight,
                         **more)  # fmt: skip


def service(*versions: VersionRecord, **settings: Any) -> EndpointRecord:
    return EndpointRecord("w", "svc", "svc", 0.0, 0.0, ServiceSettings(**settings), versions)


def total(record: EndpointRecord) -> float:
    return math.fsum(v.weight for v in record.versions if serves(v))


percents = st.one_of(st.integers(0, 100).map(float), st.floats(0, 100))


@st.composite
def services(draw: st.DrawFn) -> EndpointRecord:
    """Draw a service of one to five versions whose shares add up to 100; some others are shadows."""
    raw = draw(st.lists(percents, min_size=1, max_size=5))
    assume(sum(raw) > 0.01)
    versions = [version(number, 100 * weight / sum(raw)) for number, weight in enumerate(raw, 1)]
    shadows = [version(len(raw) + 1, 0.0, shadow=True)] * draw(st.integers(0, 1))
    return service(*versions, *shadows)


@given(services(), st.dictionaries(st.integers(1, 6), percents, max_size=6))
def test_a_split_gives_what_it_names_or_is_refused(record: EndpointRecord, shares: dict[int, float]) -> None:
    try:
        after = split_traffic(record, shares, 1.0)
    except InvalidInput as error:
        assert error.hint
        numbers = {v.number for v in record.versions}
        others = sum(v.weight for v in record.versions if v.number not in shares)
        unknown, sums = set(shares) - numbers, math.fsum(shares.values())
        assert unknown or not shares or sums > 100 or (sums < 100 and not others)
        return
    assert total(after) == pytest.approx(100)
    unnamed = [(old.weight, new.weight) for old, new in zip(record.versions, after.versions, strict=True)
               if new.number not in shares]  # fmt: skip
    assert all(new.weight == shares[new.number] for new in after.versions if new.number in shares)
    having = math.fsum(old for old, _ in unnamed)
    rest = max(0.0, 100.0 - math.fsum(shares.values()))
    for old, new in unnamed:
        assert new == pytest.approx(rest * (old / having) if having else 0.0, abs=1e-6)


@given(services(), st.data())
def test_the_shares_always_add_up_to_100(record: EndpointRecord, data: st.DataObject) -> None:
    record = replace(record, settings=ServiceSettings(rollback=Rollback(seconds=data.draw(st.sampled_from([0, 60])))))
    now = 1.0
    for _ in range(8):
        now += data.draw(st.sampled_from([0.1, 100.0]))
        living = [v.number for v in record.versions if v.state in (READY, STARTING)]
        act = data.draw(st.sampled_from(["update", "split", "remove", "look"]))
        number = data.draw(st.sampled_from(living))
        ready = [v for v in record.versions if v.state == READY and not v.shadow]
        if act == "update" and not any(v.state == STARTING for v in record.versions):
            new = version(record.next_number, 0.0, STARTING, goal=data.draw(percents), since=now)
            record = replace(record, versions=(*record.versions, new))
        elif act == "split" and len(ready) > 1:
            record = split_traffic(record, {v.number: 100 / len(ready) for v in ready}, now)
        elif act == "remove" and [v for v in ready if v.number != number]:
            record = remove_version(record, number, now)
        else:
            kinds = [
                VersionReport(healthy=1, followed=True),
                VersionReport(requests=50, errors=40, faults=40, healthy=1),
            ]
            seen = {v.number: data.draw(st.sampled_from(kinds)) for v in record.versions}
            record = advance(record, seen, now)
        assert total(record) == pytest.approx(100), act


@given(services(), st.dictionaries(st.integers(1, 6), percents, max_size=6))
def test_restored_shares_are_exactly_those_from_before(record: EndpointRecord, shares: dict[int, float]) -> None:
    before = shares_of(record.versions)
    changed = [replace(v, weight=shares.get(v.number, 0.0), shadow=False) for v in record.versions]
    assert shares_of(restore(changed, before, 1.0)) == before


@pytest.mark.parametrize(
    ("shares", "words", "hint"),
    [
        ({1: 90, 2: 90}, "1=90 2=90 is 180 percent", "at most 100"),
        ({1: 50, 2: 20}, "is 70 percent of the requests, and no other version takes the rest of 30", "1 (100)"),
        ({1: 30}, "1=30 is 30 percent", "add up to 100"),
        ({2: -1}, "the share of version 2 is -1", "from 0 to 100"),
        ({2: math.nan}, "the share of version 2 is nan", "from 0 to 100"),
        ({3: 10}, "version 3 of 'svc' is not ready", "ready are: 1 (100), 2 (0)"),
        ({}, "no shares are given", "such as 1=90 2=10"),
    ],
)  # fmt: skip
def test_a_refused_split_names_the_sums(shares: dict[int, float], words: str, hint: str) -> None:
    record = service(version(1, 100.0), version(2, 0.0), version(3, 0.0, STARTING))
    with pytest.raises(InvalidInput) as caught:
        split_traffic(record, shares, 1.0)
    assert words in caught.value.message and hint in str(caught.value.hint)


def test_a_split_while_a_version_takes_over_sets_its_goal() -> None:
    record = service(version(1, 0.0), version(2, 100.0, STARTING))
    after = split_traffic(record, {1: 40}, 1.0)
    assert [(v.weight, v.goal) for v in after.versions] == [(40.0, 100.0), (60.0, 60.0)]


def test_a_named_shadow_takes_requests_and_others_stay_shadows() -> None:
    record = service(version(1, 100.0), version(2, 0.0, shadow=True), version(3, 0.0, shadow=True))
    after = split_traffic(record, {2: 25}, 1.0)
    assert [(v.weight, v.shadow) for v in after.versions] == [(75.0, False), (25.0, False), (0.0, True)]


def test_the_default_version_has_the_rest_of_a_split_by_name() -> None:
    record = service(
        version(1, 70.0, name="a", goal=20.0), version(2, 30.0, name="b", goal=30.0),
        version(3, 0.0, STARTING, name="c", goal=40.0), default_version="a",
    )  # fmt: skip
    after = split_traffic(record, {2: 60}, 1.0)
    assert [(v.weight, v.goal) for v in after.versions] == [(40.0, 20.0), (60.0, 60.0), (0.0, 40.0)]
    with pytest.raises(InvalidInput, match="2=70 leaves 30 percent to 'c', which starts and is to have 40"):
        split_traffic(record, {2: 70}, 1.0)


@pytest.mark.parametrize("tiny", [5e-324, 1e-309, 1e-300])
def test_shares_stay_finite_after_a_removal_of_almost_everything(tiny: float) -> None:
    record = service(version(1, 100.0), version(2, tiny), version(3, 3 * tiny))
    assert [v.weight for v in remove_version(record, 1, 1.0).versions] == [0, pytest.approx(25), pytest.approx(75)]
    with_room = make_room([version(2, tiny), version(3, 3 * tiny), version(4, 20.0)], version(4, 20.0))
    assert [v.weight for v in with_room] == [pytest.approx(20), pytest.approx(60), 20]
    after = split_traffic(record, {1: 60}, 1.0)
    assert [v.weight for v in after.versions] == [60, pytest.approx(10), pytest.approx(30)]


def test_a_version_that_is_alone_gets_all_requests() -> None:
    assert [v.weight for v in fill([version(1, 0.0), version(2, 0.0), version(3, 0.0, shadow=True)])] == [0, 100, 0]
