"""Decide which versions of a service take requests, how many replicas each has, and when a version has failed.

    starting ──healthy──▶ ready ──replaced or deleted──▶ draining ──answered──▶ stopped
        └──crashes, ends, or takes too long──▶ failed

A version takes requests only when it is ready. When a version with a goal of 100 becomes ready, the others drain; if
`rollback` is set, the last one stays as a standby without requests until the new one has proved itself.

Versions with names stay beside each other: each has its goal, and the default version has the rest.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Dict, List, Mapping, Optional, Sequence

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

MAX_FAILURES = 3
"""A new version whose replicas have crashed this often before the first request is given up."""

SHRINK_SECONDS = 30.0
"""A replica is removed when it has not been needed for this long."""

KEPT_VERSIONS = 10

WAIT_SECONDS = 30.0
"""How often the record of a version that waits in a queue is changed: that time does not count as its start."""


@dataclass(frozen=True)
class VersionSight:
    """A version as its runs and the gateway report it. Requests, errors and p99 are of the last minute."""

    healthy: int = 0
    queue: int = 0
    running: int = 0
    requests: int = 0
    errors: int = 0
    p99_seconds: Optional[float] = None
    failures: int = 0  # attempts of replicas that ended
    ended: bool = False  # its group
    routed: bool = True  # the gateway still has requests of it, or has not read the newest routes yet
    followed: bool = False  # the gateway follows the newest routes
    cause: Optional[Cause] = None  # of the last failure
    waits: bool = False  # its replicas are in the queue of their compute target


NOTHING = VersionSight()
Seen = Mapping[int, VersionSight]


def advance(record: EndpointRecord, seen: Seen, now: float) -> EndpointRecord:
    """Return the record after one look at the service; the same record if nothing changes."""
    if record.deleting:
        versions = [_drain(v, now) if v.state in (STARTING, READY) else v for v in record.versions]
    else:
        versions = [_scaled(v, seen.get(v.number, NOTHING), now) for v in _checked(record, seen, now)]
    versions = [_drained(record, v, seen.get(v.number, NOTHING), now) for v in versions]
    after = _kept(versions)
    failed = next((v for v in reversed(after) if v.state == FAILED), None)
    newly = failed is not None and failed not in record.versions
    cause = failed.cause if newly and failed is not None else record.cause
    if tuple(after) == record.versions and cause == record.cause:
        return record
    return replace(record, versions=tuple(after), cause=cause)


def _checked(record: EndpointRecord, seen: Seen, now: float) -> List[VersionRecord]:
    """Return the versions after looking at each; one that has become ready replaces the others."""
    versions = [_looked_at(record, v, seen.get(v.number, NOTHING), now) for v in record.versions]
    before = {v.number: v for v in record.versions}
    for version in versions:
        old = before[version.number]
        if version.shadow or old.state != STARTING:
            continue
        if version.spec.name is not None:
            versions = [_succeeded(v, version, now) for v in versions]
            continue
        if version.state == READY and version.goal >= 100:
            versions = [_replaced(v, version, record.settings.rollback, now) for v in versions]
        elif version.weight > old.weight:  # one change of the routes gives it its requests
            versions = _make_room(versions, version)
    if has_names(record):
        return shared_by_name(versions, record.settings.default_version)
    return _rolled_back(record, _someone_serves(versions), seen, now)


def _make_room(versions: List[VersionRecord], new: VersionRecord) -> List[VersionRecord]:
    """Let the others divide the rest of the requests as before: a share is a percentage of all requests."""
    total = sum(v.weight for v in versions if v.number != new.number)
    rest = (100.0 - new.weight) / total if total else 0.0
    return [v if v.number == new.number else replace(v, weight=v.weight * rest) for v in versions]


def _someone_serves(versions: List[VersionRecord]) -> List[VersionRecord]:
    """Give the requests to the newest ready version if the one that was to take them has failed meanwhile."""
    if any(v.weight > 0 for v in versions if v.state in (STARTING, READY)):
        return versions
    ready = max((v.number for v in versions if v.state == READY and not v.shadow), default=None)
    return [replace(v, weight=100.0) if v.number == ready else v for v in versions]


def _looked_at(record: EndpointRecord, version: VersionRecord, sight: VersionSight, now: float) -> VersionRecord:
    if version.state == STARTING and not sight.ended and sight.healthy >= max(1, version.spec.replicas.minimum):
        goal = version.goal if version.spec.name is None else _named_share(record, version)
        if version.weight != goal:
            return replace(version, weight=goal)  # ready as soon as the gateway follows
        return replace(version, state=READY, since=now, busy=now) if sight.followed else version
    if version.state == STARTING and sight.waits and not sight.ended:
        return replace(version, since=now) if now - version.since > WAIT_SECONDS else version
    if version.state == STARTING:
        cause = _reason_to_give_up(record, version, sight, now)
        return version if cause is None else replace(version, state=FAILED, weight=0.0, since=now, cause=cause)
    if version.state == READY and sight.ended:
        cause = sight.cause or Cause("ended", f"run {version.run} of version {version.number} has ended")
        return replace(version, state=FAILED, weight=0.0, since=now, cause=cause)
    return version


def _reason_to_give_up(
    record: EndpointRecord, version: VersionRecord, sight: VersionSight, now: float
) -> Optional[Cause]:
    name = f"version {version.number} of service {record.name}"
    hint = f"see its output with: footplate endpoints logs {record.name}"
    if sight.ended or sight.failures >= MAX_FAILURES:
        known = sight.cause or Cause("ended", f"run {version.run} has ended")
        times = f", {sight.failures} times" if sight.failures > 1 else ""
        return replace(known, message=f"{name} did not start{times}: {known.message}", hint=known.hint or hint)
    limit = record.settings.start_seconds
    if now - version.since > limit:
        why = f": {sight.cause.message}" if sight.cause is not None else ""
        return Cause("start_timeout", f"{name} was not ready after {limit:g} s{why}", hint)
    return None


def _replaced(version: VersionRecord, by: VersionRecord, rollback: Rollback, now: float) -> VersionRecord:
    if version.number == by.number or version.state not in (STARTING, READY) or version.shadow:
        return version
    if rollback.seconds > 0 and version.state == READY:
        return replace(version, weight=0.0, since=now)  # a standby
    return _drain(version, now)


def _drain(version: VersionRecord, now: float) -> VersionRecord:
    return replace(version, state=DRAINING, weight=0.0, since=now)


def _drained(record: EndpointRecord, version: VersionRecord, sight: VersionSight, now: float) -> VersionRecord:
    """Stop a version that has answered everything; one that cannot, after the time that a request may take."""
    if version.state != DRAINING:
        return version
    late = now - version.since > record.settings.limits.timeout_seconds + 10
    return replace(version, state=STOPPED, since=now) if sight.ended or not sight.routed or late else version


# ── Versions with names ───────────────────────────────────────────────────────────────────────────────────────────────


def has_names(record: EndpointRecord) -> bool:
    return any(v.spec.name is not None for v in record.versions)


def rebalanced(record: EndpointRecord) -> EndpointRecord:
    """Return the record with the shares that its versions are to have, if they have names."""
    if not has_names(record):
        return record
    return replace(record, versions=tuple(shared_by_name(record.versions, record.settings.default_version)))


def shared_by_name(versions: Sequence[VersionRecord], default: Optional[str]) -> List[VersionRecord]:
    """Give each version with a name its goal, and the default version the requests that are left.

    Without the default version, the oldest one that serves takes its place. Of two versions with one name the newer
    one counts.
    """
    serving = [v for v in versions if not v.shadow and (v.state == READY or (v.state == STARTING and v.weight > 0))]
    newest = {v.spec.name: v for v in serving}
    chosen = newest.get(default) or next(iter(newest.values()), None)
    if chosen is None:
        return list(versions)
    shares = {v.number: v.goal for v in newest.values()}
    shares[chosen.number] = max(0.0, 100.0 - sum(v.goal for v in newest.values() if v.number != chosen.number))
    return [replace(v, weight=shares.get(v.number, 0.0)) for v in versions]


def _named_share(record: EndpointRecord, version: VersionRecord) -> float:
    """Return the share that a version will have when it is ready."""
    ready = [replace(v, state=READY) if v.number == version.number else v for v in record.versions]
    shared = shared_by_name(ready, record.settings.default_version)
    return next(v.weight for v in shared if v.number == version.number)


def _succeeded(version: VersionRecord, by: VersionRecord, now: float) -> VersionRecord:
    """Drain a version whose successor of the same name is ready."""
    same = version.spec.name == by.spec.name and version.number < by.number
    return _drain(version, now) if by.state == READY and same and version.state in (STARTING, READY) else version


def removed(record: EndpointRecord, number: int, now: float) -> EndpointRecord:
    """Return the record with a version that drains; the others divide its requests. One that has failed is over."""
    gone = next(v for v in record.versions if v.number == number)
    gone = replace(gone, state=STOPPED) if gone.state == FAILED else _drain(gone, now)
    versions = _filled([gone if v.number == number else v for v in record.versions])
    settings = record.settings
    if settings.default_version is not None and settings.default_version == gone.spec.name:
        oldest = next((v.spec.name for v in versions if v.state == READY), None)
        settings = replace(settings, default_version=oldest)
    return rebalanced(replace(record, settings=settings, versions=tuple(versions), modified=now, cause=None))


def _filled(versions: List[VersionRecord]) -> List[VersionRecord]:
    """Let the shares of the ready versions add up to 100 again."""
    served = _someone_serves(versions)
    total = sum(v.weight for v in served if v.state == READY)
    return [replace(v, weight=100.0 * v.weight / total) if v.state == READY and total else v for v in served]


# ── Rollback ──────────────────────────────────────────────────────────────────────────────────────────────────────────


def _rolled_back(record: EndpointRecord, versions: List[VersionRecord], seen: Seen, now: float) -> List[VersionRecord]:
    """Give the requests of a new version that does badly to the older one beside it; stop a standby in time."""
    rules = record.settings.rollback
    ready = sorted((v for v in versions if v.state == READY and not v.shadow), key=lambda v: v.number)
    if rules.seconds <= 0 or len(ready) < 2:
        return versions
    old, new = ready[-2], ready[-1]
    why = _does_badly(seen.get(new.number, NOTHING), seen.get(old.number, NOTHING), rules)
    if new.weight > 0 and why is not None:
        message = f"version {new.number} was rolled back to version {old.number}: {why}"
        cause = Cause("rolled_back", message, f"see its output with: footplate endpoints logs {record.name}")
        changed = {
            old.number: replace(old, weight=old.weight + new.weight, since=now),
            new.number: replace(new, state=FAILED, weight=0.0, since=now, cause=cause),
        }
        return [changed.get(v.number, v) for v in versions]
    if old.weight == 0 and now - max(old.since, new.since) > rules.seconds:
        return [_drain(v, now) if v.number == old.number else v for v in versions]
    return versions


def _does_badly(new: VersionSight, old: VersionSight, rules: Rollback) -> Optional[str]:
    if new.requests < rules.least_requests:
        return None
    before = old.errors / old.requests if old.requests else 0.0
    share = new.errors / new.requests
    if share > before + rules.error_share:
        return f"{share:.0%} of its requests failed, before it was {before:.0%}"
    if old.p99_seconds and new.p99_seconds and new.p99_seconds > rules.slower_times * old.p99_seconds:
        return f"its 99th percentile is {new.p99_seconds:.3g} s, before it was {old.p99_seconds:.3g} s"
    return None


# ── Replicas ──────────────────────────────────────────────────────────────────────────────────────────────────────────


def _scaled(version: VersionRecord, sight: VersionSight, now: float) -> VersionRecord:
    """Add replicas at once when requests wait, and remove them slowly."""
    rules = version.spec.replicas
    if version.state != READY:
        return version
    load = sight.queue + sight.running
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


def _kept(versions: List[VersionRecord]) -> List[VersionRecord]:
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


def split_traffic(record: EndpointRecord, weights: Dict[int, float], now: float) -> EndpointRecord:
    """Return the record with these shares; versions that are not named keep none."""
    total = sum(weights.values())
    versions = [
        replace(v, weight=weights.get(v.number, 0.0), shadow=False, since=now) if v.state == READY else v
        for v in record.versions
    ]
    if has_names(record):
        versions = [replace(v, goal=100.0 * v.weight / total) if v.state == READY else v for v in versions]
    return rebalanced(replace(record, versions=tuple(versions), modified=now))
