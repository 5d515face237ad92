"""Samplers: a source of parameter values that learns from results, behind two methods.

    ask() → the values of the next trial, or None when the space is exhausted
    tell(number, result) → how trial `number` (counted by `ask`, from 0) ended

A sampler is deterministic given its seed and the order of calls, so its state is the list of those calls
(`replay`): a server that was killed continues exactly where the last one stopped. A custom sampler is a class with
these two methods whose constructor takes a `SamplerContext`. It runs inside the server, so only the owner of the server
can add one, in settings.ini: a request that names any other class is refused before anything is imported.
"""

from __future__ import annotations

import contextlib
import importlib
import json
import math
import random
import re
import runpy
import warnings
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from statistics import NormalDist
from typing import Any, Protocol, cast

from footplate.domain.tuning import search_space
from footplate.domain.tuning.early_stopping import MAXIMIZE
from footplate.domain.tuning.search_space import Space
from footplate.domain.tuning.sweeps import MAX_TRIALS, PastTrial
from footplate.errors import InvalidInput

NONE_LISTED: Mapping[str, str] = {}
OPTUNA_HINT = "install it where the server runs: pip install 'footplate[tuning]'"


@dataclass(frozen=True)
class SamplerContext:
    """Everything that a sampler may know about its sweep."""

    space: Space
    goals: tuple[str, ...]
    seed: int
    options: Mapping[str, Any] = field(default_factory=dict[str, Any])
    constraints: int = 0  # how many `violations` each result has
    past: Sequence[PastTrial] = ()  # trials of earlier sweeps, to learn from


@dataclass(frozen=True)
class TrialResult:
    """The end of one trial: one value per objective, or None if it logged no metric.

    `violations` says by how much each constraint is broken; 0 or less is within bounds.
    """

    values: tuple[float, ...] | None
    violations: tuple[float, ...] = ()


class ParameterSampler(Protocol):
    def ask(self) -> dict[str, Any] | None:
        """Return the values of the next trial; None when there are no more."""
        ...

    def tell(self, number: int, result: TrialResult) -> None:
        """Take note of the end of the trial that the `number`-th call of `ask` described.

        A trial that runs again, because its sweep was resumed, ends twice.
        """
        ...


def make_sampler(kind: str, context: SamplerContext, listed: Mapping[str, str] = NONE_LISTED) -> ParameterSampler:
    """Return the sampler of this name. `listed` has the owner's own by name; their class is a name for them too."""
    search_space.check_space(context.space)
    if kind in SAMPLERS:
        return SAMPLERS[kind](context)
    path = listed.get(kind.lower()) or (kind if kind in listed.values() else None)
    if path is not None:
        return _Own(path, context)
    if ":" in kind:
        line = f"{re.sub('[^a-z0-9]+', '-', kind.rpartition(':')[2].lower())} = {kind}"
        raise InvalidInput(
            f"sampler {kind!r} is not listed by the owner of the server, in whose process it would run",
            f"the owner can add two lines to settings.ini in the home folder of the server:\n[samplers]\n{line}",
        )
    raise InvalidInput(f"sampler {kind!r} is unknown", f"use one of {', '.join([*SAMPLERS, *listed])}")


Call = tuple[int, TrialResult] | None
"""One call of a sampler: None is an `ask`, anything else a `tell`."""


def replay(sampler: ParameterSampler, calls: Iterable[Call]) -> ParameterSampler:
    """Bring a fresh sampler to the state that these calls left another one in."""
    for call in calls:
        if call is None:
            sampler.ask()
        else:
            sampler.tell(*call)
    return sampler


class _Own:
    """A sampler that the owner of the server listed. Its errors, and values that cannot be stored, name the class."""

    def __init__(self, path: str, context: SamplerContext) -> None:
        self._path = path
        self._space = context.space
        with self._named("cannot be made"):
            self._sampler = _load(path)(context)

    def ask(self) -> dict[str, Any] | None:
        with self._named("failed in ask"):
            values: Any = self._sampler.ask()
            json.dumps(values)
        if values is not None and not (isinstance(values, dict) and self._space.keys() >= values.keys()):
            raise InvalidInput(
                f"sampler {self._path!r} drew {values!r:.80}", "return a dict of parameters of the space, or None"
            )
        return cast("dict[str, Any] | None", values)

    def tell(self, number: int, result: TrialResult) -> None:
        with self._named("failed in tell"):
            self._sampler.tell(number, result)

    @contextlib.contextmanager
    def _named(self, what: str) -> Generator[None, None, None]:
        try:
            yield
        except InvalidInput:
            raise
        except (Exception, SystemExit) as error:
            message = f"sampler {self._path!r} {what}: {type(error).__name__}: {error}"
            raise InvalidInput(message, "mend the class; a module is read again when the server starts") from error


def _load(path: str) -> Callable[[SamplerContext], ParameterSampler]:
    """Return the class of `module:Class`, or of `/path/of/a/file.py:Class`, which is read each time."""
    module, _, name = path.rpartition(":")
    try:
        if module.endswith(".py"):
            return runpy.run_path(module)[name]
        return getattr(importlib.import_module(module), name)
    except (ImportError, AttributeError, KeyError, OSError, ValueError) as error:
        raise InvalidInput(
            f"sampler {path!r} cannot be loaded: {error}",
            "in [samplers] of settings.ini, name module:Class that the server's Python can import, or a file:Class",
        ) from None


class RandomSampler:
    """Independent draws."""

    def __init__(self, context: SamplerContext) -> None:
        self._space = context.space
        self._generator = random.Random(context.seed)

    def ask(self) -> dict[str, Any]:
        return search_space.draw(self._space, self._generator)

    def tell(self, number: int, result: TrialResult) -> None:
        pass


class GridSampler:
    """Every combination of the choices, once."""

    def __init__(self, context: SamplerContext) -> None:
        search_space.grid_size(context.space, MAX_TRIALS)  # refuses what is not a choice
        self._points = search_space.grid(context.space)

    def ask(self) -> dict[str, Any] | None:
        return next(self._points, None)

    def tell(self, number: int, result: TrialResult) -> None:
        pass


class OptunaSampler:
    """One of Optuna's samplers on a study in memory."""

    def __init__(self, context: SamplerContext, kind: str) -> None:
        try:
            self._optuna = optuna = cast("Any", importlib.import_module("optuna"))
        except ImportError:
            raise InvalidInput(f"sampler {kind!r} needs Optuna, which is not installed", OPTUNA_HINT) from None
        optuna.logging.set_verbosity(optuna.logging.ERROR)  # it warns of each parameter that CMA-ES draws at random
        self._space = context.space
        directions = ["maximize" if goal == MAXIMIZE else "minimize" for goal in context.goals]
        self.study = optuna.create_study(directions=directions, sampler=self._make(kind, context))
        self._trials: list[tuple[Any, dict[str, Any]]] = []  # in the order of the draws, with their values
        self._told: set[int] = set()
        for past in context.past:
            self._learn(past)

    def _make(self, kind: str, context: SamplerContext) -> Any:
        _check_options(kind, context.options)
        options: dict[str, Any] = {"seed": context.seed % _SEEDS, **context.options}
        name = _OPTUNA_SAMPLERS[kind]
        if context.constraints and kind not in _CONSTRAINED:
            raise InvalidInput(f"sampler {kind!r} knows no constraints", f"use {', '.join(_CONSTRAINED)} or random")
        if len(context.goals) > 1 and kind == "cmaes":
            raise InvalidInput("sampler 'cmaes' knows one objective", "use nsga2, tpe, gp, qmc or random")
        with _translating(kind), warnings.catch_warnings():
            if kind == "gp":
                importlib.import_module("torch")  # Optuna would import it only after ten trials
            warnings.simplefilter("ignore")  # "experimental" is not news to somebody who chose the sampler by name
            return getattr(self._optuna.samplers, name)(**options)

    def ask(self) -> dict[str, Any]:
        trial = self.study.ask()
        values: dict[str, Any] = {}
        self._trials.append((trial, values))
        for name, expression in self._space.items():
            applied = search_space.unconditional(name, expression, values)
            if applied is not None:
                values[name] = _suggest(trial, name, *applied)
        return values

    def tell(self, number: int, result: TrialResult) -> None:
        trial, parameters = self._trials[number]
        values = None if result.values is None or any(map(math.isnan, result.values)) else result.values
        if number in self._told:
            if values is not None:
                self._learn(PastTrial(parameters, values))
            return
        self._told.add(number)
        for index, violation in enumerate(result.violations):
            trial.set_constraint(f"constraint {index}", violation)
        if values is None:
            self.study.tell(trial, state=self._optuna.trial.TrialState.FAIL)
        else:
            self.study.tell(trial, list(values))

    def _learn(self, past: PastTrial) -> None:
        """Add a trial of an earlier sweep; one that this space could not draw is left out."""
        applied = {
            name: each
            for name, expression in self._space.items()
            if (each := search_space.unconditional(name, expression, past.parameters)) is not None
        }
        internal = {name: _internal(*each, past.parameters.get(name)) for name, each in applied.items()}
        if any(name not in past.parameters or internal[name] is _CANNOT_BE_DRAWN for name in applied):
            return
        fixed = self._optuna.trial.FixedTrial(internal)
        for name, each in applied.items():
            _suggest(fixed, name, *each)
        make = self._optuna.trial.create_trial
        self.study.add_trial(make(params=fixed.params, distributions=fixed.distributions, values=list(past.values)))


def _check_options(kind: str, options: Mapping[str, Any]) -> None:
    """Refuse counts, of candidates for example, that would take all the memory of the server."""
    for name, value in options.items():
        if name != "seed" and isinstance(value, int) and abs(value) > _LARGEST_COUNT:
            raise InvalidInput(
                f"sampler {kind!r} has the option {name} = {value}", f"give a number up to {_LARGEST_COUNT:,}"
            )


@contextlib.contextmanager
def _translating(kind: str) -> Generator[None, None, None]:
    """Turn what Optuna raises for missing packages and unknown options into errors with a hint."""
    try:
        yield
    except ImportError as error:
        hint = f"install it where the server runs: pip install {error.name}" if error.name else OPTUNA_HINT
        raise InvalidInput(f"sampler {kind!r} needs another package: {error}", hint) from None
    except (TypeError, ValueError) as error:
        raise InvalidInput(f"sampler {kind!r}: {error}", "see Optuna's documentation for its options") from None


def _suggest(trial: Any, name: str, kind: str, arguments: list[Any]) -> Any:
    """Ask Optuna for a value of one expression; a normal one is the quantile of a uniform one."""
    if kind == "choice":
        if all(map(_is_plain, arguments)):
            return trial.suggest_categorical(name, arguments)
        return arguments[trial.suggest_int(name, 0, len(arguments) - 1)]
    if kind == "randint":
        return trial.suggest_int(name, 0, arguments[0] - 1)
    first, second = float(arguments[0]), float(arguments[1])
    if "normal" in kind:
        share = trial.suggest_float(name, _TAIL, 1.0 - _TAIL)
        value = NormalDist(first, second).inv_cdf(share)
        value = math.exp(value) if "log" in kind else value
    elif "log" in kind:
        value = trial.suggest_float(name, math.exp(first), math.exp(second), log=True)
    else:
        value = trial.suggest_float(name, first, second)
    return search_space.quantize(value, arguments[2]) if kind.startswith("q") else value


def _internal(kind: str, arguments: list[Any], value: Any) -> Any:
    """Return the value that `_suggest` would have drawn for this one, or _CANNOT_BE_DRAWN."""
    if kind == "choice":
        if value not in arguments:
            return _CANNOT_BE_DRAWN
        return value if all(map(_is_plain, arguments)) else arguments.index(value)
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return _CANNOT_BE_DRAWN
    if kind == "randint":
        return value if 0 <= value < arguments[0] else _CANNOT_BE_DRAWN
    if "normal" in kind:
        return _share(kind, arguments, value)
    low, high = (math.exp(bound) if "log" in kind else float(bound) for bound in arguments[:2])
    slack = arguments[2] / 2 if kind.startswith("q") else 0.0  # rounding may have left the bounds
    return min(max(float(value), low), high) if low - slack <= value <= high + slack else _CANNOT_BE_DRAWN


def _share(kind: str, arguments: list[Any], value: float) -> Any:
    if "log" in kind and value <= 0:
        return _CANNOT_BE_DRAWN
    share = NormalDist(float(arguments[0]), float(arguments[1])).cdf(math.log(value) if "log" in kind else value)
    return min(max(share, _TAIL), 1.0 - _TAIL)


def _is_plain(option: Any) -> bool:
    return option is None or isinstance(option, (bool, int, float, str))


_CANNOT_BE_DRAWN = object()
_CONSTRAINED = ("tpe", "gp", "nsga2")
_TAIL = 1e-6
_LARGEST_COUNT = 10_000
_SEEDS = 2**32  # NumPy takes no others
_OPTUNA_SAMPLERS = {
    "tpe": "TPESampler",
    "cmaes": "CmaEsSampler",
    "gp": "GPSampler",
    "qmc": "QMCSampler",
    "nsga2": "NSGAIISampler",
}


def _optuna(kind: str) -> Callable[[SamplerContext], ParameterSampler]:
    return lambda context: OptunaSampler(context, kind)


SAMPLERS: dict[str, Callable[[SamplerContext], ParameterSampler]] = {
    "random": RandomSampler,
    "grid": GridSampler,
    **{kind: _optuna(kind) for kind in _OPTUNA_SAMPLERS},
}
