"""Functions that describe a search space: `choice(16, 32)`, `loguniform(-6, -1)`.

Each returns the plain list that Azure's functions return, `["uniform", [0, 1]]`, so that code which looks inside or
stores it as JSON goes on working. `domain/tuning/search_space` knows how to check and draw it.
"""

from __future__ import annotations

import json
import math
from typing import Any, List, Sequence, cast

from footplate.domain.tuning import search_space
from footplate.errors import InvalidInput
from footplate.sdk.tuning.exceptions import HyperDriveConfigException
from footplate.sdk.values.wrong_types import explained


@explained
def choice(*options: Any) -> List[Any]:
    """Choose among values.

    Args:
        *options: Several values, one list of values, or one range.

    Returns:
        The expression as a list, as Azure's function returns it.

    Raises:
        HyperDriveConfigException: There are no values, or one cannot be passed to a script.

    Example:
        space = {"--batch-size": choice(16, 32, 64), "--layers": choice(range(1, 5))}
    """
    plain = [_plain(option) for option in options]
    is_one_sequence = len(plain) == 1 and isinstance(plain[0], (list, range, tuple))
    values = [_plain(value) for value in (cast("Sequence[Any]", plain[0]) if is_one_sequence else plain)]
    try:
        json.dumps(values)
    except (TypeError, ValueError):
        raise HyperDriveConfigException(
            f"choice got {values!r:.80}", hint="give numbers, texts, booleans, or lists and dicts of them"
        ) from None
    return _check("choice", values, [values])


@explained
def randint(upper: int) -> List[Any]:
    """Draw a whole number from 0 up to, and without, `upper`.

    Args:
        upper: The bound.

    Returns:
        The expression as a list.

    Raises:
        HyperDriveConfigException: `upper` is not a positive whole number.

    Example:
        space = {"--seed": randint(1000)}
    """
    return _check("randint", [upper])


@explained
def uniform(min_value: float, max_value: float) -> List[Any]:
    """Draw evenly from an interval.

    Args:
        min_value: The lower bound.
        max_value: The upper bound.

    Returns:
        The expression as a list.

    Raises:
        HyperDriveConfigException: The bounds are not numbers, or in the wrong order.

    Example:
        space = {"--dropout": uniform(0.0, 0.5)}
    """
    return _check("uniform", [min_value, max_value])


@explained
def quniform(min_value: float, max_value: float, q: int) -> List[Any]:
    """Draw evenly from an interval, in steps: `round(uniform(min_value, max_value) / q) * q`.

    Args:
        min_value: The lower bound.
        max_value: The upper bound.
        q: The step, a whole number.

    Returns:
        The expression as a list.

    Raises:
        HyperDriveConfigException: A value is not valid.

    Example:
        space = {"--units": quniform(32, 256, 32)}
    """
    return _check("quniform", [min_value, max_value, q])


@explained
def loguniform(min_value: float, max_value: float) -> List[Any]:
    """Draw `exp(uniform(min_value, max_value))`: the bounds are exponents of e.

    Args:
        min_value: The logarithm of the lower bound.
        max_value: The logarithm of the upper bound.

    Returns:
        The expression as a list.

    Raises:
        HyperDriveConfigException: A value is not valid.

    Example:
        space = {"--lr": loguniform(-9, -2)}
    """
    return _check("loguniform", [min_value, max_value])


@explained
def qloguniform(min_value: float, max_value: float, q: int) -> List[Any]:
    """Draw `round(exp(uniform(min_value, max_value)) / q) * q`.

    Args:
        min_value: The logarithm of the lower bound.
        max_value: The logarithm of the upper bound.
        q: The step, a whole number.

    Returns:
        The expression as a list.

    Raises:
        HyperDriveConfigException: A value is not valid.

    Example:
        space = {"--units": qloguniform(3, 6, 8)}
    """
    return _check("qloguniform", [min_value, max_value, q])


@explained
def normal(mu: float, sigma: float) -> List[Any]:
    """Draw from a normal distribution.

    Args:
        mu: The mean.
        sigma: The standard deviation.

    Returns:
        The expression as a list.

    Raises:
        HyperDriveConfigException: A value is not valid.

    Example:
        space = {"--shift": normal(0.0, 1.0)}
    """
    return _check("normal", [mu, sigma])


@explained
def qnormal(mu: float, sigma: float, q: int) -> List[Any]:
    """Draw `round(normal(mu, sigma) / q) * q`.

    Args:
        mu: The mean.
        sigma: The standard deviation.
        q: The step, a whole number.

    Returns:
        The expression as a list.

    Raises:
        HyperDriveConfigException: A value is not valid.

    Example:
        space = {"--units": qnormal(64, 16, 8)}
    """
    return _check("qnormal", [mu, sigma, q])


@explained
def lognormal(mu: float, sigma: float) -> List[Any]:
    """Draw `exp(normal(mu, sigma))`.

    Args:
        mu: The mean of the logarithm.
        sigma: The standard deviation of the logarithm.

    Returns:
        The expression as a list.

    Raises:
        HyperDriveConfigException: A value is not valid.

    Example:
        space = {"--lr": lognormal(-5, 1)}
    """
    return _check("lognormal", [mu, sigma])


@explained
def qlognormal(mu: float, sigma: float, q: int) -> List[Any]:
    """Draw `round(exp(normal(mu, sigma)) / q) * q`.

    Args:
        mu: The mean of the logarithm.
        sigma: The standard deviation of the logarithm.
        q: The step, a whole number.

    Returns:
        The expression as a list.

    Raises:
        HyperDriveConfigException: A value is not valid.

    Example:
        space = {"--units": qlognormal(4, 1, 8)}
    """
    return _check("qlognormal", [mu, sigma, q])


@explained
def when(parameter: str, values: List[Any], expression: List[Any]) -> List[Any]:
    """Draw from an expression only in trials in which another parameter has certain values. Not in Azure.

    Args:
        parameter: The name of the other parameter.
        values: Its values.
        expression: The expression.

    Returns:
        The expression as a list.

    Raises:
        HyperDriveConfigException: A value is not valid.

    Example:
        space = {
            "--optimizer": choice("sgd", "adam"),
            "--momentum": when("--optimizer", ["sgd"], uniform(0.0, 0.9)),
        }
    """
    return _check("when", [parameter, values, flat(expression)])


def flat(expression: Any) -> Any:
    """Return an expression as `domain/tuning/search_space` reads it: Azure wraps the options of a choice once more."""
    try:
        kind, (options,) = expression
    except (TypeError, ValueError):
        return expression
    return ["choice", options] if kind == "choice" and isinstance(options, list) else expression


def _plain(value: Any) -> Any:
    """Return a number or an array of NumPy as Python's own."""
    return value.tolist() if hasattr(value, "tolist") else value


def _check(kind: str, arguments: List[Any], as_azure: Any = None) -> List[Any]:
    if kind.startswith("q"):
        _check_step(kind, *arguments)
    arguments = [_plain(argument) for argument in arguments]
    try:
        search_space.parse(kind, [kind, arguments])
    except InvalidInput as error:
        raise HyperDriveConfigException(error.message.replace(f"parameter {kind!r}: ", ""), hint=error.hint) from None
    return [kind, arguments if as_azure is None else as_azure]


def _check_step(kind: str, first: Any, second: Any, q: Any) -> None:
    """Raise an error that says how to draw in steps that are no whole number."""
    is_number = isinstance(q, (int, float)) and not isinstance(q, bool)
    if is_number and float(q).is_integer():
        return
    instead = ""
    if is_number and 0 < q < math.inf:
        instead = f"; for steps of {q:g}, draw with {kind[1:]} and round in the script"
        if kind == "quniform":
            try:
                low, high = round(first / q), round(second / q)
                instead = f"; for steps of {q:g}, use choice([round(i * {q:g}, 6) for i in range({low}, {high + 1})])"
            except (TypeError, ValueError, OverflowError):  # bounds that are refused too
                pass
    raise HyperDriveConfigException(f"q of {kind} is {q!r}", hint=f"give a whole number, as Azure requires{instead}")
