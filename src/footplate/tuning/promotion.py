"""Paused trials: which of them go on from their checkpoints, and which are replaced by copies of better ones.

Successive halving with promotion pauses a trial at a rung, and resumes it once it is among the best of that rung.
Population-based training pauses each trial of the population at every interval: one of the worst is replaced by a
copy of one of the best, with perturbed parameters, and any other goes on.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from footplate.domain.runs.controllers import Child, RestartChild
from footplate.domain.tuning import search_space
from footplate.domain.tuning.early_stopping import find_promoted
from footplate.domain.tuning.sweeps import SweepSpec, population_of

if TYPE_CHECKING:
    from footplate.tuning.sweep import Sweep

_RESAMPLED = 0.25
"""The share of parameters that a copy draws anew instead of changing them a little."""


def most_draws(spec: SweepSpec) -> int:
    """Return how many trials the sampler draws at most; copies of other trials come on top."""
    if spec.policy.kind != "pbt":
        return spec.max_trials
    return population_of(spec)


def resume_paused(sweep: Sweep) -> None:
    """Resume paused trials while there is room, or start copies in their place."""
    policy = sweep.spec.policy
    if policy.kind == "pbt":
        _exploit(sweep)
    elif policy.promote:
        for number in _promotable(sweep):
            if sweep.room <= 0:
                return
            interval = sweep.trials.trials[number].paused_at
            _resume(sweep, number, f"trial {number} is promoted at interval {interval} and goes on")


def _paused_trials(sweep: Sweep) -> Iterator[tuple[int, Child]]:
    """Yield trials that have ended because the policy paused them."""
    for number, trial in enumerate(sweep.trials.trials):
        child = sweep.children.get(str(number))
        if trial.paused_at and child is not None and child.has_ended and child.status == "Canceled":
            yield number, child


def _promotable(sweep: Sweep) -> list[int]:
    """Return the paused trials that are among the best of their rungs, those of the highest rung first."""
    candidates: list[tuple[int, int, int]] = []
    for number, _ in _paused_trials(sweep):
        interval = sweep.trials.trials[number].paused_at
        best = find_promoted(sweep.spec.policy, str(number), interval, sweep.memory.history)
        if str(number) in best:
            candidates.append((-interval, best.index(str(number)), number))
    return [number for _, _, number in sorted(candidates)]


def _resume(sweep: Sweep, number: int, line: str) -> None:
    child = sweep.children[str(number)]
    sweep.note(line, resume=number)
    sweep.restart.append(RestartChild(child.key, child.attempt + 1))


# ── Population-based training ─────────────────────────────────────────────────────────────────────────────────────────


def _exploit(sweep: Sweep) -> None:
    """Resume or replace paused trials, those that are furthest behind first, once the population is complete."""
    if len(sweep.trials.draws) < most_draws(sweep.spec):
        return
    waiting = sorted((sweep.trials.trials[number].paused_at, number) for number, _ in _paused_trials(sweep))
    for interval, number in waiting:
        if sweep.room <= 0:
            return
        better = _better(sweep, number, interval)
        if better is None or len(sweep.trials.trials) >= sweep.spec.max_trials:
            _resume(sweep, number, f"trial {number} goes on after interval {interval}")
        else:
            _replace(sweep, number, better, interval)


def _better(sweep: Sweep, number: int, interval: int) -> int | None:
    """Return one of the best trials if this one is among the worst of those at the interval."""
    reached = sweep.memory.history.at(interval)
    ranked = sorted(reached, key=lambda name: -reached[name])
    share = max(1, int(len(ranked) * sweep.spec.policy.quantile)) if len(ranked) > 1 else 0
    stored = [name for name in ranked[:share] if _checkpoint(sweep, int(name))]
    if not stored or str(number) not in ranked[len(ranked) - share :]:
        return None
    return int(_generator(sweep).choice(stored))


def _checkpoint(sweep: Sweep, number: int) -> int:
    """Return the interval at which a trial stored its outputs; 0 if it did not, or if it has nothing more to do."""
    trial = sweep.trials.trials[number]
    child = sweep.children.get(str(number))
    if child is None or child.status == "Completed":
        return 0
    return sweep.memory.history.length(str(number)) if child.has_ended else trial.resumed_at


def _replace(sweep: Sweep, number: int, source: int, interval: int) -> None:
    copy = len(sweep.trials.trials)
    why = f"among the worst at interval {interval}; trial {copy} continues trial {source} instead"
    sweep.note(f"trial {number} is stopped: {why}", stop=number, why=why)
    generator = _generator(sweep)
    parameters = explore(sweep.spec.space, sweep.trials.trials[source].parameters, generator)
    line = f"trial {copy} starts from trial {source}: {search_space.to_text(parameters)}"
    reached = _checkpoint(sweep, source)
    sweep.add_trial(line, copy=parameters, of=source, interval=reached)
    sweep.memory.history.branch(str(copy), str(source), reached)


def _generator(sweep: Sweep) -> random.Random:
    """Return the random numbers of the next copy: the same again if a killed server repeats the decision."""
    return random.Random(f"{sweep.spec.seed}/{len(sweep.trials.trials)}")


def explore(space: search_space.Space, values: dict[str, Any], generator: random.Random) -> dict[str, Any]:
    """Return parameters near these: each is changed a little, or drawn anew."""
    parameters: dict[str, Any] = {}
    for name, expression in space.items():
        applied = search_space.unconditional(name, expression, parameters)
        if applied is None:
            continue
        if name not in values or generator.random() < _RESAMPLED:
            parameters[name] = search_space.draw_one(*applied, generator)
        else:
            parameters[name] = search_space.perturb(*applied, values[name], generator)
    return parameters
