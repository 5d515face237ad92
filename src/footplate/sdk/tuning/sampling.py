"""Sampling methods of a sweep, as Azure names them, and one for every sampler that Footplate has."""

from __future__ import annotations

import random
from typing import Any, Dict, Mapping, Optional, Sequence

from footplate.domain.tuning import search_space
from footplate.errors import InvalidInput
from footplate.sdk.tuning.exceptions import HyperDriveConfigException
from footplate.sdk.tuning.parameter_expressions import flat
from footplate.sdk.values.wrong_types import explained


@explained
class HyperParameterSampling:
    """A search space and the way in which trials are drawn from it.

    Args:
        parameter_space: Expressions such as `uniform(0, 1)` by the name of the script's argument.
        properties: `seed`, which makes a sweep repeatable, and the options of the sampler.

    Raises:
        HyperDriveConfigException: The space is not a dict, or an expression is not valid for this class.

    Example:
        sampling = HyperParameterSampling({"--lr": uniform(0.01, 0.1)}, properties={"seed": 1})
        print(sampling.space)
    """

    sampler = "random"
    _expressions: Sequence[str] = search_space.KINDS

    def __init__(self, parameter_space: Mapping[str, Any], properties: Optional[Mapping[str, Any]] = None) -> None:
        if not isinstance(parameter_space, dict):
            raise HyperDriveConfigException(
                f"parameter_space is {parameter_space!r:.80}", hint="give a dictionary of names and expressions"
            )
        self.parameter_space: Dict[str, Any] = dict(parameter_space)
        self.properties: Dict[str, Any] = dict(properties or {})
        space = self.space
        try:
            search_space.check_space(space)
            kinds = {name: search_space.parse(name, expression)[0] for name, expression in space.items()}
        except InvalidInput as error:
            raise HyperDriveConfigException(error.message, hint=error.hint) from None
        for name, kind in kinds.items():
            if kind not in self._expressions:
                allowed = ", ".join(self._expressions)
                raise HyperDriveConfigException(
                    f"parameter {name!r} is {kind}, which {type(self).__name__} does not take", hint=f"use {allowed}"
                )

    @property
    def space(self) -> Dict[str, Any]:
        """The search space as the server reads it."""
        return {name: flat(expression) for name, expression in self.parameter_space.items()}


class RandomParameterSampling(HyperParameterSampling):
    """Independent draws from any expression.

    Example:
        sampling = RandomParameterSampling({"--lr": loguniform(-6, -1), "--batch-size": choice(16, 32)})
    """


class GridParameterSampling(HyperParameterSampling):
    """Every combination of choices.

    Example:
        sampling = GridParameterSampling({"--lr": choice(0.1, 0.01), "--batch-size": choice(16, 32)})
    """

    sampler = "grid"
    _expressions = ("choice", "when")


class BayesianParameterSampling(HyperParameterSampling):
    """Draws that learn from the trials before them (Optuna's TPE). It excludes early termination, as on Azure.

    It takes `choice`, `uniform` and `quniform`.

    Example:
        sampling = BayesianParameterSampling({"--lr": uniform(0.01, 0.1), "--batch-size": choice(16, 32)})
    """

    sampler = "tpe"
    _expressions = ("choice", "uniform", "quniform")


@explained
class OptunaParameterSampling(HyperParameterSampling):
    """One of Footplate's samplers by name, or one that the owner of the server listed. Azure has no such class.

    Args:
        parameter_space: Expressions such as `uniform(0, 1)` by the name of the script's argument.
        sampler: `tpe`, `cmaes`, `gp`, `qmc` or `nsga2`, or one that the server's settings.ini lists.
        properties: `seed`, and the options of the sampler.

    Raises:
        HyperDriveConfigException: The space is not a dict, or an expression is not valid.

    Example:
        sampling = OptunaParameterSampling({"--lr": loguniform(-6, -1)}, sampler="cmaes")
    """

    def __init__(
        self,
        parameter_space: Mapping[str, Any],
        sampler: str = "tpe",
        properties: Optional[Mapping[str, Any]] = None,
    ) -> None:
        super().__init__(parameter_space, properties)
        self.sampler = sampler


def new_seed() -> int:
    """Return the seed of a sweep that has none of its own."""
    return random.SystemRandom().randrange(2**32)
