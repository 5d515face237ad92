"""Decide which versions of a service take requests, how many replicas each has, and when a version has failed.

    starting ──healthy──▶ ready ──replaced or deleted──▶ draining ──answered──▶ stopped
        └──crashes, ends, or takes too long──▶ failed

A version takes requests only when it is ready. When a version with a goal of 100 becomes ready, the others drain; if
`rollback` is set, they stay as standbys without requests until the new one has proved itself. A new version that does
badly gives back exactly the shares from before it.

Versions with names stay beside each other: each has its goal, and the default version has the rest.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import List, Mapping, Optional, Sequence

from footplate.domain.orders import Cause
from footplate.domain.serving.endpoints import (
    BROKEN,
    DELETING,
    DRAINING,
    FAILED,
    HEALTHY,
    READY,
    STARTING,
    STOPPED,
    TRANSITIONING,
    UNHEALTHY,
    EndpointRecord,
    Rollback,
    VersionRecord,
)
from footplate.domain.serving.shares import (
    fill,
    make_room,
    restore,
    serves,
    share_by_name,
    shares_of,
    split,
    split_by_name,
)

MAX_FAILURES = 3
"""A new version whose replicas have crashed this often before the first request is given up."""

SHRINK_SECONDS = 30.0
"""A replica is removed when it has not been needed for this long."""

KEPT_VERSIONS = 10

WAIT_SECONDS = 30.0
"""How often the record of a version that waits in a queue is changed: that time does not count as its start."""


@dataclass(frozen=True)
class VersionFigures:
    """Figures of a version at the gateway. Requests, errors, faults, slow answers and percentiles: of the last minute.

    `faults` are failures, and `slow` slow answers, to requests that one of its rivals answers, and faster.
    """

    healthy: int = 0
    queue: int = 0
    running: int = 0
    retries: int = 0
    shadow_differences: int = 0
    requests: int = 0
    errors: int = 0
    faults: int = 0
    slow: int = 0
    p50_seconds: Optional[float] = None
    p99_seconds: Optional[float] = None


@dataclass(frozen=True)
class VersionReport(VersionFigures):
    """A version as its runs and the gateway report it."""

    failures: int = 0  # attempts of replicas that ended
    ended: bool = False  # its group
    routed: bool = True  # the gateway still has requests of it, or has not read the newest routes yet
    followed: bool = False  # the gateway follows the newest routes
    cause: Optional[Cause] = None  # of the last failure
    waits: bool = False  # its replicas are in the queue of their compute target


NOTHING = VersionReport()
Seen = Mapping[int, VersionReport]


def advance(record: EndpointRecord, seen: Seen, now: float) -> EndpointRecord:
    """Return the record after one look at the service; the same record if nothing changes."""
    if record.deleting:
        versions = [drain(v, now) if v.state in (STARTING, READY) else v for v in record.versions]
    else:
        versions = [_scale(v, seen.get(v.number, NOTHING), now) for v in _look_at_all(record, seen, now)]
    versions = [_stop_drained(record, v, seen.get(v.number, NOTHING), now) for v in versions]
    after = _forget_old(versions)
    failed = next((v for v in reversed(after) if v.state == FAILED), None)
    newly = failed is not None and failed not in record.versions
    cause = failed.cause if newly and failed is not None else record.cause
    if tuple(after) == record.versions and cause == record.cause:
        return record
    return replace(record, versions=tuple(after), cause=cause)


def _look_at_all(record: EndpointRecord, seen: Seen, now: float) -> List[VersionRecord]:
    """Return the versions after looking at each; one that has become ready replaces the others."""
    versions = [_look_at(record, v, seen.get(v.number, NOTHING), now) for v in record.versions]
    before = {v.number: v for v in record.versions}
    for version in versions:
        old = before[version.number]
        if version.shadow or old.state != STARTING:
            continue
        if version.spec.name is not None:
            versions = [_drain_predecessor(v, version, now) for v in versions]
            continue
        if version.state == READY and version.goal >= 100:
            versions = [_replace(v, version, record.settings.rollback, now) for v in versions]
        elif version.weight > old.weight:  # one change of the routes gives it its requests
            versions = make_room(versions, version)
    if has_names(record):
        return share_by_name(versions, record.settings.default_version)
    return _roll_back(record, _share_out_failed(record, versions, now), seen, now)


def _share_out_failed(record: EndpointRecord, versions: List[VersionRecord], now: float) -> List[VersionRecord]:
    """Divide the requests of versions that have failed since the last look among the others.

    One that failed while it took over gives back the shares from before it; so does one that had all requests.
    """
    before = {v.number: v.state for v in record.versions}
    for failed in (v for v in versions if v.state == FAILED and before[v.number] != FAILED and v.before):
        if before[failed.number] == STARTING or not any(v.weight for v in versions if serves(v)):
            versions = restore(versions, failed.before, now)
    return fill(versions)


def _look_at(record: EndpointRecord, version: VersionRecord, report: VersionReport, now: float) -> VersionRecord:
    if version.state == STARTING and not report.ended and report.healthy >= max(1, version.spec.replicas.minimum):
        goal = version.goal if version.spec.name is None else _share_when_ready(record, version)
        before = version.before or shares_of(record.versions)
        if version.weight != goal:
            return replace(version, weight=goal, before=before)  # ready as soon as the gateway follows
        return replace(version, state=READY, since=now, busy=now, before=before) if report.followed else version
    if version.state == STARTING and report.waits and not report.ended:
        return replace(version, since=now) if now - version.since > WAIT_SECONDS else version
    if version.state == STARTING:
        cause = _reason_to_give_up(record, version, report, now)
        return version if cause is None else replace(version, state=FAILED, weight=0.0, since=now, cause=cause)
    if version.state == READY and report.ended:
        cause = report.cause or Cause("ended", f"run {version.run} of version {version.number} has ended")
        return replace(version, state=FAILED, weight=0.0, since=now, cause=cause)
    return version


def _reason_to_give_up(
    record: EndpointRecord, version: VersionRecord, report: VersionReport, now: float
) -> Optional[Cause]:
    name = f"version {version.number} of service {record.name}"
    hint = f"see its output with: footplate endpoints logs {record.name}"
    if report.ended or report.failures >= MAX_FAILURES:
        failure = report.cause or Cause("ended", f"run {version.run} has ended")
        times = f", {report.failures} times" if report.failures > 1 else ""
        return replace(failure, message=f"{name} did not start{times}: {failure.message}", hint=failure.hint or hint)
    limit = record.settings.start_seconds
    if now - version.since > limit:
        why = f": {report.cause.message}" if report.cause is not None else ""
        return Cause("start_timeout", f"{name} was not ready after {limit:g} s{why}", hint)
    return None


def _replace(version: VersionRecord, by: VersionRecord, rollback: Rollback, now: float) -> VersionRecord:
    if version.number == by.number or version.state not in (STARTING, READY) or version.shadow:
        return version
    if rollback.seconds > 0 and version.state == READY:
        return replace(version, weight=0.0, since=now)  # a standby
    return drain(version, now)


def drain(version: VersionRecord, now: float) -> VersionRecord:
    return replace(version, state=DRAINING, weight=0.0, since=now)


def _stop_drained(record: EndpointRecord, version: VersionRecord, report: VersionReport, now: float) -> VersionRecord:
    """Stop a version that has answered everything; one that cannot, after the time that a request may take."""
    if version.state != DRAINING:
        return version
    late = now - version.since > record.settings.limits.timeout_seconds + 10
    return replace(version, state=STOPPED, since=now) if report.ended or not report.routed or late else version


# ── Versions with names ───────────────────────────────────────────────────────────────────────────────────────────────


def has_names(record: EndpointRecord) -> bool:
    return any(v.spec.name is not None for v in record.versions)


def rebalance(record: EndpointRecord) -> EndpointRecord:
    """Return the record with the shares that its versions are to have, if they have names."""
    if not has_names(record):
        return record
    return replace(record, versions=tuple(share_by_name(record.versions, record.settings.default_version)))


def _share_when_ready(record: EndpointRecord, version: VersionRecord) -> float:
    """Return the share that a version will have when it is ready."""
    ready = [replace(v, state=READY) if v.number == version.number else v for v in record.versions]
    shared = share_by_name(ready, record.settings.default_version)
    return next(v.weight for v in shared if v.number == version.number)


def _drain_predecessor(version: VersionRecord, by: VersionRecord, now: float) -> VersionRecord:
    """Drain a version whose successor of the same name is ready."""
    same = version.spec.name == by.spec.name and version.number < by.number
    return drain(version, now) if by.state == READY and same and version.state in (STARTING, READY) else version


def remove_version(record: EndpointRecord, number: int, now: float) -> EndpointRecord:
    """Return the record with a version that drains; the others divide its requests. One that has failed is over."""
    version = next(v for v in record.versions if v.number == number)
    version = replace(version, state=STOPPED) if version.state == FAILED else drain(version, now)
    versions = fill([version if v.number == number else v for v in record.versions])
    settings = record.settings
    if settings.default_version is not None and settings.default_version == version.spec.name:
        oldest = next((v.spec.name for v in versions if v.state == READY), None)
        settings = replace(settings, default_version=oldest)
    return rebalance(replace(record, settings=settings, versions=tuple(versions), modified=now, cause=None))


# ── Rollback ──────────────────────────────────────────────────────────────────────────────────────────────────────────


def _roll_back(record: EndpointRecord, versions: List[VersionRecord], seen: Seen, now: float) -> List[VersionRecord]:
    """Restore the shares from before the newest version if it does badly; stop the standbys in time."""
    rules = record.settings.rollback
    tried = [v for v in versions if v.state == READY and not v.shadow and v.before]
    if rules.seconds <= 0 or not tried:
        return versions
    new = max(tried, key=lambda v: v.number)
    old = _from_before(versions, new)
    why = _does_badly(seen.get(new.number, NOTHING), [seen.get(v.number, NOTHING) for v in old], rules)
    if not old or not new.weight or why is None:
        return _without_standbys(versions, new, rules, now)
    numbers = " and ".join(str(v.number) for v in old)
    message = f"version {new.number} was rolled back to version {numbers}: {why}"
    cause = Cause("rolled_back", message, f"see its output with: footplate endpoints logs {record.name}")
    failed = replace(new, state=FAILED, weight=0.0, since=now, cause=cause)
    return restore([failed if v.number == new.number else v for v in versions], new.before, now)


def _from_before(versions: Sequence[VersionRecord], new: VersionRecord) -> List[VersionRecord]:
    """Return the versions that had requests before the new one, and could take them again."""
    served = {share.number for share in new.before if share.weight > 0 and not share.shadow}
    return [v for v in versions if v.state == READY and v.number in served]


def rivals_of(record: EndpointRecord, version: VersionRecord) -> List[int]:
    """Return the versions that a version which may be rolled back is compared with."""
    if not version.before or version.shadow or record.settings.rollback.seconds <= 0 or has_names(record):
        return []
    return [v.number for v in _from_before(record.versions, version)]


def _without_standbys(
    versions: List[VersionRecord], new: VersionRecord, rules: Rollback, now: float
) -> List[VersionRecord]:
    """Stop the versions that the new one has replaced when the time for a rollback is over."""
    replaced = {share.number for share in new.before if share.weight > 0 or new.goal >= 100}
    standbys = [v for v in versions if v.number in replaced and serves(v) and not v.weight]
    if not standbys or now - max(v.since for v in [*standbys, new]) <= rules.seconds:
        return versions
    stopped = {v.number: drain(v, now) for v in standbys}
    return [stopped.get(v.number, v) for v in versions]


def _does_badly(new: VersionReport, old: Sequence[VersionReport], rules: Rollback) -> Optional[str]:
    if new.requests < max(1, rules.least_requests):
        return None
    requests = sum(report.requests for report in old)
    before = sum(report.errors for report in old) / requests if requests else 0.0
    share = new.faults / new.requests
    if share > before + rules.error_share:
        return f"{share:.0%} of its requests failed, before it was {before:.0%}"
    usual = max((report.p99_seconds or 0.0 for report in old), default=0.0)
    is_slow = new.slow * 100 >= new.requests
    if is_slow and usual and new.p99_seconds and new.p99_seconds > rules.slower_times * usual:
        return f"its 99th percentile is {new.p99_seconds:.3g} s, before it was {usual:.3g} s"
    return None


# ── Replicas ──────────────────────────────────────────────────────────────────────────────────────────────────────────


def _scale(version: VersionRecord, report: VersionReport, now: float) -> VersionRecord:
    """Add replicas at once when requests wait, and remove them slowly."""
    rules = version.spec.replicas
    if version.state != READY:
        return version
    load = report.queue + report.running
    needed = min(max(math.ceil(load / rules.queue_per_replica), rules.minimum, 1), rules.maximum)
    if needed >= version.replicas > 0 and load:
        version = version if now - version.busy < 1 else replace(version, busy=now)
    if needed > version.replicas and (version.replicas > 0 or load):
        return replace(version, replicas=needed, busy=now)
    if rules.minimum == 0 and not load and version.replicas and now - version.busy > rules.idle_seconds:
        return replace(version, replicas=0)
    if needed < version.replicas and now - version.busy > SHRINK_SECONDS:
        return replace(version, replicas=version.replicas - 1, busy=now)
    return version


def _forget_old(versions: List[VersionRecord]) -> List[VersionRecord]:
    over = [v.number for v in versions if v.state in (STOPPED, FAILED)]
    forgotten = set(over[: max(0, len(over) - KEPT_VERSIONS)])
    return [v for v in versions if v.number not in forgotten]


# ── The state that people see ─────────────────────────────────────────────────────────────────────────────────────────


def state_of(record: EndpointRecord, seen: Seen) -> str:
    if record.deleting:
        return DELETING
    states = {v.state for v in record.versions}
    if STARTING in states:
        return TRANSITIONING
    if READY not in states:
        return BROKEN if FAILED in states else UNHEALTHY
    serving = [v for v in record.versions if v.state == READY and v.weight > 0]
    answering = [v for v in serving if v.replicas == 0 or seen.get(v.number, NOTHING).healthy]
    return HEALTHY if len(answering) == len(serving) and serving else UNHEALTHY


def is_settled(record: EndpointRecord) -> bool:
    """Whether nothing is about to change: the server then looks less often."""
    return not record.deleting and all(v.state in (READY, STOPPED, FAILED) for v in record.versions)


def split_traffic(record: EndpointRecord, shares: Mapping[int, float], now: float) -> EndpointRecord:
    """Return the record with these percentages; versions that are not named keep the rest. May raise InvalidInput."""
    divide = split_by_name if has_names(record) else split
    return replace(record, versions=tuple(divide(record, shares, now)), modified=now)
