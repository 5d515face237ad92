"""Early termination of trials, decided without doing: the values that trials have logged in, trials to stop out.

An interval is one logging of the primary metric by that trial. A policy looks at a trial whenever it reaches a
multiple of `evaluation_interval` that is at least `delay_evaluation`, and compares it with others at that interval.
"""

from __future__ import annotations

import math
import statistics
from dataclasses import dataclass, field
from typing import Callable, Dict, List, Mapping, Optional, Sequence

from footplate.errors import InvalidInput

MAXIMIZE, MINIMIZE = "maximize", "minimize"


@dataclass(frozen=True)
class Policy:
    """One policy and its parameters. `kind`: none, bandit, median, truncation, asha, hyperband or pbt."""

    kind: str = "none"
    evaluation_interval: int = 1
    delay_evaluation: int = 0
    slack_factor: Optional[float] = None
    slack_amount: Optional[float] = None
    truncation_percentage: Optional[int] = None
    min_intervals: int = 1  # asha, hyperband: intervals before the first rung
    max_intervals: Optional[int] = None  # asha, hyperband, pbt: intervals of a trial that is never stopped
    reduction_factor: int = 3  # asha, hyperband: one trial in so many goes on after a rung
    promote: bool = False  # asha, hyperband: pause at a rung, and go on from the checkpoint when among the best
    population: Optional[int] = None  # pbt: trials that learn from each other; None: as many as run at once
    quantile: float = 0.25  # pbt: the share of trials that is replaced by copies of the best


NO_POLICY = Policy()


def check_policy(policy: Policy) -> None:
    """Raise InvalidInput, naming the field, for a policy that cannot apply."""
    if policy.kind not in _RULES:
        raise InvalidInput(f"policy {policy.kind!r} is unknown", f"use one of {', '.join(_RULES)}")
    for name, least in _WHOLE_NUMBERS.items():
        value = getattr(policy, name)
        is_left_out = value is None and name in _OPTIONAL
        if not is_left_out and (isinstance(value, bool) or not isinstance(value, int) or value < least):
            raise InvalidInput(f"{name} is {value!r}", f"give a whole number of at least {least}")
    if policy.promote not in (True, False):
        raise InvalidInput(f"promote is {policy.promote!r}", "give True or False")
    if policy.promote and policy.kind not in ("asha", "hyperband"):
        raise InvalidInput(f"policy {policy.kind} does not promote trials", "use asha or hyperband, or leave it out")
    check = _CHECKS.get(policy.kind)
    if check is not None:
        check(policy)


_OPTIONAL = ("max_intervals", "population", "truncation_percentage")
_WHOLE_NUMBERS = {
    "evaluation_interval": 1, "delay_evaluation": 0, "min_intervals": 1, "reduction_factor": 2,
    "max_intervals": 1, "population": 2, "truncation_percentage": 0,
}  # fmt: skip


def _check_truncation(policy: Policy) -> None:
    if not 1 <= (policy.truncation_percentage or 0) <= 99:
        raise InvalidInput(f"truncation_percentage is {policy.truncation_percentage!r}", "give 1 to 99")


def _check_rungs(policy: Policy) -> None:
    most = policy.max_intervals
    if (most is None and policy.kind == "hyperband") or (most is not None and most <= policy.min_intervals):
        raise InvalidInput(
            f"max_intervals is {most!r}", f"give more than min_intervals, which is {policy.min_intervals}"
        )


def _check_population(policy: Policy) -> None:
    if not _is_number(policy.quantile) or not 0 < policy.quantile <= 0.5:
        raise InvalidInput(f"quantile is {policy.quantile!r}", "give more than 0, and at most 0.5")
    every, most = policy.evaluation_interval, policy.max_intervals
    first = math.ceil(max(policy.delay_evaluation, 1) / every) * every
    if most is not None and most <= first:
        raise InvalidInput(f"max_intervals is {most!r}", f"give more than {first}, where trials are compared first")


def _check_slack(policy: Policy) -> None:
    slacks = [value for value in (policy.slack_factor, policy.slack_amount) if value is not None]
    if len(slacks) != 1:
        raise InvalidInput(
            f"slack_factor is {policy.slack_factor!r} and slack_amount is {policy.slack_amount!r}",
            "give exactly one of the two",
        )
    if not _is_number(slacks[0]) or not slacks[0] >= 0 or math.isinf(slacks[0]):
        raise InvalidInput(f"the slack is {slacks[0]!r}", "give 0 or more")


def _is_number(value: object) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


_CHECKS: Dict[str, Callable[[Policy], None]] = {
    "bandit": _check_slack,
    "truncation": _check_truncation,
    "asha": _check_rungs,
    "hyperband": _check_rungs,
    "pbt": _check_population,
}


@dataclass
class _Course:
    """The values of one trial so far. `sign` has turned minimizing into maximizing, and NaN is the worst value."""

    values: List[float] = field(default_factory=lambda: [])
    averages: List[float] = field(default_factory=lambda: [])
    best: float = -math.inf
    total: float = 0.0
    finite: int = 0  # how many of the values are


class History:
    """The values of the primary metric by trial, in the order in which each trial logged them.

    Best values and averages are kept as values arrive, so that a policy does not go through all of them each time.
    """

    def __init__(self, goal: str, courses: Optional[Mapping[str, Sequence[float]]] = None) -> None:
        self.sign = 1.0 if goal == MAXIMIZE else -1.0
        self._leaders: List[float] = []  # the best value of any trial at each interval
        self._courses: Dict[str, _Course] = {}
        for trial, values in (courses or {}).items():
            for value in values:
                self.add(trial, value)

    def add(self, trial: str, value: float) -> None:
        """Add the next value of a trial."""
        course = self._courses.setdefault(trial, _Course())
        signed = -math.inf if math.isnan(value) else self.sign * value
        course.values.append(signed)
        if not math.isinf(signed):
            course.total += signed
            course.finite += 1
        course.averages.append(course.total / course.finite if course.finite else -math.inf)
        course.best = max(course.best, signed)
        if len(course.values) > len(self._leaders):
            self._leaders.append(-math.inf)
        self._leaders[len(course.values) - 1] = max(self._leaders[len(course.values) - 1], signed)

    def length(self, trial: str) -> int:
        """Return the number of values that a trial has logged."""
        return len(self._courses[trial].values) if trial in self._courses else 0

    def branch(self, trial: str, source: str, interval: int) -> None:
        """Begin the course of a trial with that of the one whose checkpoint it continues."""
        for value in self._courses[source].values[:interval]:
            self.add(trial, self.sign * value)

    def best(self, trial: str) -> float:
        return self._courses[trial].best

    def leader(self, interval: int) -> float:
        """Return the best value that any trial has logged up to the interval."""
        return max(self._leaders[:interval], default=-math.inf)

    def at(self, interval: int) -> Dict[str, float]:
        """Return the value of each trial that has reached the interval."""
        return {name: c.values[interval - 1] for name, c in self._courses.items() if len(c.values) >= interval}

    def averages(self, interval: int, without: str) -> List[float]:
        """Return the averages up to the interval of the other trials that have reached it."""
        others = [course.averages for name, course in self._courses.items() if name != without]
        return [averages[interval - 1] for averages in others if len(averages) >= interval]


def reason_to_stop(policy: Policy, trial: str, history: History) -> Optional[str]:
    """Return why this trial, whose last value has just been added, is to stop; None if it goes on."""
    interval = history.length(trial)
    if policy.kind in ("asha", "hyperband"):
        return None if policy.promote else _RULES[policy.kind](policy, trial, interval, history)
    if interval % policy.evaluation_interval or interval < max(policy.delay_evaluation, 1):
        return None
    return _RULES[policy.kind](policy, trial, interval, history)


# ── The rules ─────────────────────────────────────────────────────────────────────────────────────────────────────────


def _never(policy: Policy, trial: str, interval: int, history: History) -> Optional[str]:
    return None


def _bandit(policy: Policy, trial: str, interval: int, history: History) -> Optional[str]:
    own = history.best(trial)
    leader = history.leader(interval)
    if policy.slack_amount is not None:
        is_behind = leader - own > policy.slack_amount
        slack = f"slack amount {policy.slack_amount:g}"
    else:
        factor = 1.0 + (policy.slack_factor or 0.0)
        # A metric above 0 that is maximized must reach best / factor, and one that is minimized best * factor. Below
        # 0 it is the other way round: the slack would otherwise demand more than the best trial itself has.
        is_behind = own * factor < leader if leader > 0 else own < leader * factor
        slack = f"slack factor {policy.slack_factor:g}"
    if not is_behind:
        return None
    best = f"the best trial has {_plain(history.sign * leader)} at interval {interval}"
    return f"its best is {_plain(history.sign * own)}, and {best} ({slack})"


def _median(policy: Policy, trial: str, interval: int, history: History) -> Optional[str]:
    averages = history.averages(interval, without=trial)
    own = history.best(trial)
    if not averages or own >= statistics.median(averages):
        return None
    median = _plain(history.sign * statistics.median(averages))
    return f"its best is {_plain(history.sign * own)}, worse than {median}, the median of the others' averages"


def _truncation(policy: Policy, trial: str, interval: int, history: History) -> Optional[str]:
    reached = history.at(interval)
    stopped = math.floor(len(reached) * (policy.truncation_percentage or 0) / 100)
    worse = sum(1 for name, value in reached.items() if name != trial and value < reached[trial])
    if worse >= stopped:
        return None
    return f"among the worst {policy.truncation_percentage} % of {len(reached)} trials at interval {interval}"


def _halving(policy: Policy, trial: str, interval: int, history: History) -> Optional[str]:
    """Stop all but the best share of the trials that have reached a rung, within a bracket."""
    if not is_rung(policy, trial, interval) or interval >= (policy.max_intervals or math.inf):
        return None
    reached = _rivals(policy, trial, interval, history)
    surviving = max(1, math.ceil(len(reached) / policy.reduction_factor))
    better = sum(1 for name, value in reached.items() if name != trial and value > reached[trial])
    if better < surviving:
        return None
    return f"not among the best {surviving} of {len(reached)} at interval {interval}"


def _rivals(policy: Policy, trial: str, interval: int, history: History) -> Dict[str, float]:
    """Return the values at the interval of the trials in this one's bracket."""
    bracket = bracket_of(policy, trial)
    return {name: value for name, value in history.at(interval).items() if bracket_of(policy, name) == bracket}


def is_rung(policy: Policy, trial: str, interval: int) -> bool:
    """Whether trials of this one's bracket are compared at this interval."""
    rung = interval / policy.min_intervals
    level = round(math.log(rung, policy.reduction_factor)) if rung >= 1 else -1
    return level >= bracket_of(policy, trial) and policy.min_intervals * policy.reduction_factor**level == interval


def bracket_of(policy: Policy, trial: str) -> int:
    """Return the bracket of a trial, which its number at the end of its id decides; ASHA has one bracket."""
    if policy.kind != "hyperband" or policy.max_intervals is None:
        return 0
    brackets = int(math.log(policy.max_intervals / policy.min_intervals, policy.reduction_factor) + 1e-9) + 1
    number = trial.rsplit("_", 1)[-1]
    return int(number) % brackets if number.isdigit() else 0


# ── Pauses: trials that may go on later, from their checkpoints ───────────────────────────────────────────────────────


def pauses(policy: Policy, trial: str, history: History) -> bool:
    """Whether this trial, whose last value has just been added, pauses to be compared with others."""
    interval = history.length(trial)
    if interval >= (policy.max_intervals or math.inf):
        return False
    if policy.kind == "pbt":
        return interval % policy.evaluation_interval == 0 and interval >= max(policy.delay_evaluation, 1)
    if not policy.promote or not is_rung(policy, trial, interval):
        return False
    return trial not in find_promoted(policy, trial, interval, history)


def find_promoted(policy: Policy, trial: str, interval: int, history: History) -> List[str]:
    """Return the trials of this one's bracket that go on after a rung, the best first."""
    reached = _rivals(policy, trial, interval, history)
    ranked = sorted(reached, key=lambda name: -reached[name])
    return ranked[: len(ranked) // policy.reduction_factor]


def _plain(value: float) -> str:
    return "nothing yet" if math.isinf(value) else f"{value:.6g}"


_Rule = Callable[..., Optional[str]]
_RULES: Dict[str, _Rule] = {
    "none": _never,
    "bandit": _bandit,
    "median": _median,
    "truncation": _truncation,
    "asha": _halving,
    "hyperband": _halving,
    "pbt": _never,
}
