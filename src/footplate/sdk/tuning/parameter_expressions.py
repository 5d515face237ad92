"""Functions that describe a search space: `choice(16, 32)`, `loguniform(-6, -1)`.

Each returns the plain list that Azure's functions return, `["uniform", [0, 1]]`, so that code which looks inside or
stores it as JSON goes on working. `domain/tuning/search_space` knows how to check and draw it.
"""

from __future__ import annotations

from typing import Any, List, Sequence, cast

from footplate.domain.tuning import search_space
from footplate.errors import InvalidInput
from footplate.sdk.tuning.exceptions import HyperDriveConfigException


def choice(*options: Any) -> List[Any]:
    """Choose among `options`: several values, one list of values, or one range."""
    is_one_sequence = len(options) == 1 and isinstance(options[0], (list, range, tuple))
    values = list(cast("Sequence[Any]", options[0]) if is_one_sequence else options)
    return _checked("choice", values, [values])


def randint(upper: int) -> List[Any]:
    """Draw a whole number from 0 up to, and without, `upper`."""
    return _checked("randint", [upper])


def uniform(min_value: float, max_value: float) -> List[Any]:
    """Draw evenly from `min_value` to `max_value`."""
    return _checked("uniform", [min_value, max_value])


def quniform(min_value: float, max_value: float, q: int) -> List[Any]:
    """Draw `round(uniform(min_value, max_value) / q) * q`."""
    return _checked("quniform", [min_value, max_value, _whole("quniform", q)])


def loguniform(min_value: float, max_value: float) -> List[Any]:
    """Draw `exp(uniform(min_value, max_value))`: the bounds are exponents of e."""
    return _checked("loguniform", [min_value, max_value])


def qloguniform(min_value: float, max_value: float, q: int) -> List[Any]:
    """Draw `round(exp(uniform(min_value, max_value)) / q) * q`."""
    return _checked("qloguniform", [min_value, max_value, _whole("qloguniform", q)])


def normal(mu: float, sigma: float) -> List[Any]:
    """Draw from a normal distribution."""
    return _checked("normal", [mu, sigma])


def qnormal(mu: float, sigma: float, q: int) -> List[Any]:
    """Draw `round(normal(mu, sigma) / q) * q`."""
    return _checked("qnormal", [mu, sigma, _whole("qnormal", q)])


def lognormal(mu: float, sigma: float) -> List[Any]:
    """Draw `exp(normal(mu, sigma))`."""
    return _checked("lognormal", [mu, sigma])


def qlognormal(mu: float, sigma: float, q: int) -> List[Any]:
    """Draw `round(exp(normal(mu, sigma)) / q) * q`."""
    return _checked("qlognormal", [mu, sigma, _whole("qlognormal", q)])


def when(parameter: str, values: List[Any], expression: List[Any]) -> List[Any]:
    """Draw from `expression` only in trials in which `parameter` has one of `values`. Azure has no such function."""
    return _checked("when", [parameter, values, flat(expression)])


def flat(expression: Any) -> Any:
    """Return an expression as `domain/tuning/search_space` reads it: Azure wraps the options of a choice once more."""
    try:
        kind, (options,) = expression
    except (TypeError, ValueError):
        return expression
    return ["choice", options] if kind == "choice" and isinstance(options, list) else expression


def _checked(kind: str, arguments: List[Any], shown: Any = None) -> List[Any]:
    try:
        search_space.parse(kind, [kind, arguments])
    except InvalidInput as error:
        raise HyperDriveConfigException(error.message.replace(f"parameter {kind!r}: ", ""), hint=error.hint) from None
    return [kind, arguments if shown is None else shown]


def _whole(kind: str, q: Any) -> Any:
    if isinstance(q, bool) or not isinstance(q, (int, float)) or not float(q).is_integer():
        raise HyperDriveConfigException(f"q of {kind} is {q!r}", hint="give a whole number")
    return q
