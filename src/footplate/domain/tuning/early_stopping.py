"""Early termination of trials, decided without doing: the values that trials have logged in, trials to stop out.

An interval is one logging of the primary metric by that trial. A policy looks at a trial whenever it reaches a
multiple of `evaluation_interval` that is at least `delay_evaluation`, and compares it with others at that interval.
"""

from __future__ import annotations

import math
import statistics
from dataclasses import dataclass
from typing import Callable, Dict, List, Mapping, Optional, Sequence

from footplate.errors import InvalidInput

MAXIMIZE, MINIMIZE = "maximize", "minimize"
History = Mapping[str, Sequence[float]]


@dataclass(frozen=True)
class Policy:
    """One policy and its parameters. `kind`: none, bandit, median, truncation, asha or hyperband."""

    kind: str = "none"
    evaluation_interval: int = 1
    delay_evaluation: int = 0
    slack_factor: Optional[float] = None
    slack_amount: Optional[float] = None
    truncation_percentage: Optional[int] = None
    min_intervals: int = 1  # asha, hyperband: intervals before the first rung
    max_intervals: Optional[int] = None  # hyperband: intervals of a trial that is never stopped
    reduction_factor: int = 3  # asha, hyperband: one trial in so many goes on after a rung


NO_POLICY = Policy()


def check_policy(policy: Policy) -> None:
    """Raise InvalidInput, naming the field, for a policy that cannot apply."""
    if policy.kind not in _RULES:
        raise InvalidInput(f"policy {policy.kind!r} is unknown", f"use one of {', '.join(_RULES)}")
    for name, least in (("evaluation_interval", 1), ("delay_evaluation", 0), ("min_intervals", 1)):
        value = getattr(policy, name)
        if isinstance(value, bool) or not isinstance(value, int) or value < least:
            raise InvalidInput(f"{name} is {value!r}", f"give a whole number of at least {least}")
    if policy.kind == "bandit":
        _check_slack(policy)
    if policy.kind == "truncation" and not 1 <= (policy.truncation_percentage or 0) <= 99:
        raise InvalidInput(f"truncation_percentage is {policy.truncation_percentage!r}", "give 1 to 99")
    if policy.kind in ("asha", "hyperband") and policy.reduction_factor < 2:
        raise InvalidInput(f"reduction_factor is {policy.reduction_factor}", "give at least 2")
    if policy.kind == "hyperband" and (policy.max_intervals or 0) <= policy.min_intervals:
        raise InvalidInput(
            f"max_intervals is {policy.max_intervals!r}",
            f"give more than min_intervals, which is {policy.min_intervals}",
        )


def _check_slack(policy: Policy) -> None:
    given = [value for value in (policy.slack_factor, policy.slack_amount) if value is not None]
    if len(given) != 1:
        raise InvalidInput(
            f"slack_factor is {policy.slack_factor!r} and slack_amount is {policy.slack_amount!r}",
            "give exactly one of the two",
        )
    if not given[0] >= 0 or math.isinf(given[0]):
        raise InvalidInput(f"the slack is {given[0]!r}", "give 0 or more")


def reason_to_stop(policy: Policy, goal: str, trial: str, history: History) -> Optional[str]:
    """Return why this trial, which has just logged the metric, is to stop; None if it goes on.

    `history` holds the values of all trials in the order in which each logged them, this one included.
    """
    interval = len(history[trial])
    sign = 1.0 if goal == MAXIMIZE else -1.0
    if policy.kind in ("asha", "hyperband"):
        return _RULES[policy.kind](policy, sign, trial, interval, history)
    if interval % policy.evaluation_interval or interval < max(policy.delay_evaluation, 1):
        return None
    return _RULES[policy.kind](policy, sign, trial, interval, history)


def best(values: Sequence[float], goal: str) -> Optional[float]:
    """Return the best of a series, leaving out NaN; None if nothing is left."""
    known = [value for value in values if not math.isnan(value)]
    return (max(known) if goal == MAXIMIZE else min(known)) if known else None


# ── The rules: `sign` turns minimizing into maximizing ────────────────────────────────────────────────────────────────


def _never(policy: Policy, sign: float, trial: str, interval: int, history: History) -> Optional[str]:
    return None


def _bandit(policy: Policy, sign: float, trial: str, interval: int, history: History) -> Optional[str]:
    own = _best(history[trial], sign)
    leader = max((_best(values, sign) for values in history.values()), default=own)
    if policy.slack_amount is not None:
        is_behind = leader - own > policy.slack_amount
        slack = f"slack amount {policy.slack_amount:g}"
    else:
        factor = 1.0 + (policy.slack_factor or 0.0)
        # In the goal's own sign: a run that maximizes must reach best / factor, one that minimizes best * factor.
        is_behind = own * factor < leader if sign > 0 else -own > -leader * factor
        slack = f"slack factor {policy.slack_factor:g}"
    if not is_behind:
        return None
    return f"its best is {_plain(sign * own)}, and the best trial has {_plain(sign * leader)} ({slack})"


def _median(policy: Policy, sign: float, trial: str, interval: int, history: History) -> Optional[str]:
    averages = [
        statistics.fmean(sign * value for value in values[:interval])
        for name, values in history.items()
        if name != trial and len(values) >= interval
    ]
    own = _best(history[trial], sign)
    if not averages or own >= statistics.median(averages):
        return None
    median = _plain(sign * statistics.median(averages))
    return f"its best is {_plain(sign * own)}, worse than {median}, the median of the others' averages"


def _truncation(policy: Policy, sign: float, trial: str, interval: int, history: History) -> Optional[str]:
    reached = _at(interval, sign, history)
    stopped = math.floor(len(reached) * (policy.truncation_percentage or 0) / 100)
    worse = sum(1 for name, value in reached.items() if name != trial and value < reached[trial])
    if worse >= stopped:
        return None
    return f"it is among the worst {policy.truncation_percentage} % of {len(reached)} trials at interval {interval}"


def _asha(policy: Policy, sign: float, trial: str, interval: int, history: History, bracket: int = 0) -> Optional[str]:
    rung = interval / policy.min_intervals
    level = round(math.log(rung, policy.reduction_factor)) if rung >= 1 else -1
    if level < bracket or policy.min_intervals * policy.reduction_factor**level != interval:
        return None
    reached = _at(interval, sign, history)
    kept = max(1, math.ceil(len(reached) / policy.reduction_factor))
    better = sum(1 for name, value in reached.items() if name != trial and value > reached[trial])
    if better < kept:
        return None
    return f"it is not among the best {kept} of {len(reached)} trials at interval {interval}"


def _hyperband(policy: Policy, sign: float, trial: str, interval: int, history: History) -> Optional[str]:
    """Stop as ASHA does, with trials spread over brackets that begin to stop at different rungs."""
    assert policy.max_intervals is not None
    levels = int(math.log(policy.max_intervals / policy.min_intervals, policy.reduction_factor)) + 1
    bracket = bracket_of(trial, levels)
    peers = {name: values for name, values in history.items() if bracket_of(name, levels) == bracket}
    return _asha(policy, sign, trial, interval, peers, bracket)


def bracket_of(trial: str, brackets: int) -> int:
    """Return the bracket of a trial, which its number at the end of its id decides."""
    number = trial.rsplit("_", 1)[-1]
    return int(number) % brackets if number.isdigit() else 0


def _best(values: Sequence[float], sign: float) -> float:
    return max((sign * value for value in values if not math.isnan(value)), default=-math.inf)


def _at(interval: int, sign: float, history: History) -> Dict[str, float]:
    """Return the value of each trial that has reached the interval; NaN counts as worst."""
    found: Dict[str, float] = {}
    for name, values in history.items():
        if len(values) >= interval:
            value = sign * values[interval - 1]
            found[name] = -math.inf if math.isnan(value) else value
    return found


def _plain(value: float) -> str:
    return "nothing yet" if math.isinf(value) else f"{value:.6g}"


_Rule = Callable[..., Optional[str]]
_RULES: Dict[str, _Rule] = {
    "none": _never,
    "bandit": _bandit,
    "median": _median,
    "truncation": _truncation,
    "asha": _asha,
    "hyperband": _hyperband,
}
POLICIES: List[str] = list(_RULES)
