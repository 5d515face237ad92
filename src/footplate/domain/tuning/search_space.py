"""Search spaces of sweeps as plain data: check them, draw from them, walk their grid, turn values into arguments.

A space maps parameter names to expressions, and an expression is a list of a name and its arguments, the form in
which Azure's own functions return it: `["uniform", [0.1, 1.0]]`. The arguments of the `log` family are exponents of e.

    choice       the options            uniform      min, max             normal       mu, sigma
    randint      upper (excluded)       quniform     min, max, q          qnormal      mu, sigma, q
                                        loguniform   min, max             lognormal    mu, sigma
                                        qloguniform  min, max, q          qlognormal   mu, sigma, q
    when         parameter, values, expression: drawn only if `parameter` has one of `values`
"""

from __future__ import annotations

import itertools
import json
import math
import random
from typing import Any, Callable, Dict, Iterator, List, Mapping, Optional, Sequence, Tuple, cast

from footplate.errors import InvalidInput

Expression = Tuple[str, List[Any]]
Space = Mapping[str, Any]

_BOUNDED = ("uniform", "quniform", "loguniform", "qloguniform")
_QUANTIZED = ("quniform", "qloguniform", "qnormal", "qlognormal")
_ARITY = {
    "randint": 1,
    "uniform": 2,
    "loguniform": 2,
    "normal": 2,
    "lognormal": 2,
    "quniform": 3,
    "qloguniform": 3,
    "qnormal": 3,
    "qlognormal": 3,
    "when": 3,
}
KINDS = ("choice", *_ARITY)
_TAIL_SIGMAS = 9.0  # no draw of a normal distribution is further out


def parse(name: str, expression: Any) -> Expression:
    """Return the kind and the arguments of one expression, or raise InvalidInput that names the parameter."""
    pair = _items(expression)
    if len(pair) != 2 or pair[0] not in KINDS or not isinstance(pair[1], (list, tuple)):
        raise InvalidInput(
            f"parameter {name!r}: {expression!r} is not an expression",
            f"use one of {', '.join(KINDS)}, for example choice(1, 2, 4)",
        )
    kind, arguments = str(pair[0]), _items(pair[1])
    arity = _ARITY.get(kind)
    if arity is not None and len(arguments) != arity:
        raise InvalidInput(f"parameter {name!r}: {kind} got {arguments!r}", f"give {kind} {arity} arguments")
    _CHECKS.get(kind, _check_numbers)(name, kind, arguments)
    return kind, arguments


def _items(value: Any) -> List[Any]:
    return list(cast("Sequence[Any]", value)) if isinstance(value, (list, tuple)) else []


def check_space(space: Space) -> None:
    """Raise InvalidInput for a space that nothing can be drawn from, naming the parameter and the value."""
    if not space:
        raise InvalidInput("the search space is empty", "give at least one parameter, for example --lr 0.1,0.01")
    seen: Dict[str, Any] = {}
    for name, expression in space.items():
        _check_name(name, seen)
        kind, arguments = parse(name, expression)
        if kind == "when":
            _check_condition(name, arguments, seen)
        seen[name] = expression


def draw(space: Space, generator: random.Random) -> Dict[str, Any]:
    """Draw one value for each parameter that applies."""
    values: Dict[str, Any] = {}
    for name, expression in space.items():
        kind, arguments = unconditional(name, expression, values) or ("", [])
        if kind:
            values[name] = draw_one(kind, arguments, generator)
    return values


def unconditional(name: str, expression: Any, parameters: Mapping[str, Any]) -> Optional[Expression]:
    """Return the expression that applies given the values drawn so far; None if its condition does not hold."""
    kind, arguments = parse(name, expression)
    if kind != "when":
        return kind, arguments
    other, values, inner = arguments
    return unconditional(name, inner, parameters) if parameters.get(other) in values else None


def draw_one(kind: str, arguments: List[Any], generator: random.Random) -> Any:
    """Draw a value of one expression that is not conditional."""
    if kind == "choice":
        return arguments[generator.randrange(len(arguments))]
    if kind == "randint":
        return generator.randrange(arguments[0])
    first, second = float(arguments[0]), float(arguments[1])
    value = generator.uniform(first, second) if kind in _BOUNDED else generator.gauss(first, second)
    if "log" in kind:
        value = math.exp(value)
    return quantize(value, arguments[2]) if kind in _QUANTIZED else value


def quantize(value: float, step: float) -> float:
    """Round to a multiple of `step`; whole steps give whole numbers."""
    rounded = round(value / step) * step
    return int(rounded) if float(step).is_integer() else float(f"{rounded:.15g}")  # 0.6, not 0.6000000000000001


def perturb(kind: str, arguments: List[Any], value: Any, generator: random.Random) -> Any:
    """Change a value a little: a number by a fifth, a choice to one beside it, always within the bounds."""
    if kind in ("choice", "randint"):
        count = len(arguments) if kind == "choice" else arguments[0]
        index = arguments.index(value) if kind == "choice" else value
        moved = min(max(index + generator.choice((-1, 1)), 0), count - 1)
        return arguments[moved] if kind == "choice" else moved
    changed = value * generator.choice((0.8, 1.2))
    if kind in _BOUNDED:
        low, high = (math.exp(bound) if "log" in kind else float(bound) for bound in arguments[:2])
        changed = min(max(changed, low), high)
    return quantize(changed, arguments[2]) if kind in _QUANTIZED else changed


# ── Grids ─────────────────────────────────────────────────────────────────────────────────────────────────────────────


def grid_size(space: Space, most: int) -> int:
    """Return the number of combinations of a space of choices alone; with conditions, they are counted up to `most`."""
    if any(parse(name, expression)[0] == "when" for name, expression in space.items()):
        return sum(1 for _ in itertools.islice(grid(space), most + 1))
    return math.prod(len(_options(name, *parse(name, expression))) for name, expression in space.items())


def grid(space: Space) -> Iterator[Dict[str, Any]]:
    """Yield every combination, the last parameter changing fastest."""
    yield from _combine(list(space.items()), {})


def _combine(rest: List[Tuple[str, Any]], values: Dict[str, Any]) -> Iterator[Dict[str, Any]]:
    if not rest:
        yield dict(values)
        return
    (name, expression), *others = rest
    applied = unconditional(name, expression, values)
    if applied is None:
        yield from _combine(others, values)
        return
    for value in _options(name, *applied):
        yield from _combine(others, {**values, name: value})


def _options(name: str, kind: str, arguments: List[Any]) -> List[Any]:
    if kind != "choice":
        raise InvalidInput(
            f"parameter {name!r} is {kind}, and a grid needs choices", "use choice(...) for every parameter of a grid"
        )
    return arguments


# ── Arguments ─────────────────────────────────────────────────────────────────────────────────────────────────────────


def to_arguments(values: Mapping[str, Any]) -> List[str]:
    """Return the script arguments of one trial: a name without dashes gets them, as on Azure."""
    arguments: List[str] = []
    for name, value in values.items():
        arguments += [name if name.startswith("-") else f"--{name}", str(value)]
    return arguments


def to_text(values: Mapping[str, Any]) -> str:
    """Return the values of one trial as JSON."""
    return json.dumps(dict(values), sort_keys=True)


# ── Checks ────────────────────────────────────────────────────────────────────────────────────────────────────────────


def _check_name(name: Any, seen: Mapping[str, Any]) -> None:
    if not isinstance(name, str) or not name.strip("-"):
        raise InvalidInput(f"{name!r} is not the name of a parameter", "give the script's argument, such as --lr")
    twin = next((other for other in seen if to_arguments({other: 0}) == to_arguments({name: 0})), None)
    if twin is not None:
        raise InvalidInput(f"parameters {twin!r} and {name!r} are the same argument", "leave one of them out")


def _check_condition(name: str, arguments: List[Any], seen: Mapping[str, Any]) -> None:
    """Refuse a condition on a parameter that is not drawn before this one, or on values that it never has."""
    other, values, inner = arguments
    if other not in seen:
        raise InvalidInput(
            f"parameter {name!r} depends on {other!r}, which does not come before it",
            "declare the parameter that decides first",
        )
    kind, options = parse(other, seen[other])
    while kind == "when":
        kind, options = parse(other, options[2])
    if kind == "choice" and not any(value in options for value in values):
        raise InvalidInput(
            f"parameter {name!r} is drawn if {other!r} is one of {values!r}, which it never is",
            f"{other!r} is one of {options!r}",
        )
    kind, arguments = parse(name, inner)
    if kind == "when":
        _check_condition(name, arguments, seen)


def _check_choice(name: str, kind: str, arguments: List[Any]) -> None:
    if not arguments:
        raise InvalidInput(f"parameter {name!r} has no options to choose from", "give choice at least one value")


def _check_randint(name: str, kind: str, arguments: List[Any]) -> None:
    upper = arguments[0]
    if isinstance(upper, bool) or not isinstance(upper, int) or upper < 1:
        raise InvalidInput(f"parameter {name!r}: randint got {upper!r}", "give a whole number of at least 1")


def _check_when(name: str, kind: str, arguments: List[Any]) -> None:
    other, values, inner = arguments
    if not isinstance(other, str) or not isinstance(values, (list, tuple)) or not values:
        raise InvalidInput(
            f"parameter {name!r}: when got {other!r} and {values!r}", "give a parameter's name and a list of its values"
        )
    parse(name, inner)


def _check_numbers(name: str, kind: str, arguments: List[Any]) -> None:
    for value in arguments:
        if isinstance(value, bool) or not isinstance(value, (int, float)) or not math.isfinite(value):
            raise InvalidInput(f"parameter {name!r}: {kind} got {value!r}", "give finite numbers")
    if kind in _BOUNDED and not arguments[0] < arguments[1]:
        raise InvalidInput(
            f"parameter {name!r}: {kind} from {arguments[0]:g} to {arguments[1]:g}", "give the smaller bound first"
        )
    if kind not in _BOUNDED and not arguments[1] > 0:
        raise InvalidInput(f"parameter {name!r}: sigma of {kind} is {arguments[1]:g}", "give a positive number")
    if kind in _QUANTIZED and not arguments[2] > 0:
        raise InvalidInput(f"parameter {name!r}: q of {kind} is {arguments[2]:g}", "give a positive step")
    highest = arguments[0] + _TAIL_SIGMAS * arguments[1] if "normal" in kind else max(arguments[:2])
    if "log" in kind and highest > math.log(1.7e308):
        raise InvalidInput(
            f"parameter {name!r}: e to the power of {highest:g} is too large",
            f"{kind} takes exponents: for values from 1e-4 to 1e-1 give log(1e-4) and log(1e-1)",
        )


_CHECKS: Dict[str, Callable[[str, str, List[Any]], None]] = {
    "choice": _check_choice,
    "randint": _check_randint,
    "when": _check_when,
}
