"""The report of a benchmark, and statistics over its samples."""

from __future__ import annotations

import math
import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Options:
    quick: bool = False

    def pick(self, full: int, quick: int) -> int:
        """Return the full number of repetitions, or that of `--quick`."""
        return quick if self.quick else full


@dataclass(frozen=True)
class Row:
    """The samples of one contestant, in the report's unit."""

    who: str
    samples: tuple[float, ...]
    note: str = ""

    @property
    def median(self) -> float:
        return statistics.median(self.samples)


@dataclass(frozen=True)
class Target:
    """A required value. Exactly one of the limits `at_most` and `at_least` is given."""

    what: str
    value: float
    unit: str
    at_most: float | None = None
    at_least: float | None = None

    @property
    def met(self) -> bool:
        if self.at_most is not None:
            return self.value <= self.at_most
        return self.value >= (self.at_least or 0.0)

    @property
    def wanted(self) -> str:
        sign, limit = ("≤", self.at_most) if self.at_most is not None else ("≥", self.at_least)
        return f"{sign} {number(limit or 0.0)}{unit_suffix(self.unit)}"


@dataclass(frozen=True)
class Check:
    """A condition that the results must satisfy; otherwise the measurements mean nothing."""

    what: str
    ok: bool
    seen: str = ""


@dataclass
class Report:
    """The results of one benchmark. `ours` is the row that the others are compared with, if any."""

    name: str
    title: str
    unit: str
    ours: str
    caveats: str  # paragraphs
    rows: list[Row] = field(default_factory=list)
    targets: list[Target] = field(default_factory=list)
    checks: list[Check] = field(default_factory=list)
    more_is_better: bool = False

    @property
    def paragraphs(self) -> list[str]:
        return [" ".join(paragraph.split()) for paragraph in self.caveats.strip().split("\n\n")]

    def row(self, who: str) -> Row:
        return next(row for row in self.rows if row.who == who)

    def ratio(self, who: str) -> float:
        """Return how many times better we are than `who`, at the median."""
        ours, theirs = self.row(self.ours).median, self.row(who).median
        return ours / theirs if self.more_is_better else theirs / ours

    def tail(self, row: Row) -> float:
        """Return the 95th percentile of the samples."""
        return percentile(row.samples, 5 if self.more_is_better else 95)

    def check(self, what: str, ok: bool, seen: object = "") -> None:
        self.checks.append(Check(what, bool(ok), str(seen)))

    def to_json(self) -> dict[str, Any]:
        return {
            "name": self.name,
            "title": self.title,
            "unit": self.unit,
            "caveats": self.paragraphs,
            "rows": [
                {
                    "who": row.who,
                    "median": row.median,
                    "tail": self.tail(row),
                    "n": len(row.samples),
                    "ratio": self.ratio(row.who) if self.ours else None,
                    "note": row.note,
                    "samples": list(row.samples),
                }
                for row in self.rows
            ],
            "targets": [
                {"what": t.what, "value": t.value, "unit": t.unit, "wanted": t.wanted, "met": t.met}
                for t in self.targets
            ],
            "checks": [{"what": c.what, "ok": c.ok, "seen": c.seen} for c in self.checks],
        }


def percentile(samples: Sequence[float], percent: float) -> float:
    """Return the nearest rank, which is a value that was measured."""
    ordered = sorted(samples)
    return ordered[max(0, math.ceil(len(ordered) * percent / 100) - 1)]


def seconds(action: Callable[[], object]) -> float:
    begin = time.perf_counter()
    action()
    return time.perf_counter() - begin


def interleave(
    rounds: int, contestants: dict[str, Callable[[], float]], every: dict[str, int] | None = None
) -> dict[str, tuple[float, ...]]:
    """Let all contestants run in turn, so that other load on the machine affects them alike.

    `every` makes a slow one take part only in each n-th round.
    """
    samples: dict[str, list[float]] = {who: [] for who in contestants}
    for turn in range(rounds):
        for who, measure in contestants.items():
            if turn % (every or {}).get(who, 1) == 0:
                samples[who].append(measure())
    return {who: tuple(values) for who, values in samples.items()}


def pairs(rounds: int, contestants: dict[str, Callable[[], float]]) -> dict[str, tuple[float, ...]]:
    """Run two contestants one right after the other, each of them first in every other round."""
    samples: dict[str, list[float]] = {who: [] for who in contestants}
    for turn in range(rounds):
        for who in list(contestants)[:: 1 if turn % 2 == 0 else -1]:
            samples[who].append(contestants[who]())
    return {who: tuple(values) for who, values in samples.items()}


def confidence(ordered: Sequence[float]) -> tuple[float, float]:
    """Return the 95 % confidence interval of the median, from the order statistics."""
    count = len(ordered)
    reach = int(1.96 * count**0.5 / 2 + 0.5)
    return ordered[max(0, count // 2 - reach)], ordered[min(count - 1, count // 2 + reach)]


def wait_for(what: str, probe: Callable[[], Any], limit: float = 60.0, pause: float = 0.002) -> Any:
    """Return the first result of `probe` that is not None."""
    end = time.monotonic() + limit
    while time.monotonic() < end:
        answer = probe()
        if answer is not None:
            return answer
        time.sleep(pause)
    raise TimeoutError(f"{what} did not appear within {limit:g} s")


def number(value: float) -> str:
    """Format a number with three significant digits and thin group separators."""
    if value == 0 or not math.isfinite(value):
        return f"{value:g}"
    if abs(value) >= 1000:
        return f"{value:,.0f}"
    digits = max(0, 2 - math.floor(math.log10(abs(value))))
    return f"{value:.{digits}f}"


def unit_suffix(unit: str) -> str:
    return unit if unit in ("", "×") else f" {unit}"
