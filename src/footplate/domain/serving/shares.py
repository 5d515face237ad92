"""Shares of the requests: percentages, which add up to 100 over the versions that serve.

A version serves if it is ready, or about to be (it starts and has a share), and is not a shadow.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Dict, List, Mapping, Optional, Sequence, Tuple

from footplate.domain.serving.endpoints import READY, STARTING, EndpointRecord, VersionRecord, VersionShare
from footplate.errors import InvalidInput

TOLERANCE = 1e-6
"""Sums that differ from 100 by less are rounding errors."""


def serves(version: VersionRecord) -> bool:
    ready = version.state == READY or (version.state == STARTING and version.weight > 0)
    return ready and not version.shadow


def shares_of(versions: Sequence[VersionRecord]) -> Tuple[VersionShare, ...]:
    """Return the shares of the ready versions, to restore them later."""
    return tuple(VersionShare(v.number, v.weight, v.shadow) for v in versions if v.state == READY)


def fill(versions: Sequence[VersionRecord]) -> List[VersionRecord]:
    """Let the shares add up to 100 again, in proportion; without any, the newest ready version gets all requests."""
    total = math.fsum(v.weight for v in versions if serves(v))
    if total > 0:
        if abs(total - 100.0) < TOLERANCE:
            return list(versions)
        return [replace(v, weight=_part(v.weight, total, 100.0)) if serves(v) else v for v in versions]
    newest = max((v.number for v in versions if serves(v)), default=None)
    return [replace(v, weight=100.0) if v.number == newest else v for v in versions]


def make_room(versions: Sequence[VersionRecord], new: VersionRecord) -> List[VersionRecord]:
    """Let the others divide the rest of the requests as before; a version that is alone gets all of them."""
    total = math.fsum(v.weight for v in versions if v.number != new.number)
    if not total:
        return [replace(v, weight=100.0, goal=100.0) if v.number == new.number else v for v in versions]
    rest = 100.0 - new.weight
    return [v if v.number == new.number else replace(v, weight=_part(v.weight, total, rest)) for v in versions]


def _part(weight: float, total: float, whole: float) -> float:
    """Return the part of `whole` that a weight has among `total`. Divide first: `whole / total` may be infinite."""
    return weight / total * whole


def restore(versions: Sequence[VersionRecord], before: Sequence[VersionShare], now: float) -> List[VersionRecord]:
    """Give the ready versions exactly the shares that they had, and make those shadows again that were.

    Others get nothing. If a version is gone meanwhile, those that are left divide its share.
    """
    shares = {share.number: share for share in before}

    def restore_share(version: VersionRecord) -> VersionRecord:
        share = shares.get(version.number)
        if version.state == READY and share is not None:
            return replace(version, weight=share.weight, shadow=share.shadow, since=now)
        return replace(version, weight=0.0) if serves(version) else version

    return fill([restore_share(version) for version in versions])


def split(record: EndpointRecord, shares: Mapping[int, float], now: float) -> List[VersionRecord]:
    """Give the named versions these percentages; the others keep the rest, in proportion to what they have.

    A shadow that is named takes requests from now on. Raises InvalidInput if the shares are over 100, or leave a rest
    that nobody takes.
    """
    _check_shares(record, shares)
    others = [v for v in record.versions if serves(v) and v.number not in shares]
    having = math.fsum(v.weight for v in others)
    rest = max(0.0, 100.0 - math.fsum(shares.values()))
    if rest > TOLERANCE and not having:
        raise InvalidInput(
            f"{_words(shares)} is {_percent(shares)} percent of the requests, and no other version takes "
            f"the rest of {rest:g} percent",
            f"give shares that add up to 100; ready are: {_describe_ready(record)}",
        )
    weights = {**{v.number: _part(v.weight, having, rest) if having else 0.0 for v in others}, **shares}
    return [_with_share(v, weights[v.number], v.number in shares, now) if v.number in weights else v
            for v in record.versions]  # fmt: skip


def _with_share(version: VersionRecord, weight: float, is_named: bool, now: float) -> VersionRecord:
    """Return a version with its new share, which is also the goal of one that is about to be ready."""
    goal = weight if version.state == STARTING else version.goal
    return replace(version, weight=weight, goal=goal, shadow=version.shadow and not is_named, since=now)


def _check_shares(record: EndpointRecord, shares: Mapping[int, float]) -> None:
    ready = [v.number for v in record.versions if v.state == READY]
    for number, share in shares.items():
        if number not in ready:
            hint = f"ready are: {_describe_ready(record)}"
            raise InvalidInput(f"version {number} of {record.name!r} is not ready", hint)
        if not 0 <= share <= 100:
            raise InvalidInput(f"the share of version {number} is {share:g}", "give a percentage from 0 to 100")
    if not shares:
        raise InvalidInput("no shares are given", "give percentages by version, such as 1=90 2=10")
    if math.fsum(shares.values()) > 100.0 + TOLERANCE:
        raise InvalidInput(
            f"{_words(shares)} is {_percent(shares)} percent of the requests", "give shares of at most 100 together"
        )


def _words(shares: Mapping[int, float]) -> str:
    return " ".join(f"{number}={share:g}" for number, share in shares.items())


def _percent(shares: Mapping[int, float]) -> str:
    return f"{math.fsum(shares.values()):g}"


def _describe_ready(record: EndpointRecord) -> str:
    return ", ".join(f"{v.number} ({v.weight:g})" for v in record.versions if v.state == READY) or "none"


# ── Versions with names ───────────────────────────────────────────────────────────────────────────────────────────────


def share_by_name(versions: Sequence[VersionRecord], default: Optional[str]) -> List[VersionRecord]:
    """Give each version with a name its goal, and the default version the requests that are left.

    Without the default version, the oldest one that serves takes its place. Of two versions with one name the newer
    one counts.
    """
    newest = {v.spec.name: v for v in versions if serves(v)}
    chosen = newest.get(default) or next(iter(newest.values()), None)
    if chosen is None:
        return list(versions)
    shares = {v.number: v.goal for v in newest.values()}
    shares[chosen.number] = max(0.0, 100.0 - sum(v.goal for v in newest.values() if v.number != chosen.number))
    return [replace(v, weight=shares.get(v.number, 0.0)) for v in versions]


def split_by_name(record: EndpointRecord, shares: Mapping[int, float], now: float) -> List[VersionRecord]:
    """Split as for other services; each share is also the goal of its version from now on.

    Raises InvalidInput if the versions that still start could not get their goals any more.
    """
    versions = split(record, shares, now)
    default = record.settings.default_version
    newest = {v.spec.name: v for v in versions if serves(v)}
    chosen = newest.get(default) or next(iter(newest.values()))
    goals: Dict[int, float] = {v.number: v.weight for v in versions if serves(v)}
    if chosen.number not in shares:  # it gets what the others leave, whatever its goal is
        goals[chosen.number] = min(chosen.goal, chosen.weight)
    starting = {v.spec.name: v for v in versions if v.state == STARTING and v.spec.name != chosen.spec.name}
    serving = math.fsum(v.weight for v in newest.values() if v.number != chosen.number and v.spec.name not in starting)
    starting_goals = math.fsum(v.goal for v in starting.values())
    if serving + starting_goals > 100.0 + TOLERANCE:
        raise InvalidInput(
            f"{_words(shares)} leaves {100.0 - serving:g} percent to {', '.join(map(repr, starting))}, "
            f"which starts and is to have {starting_goals:g}",
            "lower the shares, or wait until it is ready",
        )
    return share_by_name([replace(v, goal=goals.get(v.number, v.goal)) for v in versions], default)
