"""Rollouts as a sequence of looks: what a version becomes when the gateway and its runs report something."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from footplate.domain.orders import Cause
from footplate.domain.serving.endpoints import (
    DRAINING,
    FAILED,
    READY,
    STARTING,
    STOPPED,
    EndpointRecord,
    Replicas,
    Rollback,
    ServiceSettings,
    VersionRecord,
    VersionSpec,
)
from footplate.domain.serving.rollouts import (
    KEPT_VERSIONS,
    VersionReport,
    advance,
    is_settled,
    rebalance,
    remove_version,
    rivals_of,
    split_traffic,
    state_of,
)

UP = VersionReport(healthy=1, followed=True)
DOWN = VersionReport()


def version(number: int, state: str = STARTING, weight: float = 0.0, **more: Any) -> VersionRecord:
    spec = VersionSpec(("m:1",), replicas=more.pop("scale", Replicas()), name=more.pop("name", None))
    return VersionRecord(number, f"run{number}", spec, 0.0, state, weight, **more)


def service(*versions: VersionRecord, **settings: Any) -> EndpointRecord:
    return EndpointRecord("w", "svc", "svc", 0.0, 0.0, ServiceSettings(**settings), versions)


def states(record: EndpointRecord) -> list[tuple[str, float]]:
    return [(v.state, v.weight) for v in record.versions]


def test_a_version_is_ready_when_the_gateway_sends_it_requests() -> None:
    record = service(version(1))
    assert advance(record, {1: DOWN}, 1.0) is record
    routed = advance(record, {1: replace(UP, followed=False)}, 1.0)
    assert states(routed) == [(STARTING, 100.0)]
    assert advance(routed, {1: replace(UP, followed=False)}, 1.1) is routed
    ready = advance(routed, {1: UP}, 1.2)
    assert states(ready) == [(READY, 100.0)]
    assert (state_of(routed, {1: UP}), state_of(ready, {1: UP})) == ("Transitioning", "Healthy")
    assert is_settled(ready) and not is_settled(routed)


def test_all_replicas_are_healthy_before_a_version_takes_over() -> None:
    record = service(version(1, READY, 100.0), version(2, scale=Replicas(3, 3), replicas=3))
    assert advance(record, {1: UP, 2: replace(UP, healthy=2)}, 1.0) is record
    after = advance(advance(record, {1: UP, 2: replace(UP, healthy=3)}, 1.0), {1: UP, 2: replace(UP, healthy=3)}, 1.1)
    assert states(after) == [(DRAINING, 0.0), (READY, 100.0)]


def test_the_old_version_stops_when_it_has_answered_everything() -> None:
    record = service(version(1, DRAINING), version(2, READY, 100.0))
    assert advance(record, {1: replace(UP, routed=True), 2: UP}, 1.0) is record
    after = advance(record, {1: replace(DOWN, routed=False), 2: UP}, 1.0)
    assert states(after)[0] == (STOPPED, 0.0)
    late = advance(record, {1: UP, 2: UP}, 1000.0)
    assert states(late)[0] == (STOPPED, 0.0)


@pytest.mark.parametrize(
    ("sight", "now", "words"),
    [
        (VersionReport(failures=3, cause=Cause("exit_code", "no module onnx")), 5.0, "3 times: no module onnx"),
        (VersionReport(ended=True, cause=Cause("canceled", "canceled by ann")), 5.0, "canceled by ann"),
        (VersionReport(), 601.0, "was not ready after 600 s"),
    ],
)
def test_a_version_that_never_starts_fails_and_says_why(sight: VersionReport, now: float, words: str) -> None:
    record = service(version(1, READY, 100.0), version(2))
    after = advance(record, {1: UP, 2: sight}, now)
    assert states(after) == [(READY, 100.0), (FAILED, 0.0)]
    assert after.cause is not None and words in after.cause.message
    assert state_of(after, {1: UP}) == "Healthy"
    alone = advance(service(version(1)), {1: sight}, now)
    assert state_of(alone, {}) == "Failed"


def test_time_in_a_queue_does_not_count_as_time_to_start() -> None:
    waits, starts = VersionReport(waits=True), VersionReport()
    record = service(version(1))
    assert advance(record, {1: waits}, 20.0) is record, "it is not saved at every look"
    for now in range(31, 4000, 31):
        record = advance(record, {1: waits}, float(now))
    assert states(record) == [(STARTING, 0.0)]
    assert states(advance(record, {1: starts}, 4500.0)) == [(STARTING, 0.0)]
    assert states(advance(record, {1: starts}, 4700.0)) == [(FAILED, 0.0)]
    assert states(advance(record, {1: replace(waits, ended=True)}, 4000.0)) == [(FAILED, 0.0)]


def test_two_crashes_are_not_enough_to_give_up() -> None:
    record = service(version(1))
    assert advance(record, {1: VersionReport(failures=2)}, 5.0) is record


def test_a_ready_version_without_workers_is_unhealthy_and_stays() -> None:
    record = service(version(1, READY, 100.0))
    assert advance(record, {1: DOWN}, 5.0) is record
    assert state_of(record, {1: DOWN}) == "Unhealthy"


def test_a_canary_leaves_the_old_version_its_share() -> None:
    record = service(version(1, READY, 90.0), version(2, goal=10.0))
    after = advance(advance(record, {1: UP, 2: UP}, 1.0), {1: UP, 2: UP}, 1.1)
    assert states(after) == [(READY, 90.0), (READY, 10.0)]


def test_the_share_of_a_canary_is_a_percentage_of_all_requests() -> None:
    record = service(version(1, READY, 60.0), version(2, READY, 40.0), version(3, goal=10.0))
    for _ in range(2):
        record = advance(record, {1: UP, 2: UP, 3: UP}, 1.0)
    assert states(record) == [(READY, 54.0), (READY, 36.0), (READY, 10.0)]


def test_a_shadow_gets_no_share_and_replaces_nobody() -> None:
    record = service(version(1, READY, 100.0), version(2, goal=0.0, shadow=True))
    assert states(advance(record, {1: UP, 2: UP}, 1.0)) == [(READY, 100.0), (READY, 0.0)]


def test_errors_of_the_new_version_bring_the_old_one_back() -> None:
    record = service(version(1, READY, 100.0), version(2), rollback=Rollback(seconds=60))
    swapped = advance(advance(record, {1: UP, 2: UP}, 1.0), {1: UP, 2: UP}, 1.1)
    assert states(swapped) == [(READY, 0.0), (READY, 100.0)]
    harmless = replace(UP, requests=100, errors=90)
    assert advance(swapped, {1: UP, 2: harmless}, 2.0) is swapped, "version 1 fails these requests, too"
    good, bad = replace(UP, requests=100), replace(UP, requests=100, errors=30, faults=30)
    assert advance(swapped, {1: good, 2: good}, 2.0) is swapped
    after = advance(swapped, {1: good, 2: bad}, 2.0)
    assert states(after) == [(READY, 100.0), (FAILED, 0.0)]
    assert after.cause is not None and "30% of its requests failed" in after.cause.message


def test_a_slow_version_is_rolled_back_and_a_good_one_stays() -> None:
    record = took_over(service(version(1, READY, 100.0), version(2), rollback=Rollback(seconds=60)))
    old = replace(UP, requests=100, p99_seconds=0.01)
    slow = replace(UP, requests=100, p99_seconds=0.2, slow=2)
    assert advance(record, {1: old, 2: replace(slow, slow=0)}, 2.0) is record, "large requests are not its fault"
    assert states(advance(record, {1: old, 2: slow}, 2.0)) == [(READY, 100.0), (FAILED, 0.0)]
    assert states(advance(record, {1: old, 2: old}, 62.0))[0] == (DRAINING, 0.0)


def test_a_rollback_without_a_least_number_waits_for_the_first_request() -> None:
    record = took_over(service(version(1, READY, 100.0), version(2), rollback=Rollback(60, least_requests=0)))
    idle = advance(record, {1: replace(UP, requests=100), 2: replace(UP, requests=0)}, 2.0)
    assert [v.state for v in idle.versions] == [READY, READY]
    failing = {1: replace(UP, requests=100), 2: replace(UP, requests=1, errors=1, faults=1)}
    assert [v.state for v in advance(record, failing, 2.0).versions] == [READY, FAILED]


BAD = replace(UP, requests=100, errors=30, faults=30)


def test_only_versions_on_trial_are_compared_with_those_before_them() -> None:
    old = (version(1, READY, 70.0), version(2, READY, 0.0), version(3, READY, 30.0))
    record = took_over(service(*old, version(4), rollback=Rollback(seconds=60)))
    assert [rivals_of(record, v) for v in record.versions] == [[], [], [], [1, 3]]
    assert rivals_of(replace(record, settings=ServiceSettings()), record.versions[3]) == []


def took_over(record: EndpointRecord) -> EndpointRecord:
    """Return the record after its newest version became ready."""
    sights = {v.number: UP for v in record.versions}
    return advance(advance(record, sights, 1.0), sights, 1.1)


def test_a_rollback_restores_the_shares_from_before_the_update() -> None:
    record = service(version(1, READY, 100.0), version(2, READY, 0.0), version(3), rollback=Rollback(seconds=60))
    swapped = took_over(record)
    assert states(swapped) == [(READY, 0.0), (READY, 0.0), (READY, 100.0)]
    after = advance(swapped, {1: UP, 2: UP, 3: BAD}, 2.0)
    assert states(after) == [(READY, 100.0), (READY, 0.0), (FAILED, 0.0)]
    assert after.cause is not None and "rolled back to version 1:" in after.cause.message


@pytest.mark.parametrize("goal", [100.0, 50.0, 7.0, 0.0])
def test_a_rollback_restores_shares_and_shadows_of_any_kind(goal: float) -> None:
    old = [version(1, READY, 60.1), version(2, READY, 0.0), version(3, READY, 0.0, shadow=True),
           version(4, READY, 39.9)]  # fmt: skip
    record = took_over(service(*old, version(5, goal=goal), rollback=Rollback(seconds=60)))
    record = split_traffic(record, {1: 70, 3: 10, 5: 20}, 1.5)  # the shadow takes requests meanwhile
    assert not record.versions[2].shadow
    after = advance(record, {1: UP, 2: UP, 3: UP, 4: UP, 5: BAD}, 2.0)
    assert [(v.weight, v.shadow) for v in after.versions[:4]] == [(v.weight, v.shadow) for v in old]
    assert states(after)[4] == (FAILED, 0.0)


def test_all_standbys_stop_when_the_time_for_a_rollback_is_over() -> None:
    old = (version(1, READY, 70.0), version(2, READY, 0.0), version(3, READY, 30.0))
    record = took_over(service(*old, version(4), rollback=Rollback(seconds=60)))
    sights = dict.fromkeys(range(1, 5), UP)
    assert advance(record, sights, 60.0) is record
    assert states(advance(record, sights, 62.0)) == [(DRAINING, 0.0)] * 3 + [(READY, 100.0)]


def test_a_canary_stops_nobody_who_had_no_requests_before() -> None:
    old = (version(1, READY, 100.0), version(2, READY, 0.0))
    record = took_over(service(*old, version(3, goal=10.0), rollback=Rollback(seconds=60)))
    assert advance(record, {1: UP, 2: UP, 3: UP}, 100.0) is record


def test_a_version_that_fails_while_it_takes_over_restores_the_shares() -> None:
    record = service(version(1, READY, 100.0), version(2, READY, 0.0), version(3))
    taking = advance(record, {1: UP, 2: UP, 3: replace(UP, followed=False)}, 1.0)
    assert states(taking) == [(READY, 0.0), (READY, 0.0), (STARTING, 100.0)]
    after = advance(taking, {1: UP, 2: UP, 3: VersionReport(ended=True)}, 2.0)
    assert states(after) == [(READY, 100.0), (READY, 0.0), (FAILED, 0.0)]


def test_the_share_of_a_version_that_ends_goes_to_the_others() -> None:
    record = service(version(1, READY, 60.0), version(2, READY, 20.0), version(3, READY, 20.0))
    after = advance(record, {1: VersionReport(ended=True), 2: UP, 3: UP}, 2.0)
    assert states(after) == [(FAILED, 0.0), (READY, 50.0), (READY, 50.0)]


def test_replicas_follow_the_queue_between_their_limits() -> None:
    record = service(version(1, READY, 100.0, scale=Replicas(1, 4, queue_per_replica=4), replicas=1))
    busy = advance(record, {1: replace(UP, queue=10)}, 10.0)
    assert busy.versions[0].replicas == 3
    flooded = advance(record, {1: replace(UP, queue=100)}, 10.0)
    assert flooded.versions[0].replicas == 4
    assert advance(flooded, {1: UP}, 20.0).versions[0].replicas == 4
    assert advance(flooded, {1: UP}, 41.0).versions[0].replicas == 3


def test_an_idle_version_stops_its_last_replica_and_a_request_starts_it() -> None:
    record = service(version(1, READY, 100.0, scale=Replicas(0, 1, idle_seconds=60), replicas=1))
    assert advance(record, {1: UP}, 59.0).versions[0].replicas == 1
    idle = advance(record, {1: UP}, 61.0)
    assert idle.versions[0].replicas == 0 and state_of(idle, {}) == "Healthy"
    assert advance(idle, {1: DOWN}, 62.0) is idle
    assert advance(idle, {1: VersionReport(queue=1)}, 63.0).versions[0].replicas == 1


def test_deleting_drains_every_version() -> None:
    record = replace(service(version(1, READY, 100.0), version(2)), deleting=True)
    after = advance(record, {1: UP, 2: DOWN}, 1.0)
    assert [v.state for v in after.versions] == [DRAINING, DRAINING]
    assert state_of(after, {}) == "Deleting"


def test_only_the_last_versions_that_are_over_are_kept() -> None:
    over = [version(number, STOPPED) for number in range(1, 21)]
    after = advance(service(*over, version(21, READY, 100.0)), {21: UP}, 1.0)
    assert [v.number for v in after.versions] == list(range(21 - KEPT_VERSIONS, 22))


def test_a_split_sets_the_shares_of_ready_versions() -> None:
    record = service(version(1, READY, 100.0), version(2, READY, 0.0), version(3))
    assert states(split_traffic(record, {1: 30, 2: 70}, 1.0)) == [(READY, 30), (READY, 70), (STARTING, 0.0)]
    assert states(split_traffic(record, {2: 30}, 1.0)) == [(READY, 70), (READY, 30), (STARTING, 0.0)]


def test_a_version_that_fails_while_it_takes_over_gives_the_requests_back() -> None:
    record = service(version(1, READY, 100.0), version(2))
    taking = advance(record, {1: UP, 2: replace(UP, followed=False)}, 1.0)
    assert states(taking) == [(READY, 0.0), (STARTING, 100.0)]
    after = advance(taking, {1: UP, 2: VersionReport(ended=True)}, 2.0)
    assert states(after) == [(READY, 100.0), (FAILED, 0.0)]


def test_versions_with_names_keep_their_goals_beside_the_default() -> None:
    record = service(
        version(1, READY, 90.0, name="a", goal=20.0),
        version(2, READY, 10.0, name="b", goal=10.0),
        version(3, name="c", goal=30.0),
        default_version="a",
    )
    sights = {1: UP, 2: UP, 3: replace(UP, followed=False)}
    routed = advance(record, sights, 1.0)
    assert states(routed) == [(READY, 60.0), (READY, 10.0), (STARTING, 30.0)]
    assert advance(routed, sights, 1.1) is routed
    ready = advance(routed, {1: UP, 2: UP, 3: UP}, 1.2)
    assert states(ready) == [(READY, 60.0), (READY, 10.0), (READY, 30.0)]
    moved = rebalance(replace(ready, settings=replace(ready.settings, default_version="b")))
    assert states(moved) == [(READY, 20.0), (READY, 50.0), (READY, 30.0)]


def test_a_version_with_a_name_replaces_only_its_predecessor() -> None:
    record = service(
        version(1, READY, 80.0, name="a", goal=0.0),
        version(2, READY, 20.0, name="b", goal=20.0),
        version(3, name="b", goal=40.0),
        default_version="a",
    )
    taking = advance(record, {1: UP, 2: UP, 3: replace(UP, followed=False)}, 1.0)
    assert states(taking) == [(READY, 60.0), (READY, 0.0), (STARTING, 40.0)]
    after = advance(taking, {1: UP, 2: UP, 3: UP}, 1.1)
    assert states(after) == [(READY, 60.0), (DRAINING, 0.0), (READY, 40.0)]
    failed = advance(taking, {1: UP, 2: UP, 3: VersionReport(ended=True)}, 1.1)
    assert states(failed) == [(READY, 80.0), (READY, 20.0), (FAILED, 0.0)]


def test_the_oldest_version_takes_the_place_of_a_removed_default() -> None:
    record = service(
        version(1, READY, 20.0, name="a", goal=20.0),
        version(2, READY, 80.0, name="b", goal=40.0),
        default_version="b",
    )
    after = remove_version(record, 2, 5.0)
    assert states(after) == [(READY, 100.0), (DRAINING, 0.0)]
    assert after.settings.default_version == "a"


def test_versions_without_names_divide_the_share_of_a_removed_one() -> None:
    record = service(version(1, READY, 60.0), version(2, READY, 20.0), version(3, READY, 20.0))
    assert states(remove_version(record, 1, 5.0)) == [(DRAINING, 0.0), (READY, 50.0), (READY, 50.0)]
    assert states(remove_version(service(version(1, READY, 100.0), version(2, READY)), 1, 5.0))[1] == (READY, 100.0)


def test_a_split_of_versions_with_names_sets_their_goals() -> None:
    record = service(version(1, READY, 100.0, name="a"), version(2, READY, 0.0, name="b"), default_version="a")
    after = split_traffic(record, {1: 25, 2: 75}, 1.0)
    assert [(v.goal, v.weight) for v in after.versions] == [(25.0, 25.0), (75.0, 75.0)]
