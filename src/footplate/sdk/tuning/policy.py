"""Early termination policies of a sweep."""

from __future__ import annotations

import json
from typing import Any, Optional

from footplate.domain.tuning.early_stopping import Policy, check_policy
from footplate.errors import InvalidInput
from footplate.sdk.tuning.exceptions import HyperDriveConfigException


class EarlyTerminationPolicy:
    """A rule by which a trial is stopped; `rule` is the form that the server applies."""

    def __init__(self, name: str, rule: Policy) -> None:
        try:
            check_policy(rule)
        except InvalidInput as error:
            raise HyperDriveConfigException(error.message, hint=error.hint) from None
        self.name = name
        self.rule = rule

    @property
    def evaluation_interval(self) -> int:
        return self.rule.evaluation_interval

    @property
    def delay_evaluation(self) -> int:
        return self.rule.delay_evaluation

    def to_json(self) -> str:
        """Return the policy as Azure writes it."""
        fields = ("evaluation_interval", "delay_evaluation", *self._own_fields)
        properties = {name: getattr(self.rule, name) for name in fields if getattr(self.rule, name) is not None}
        return json.dumps({"name": self.name, "properties": properties})

    _own_fields: Any = ()


class BanditPolicy(EarlyTerminationPolicy):
    """Stops trials whose best value is not within the slack of the best trial."""

    _own_fields = ("slack_factor", "slack_amount")

    def __init__(
        self,
        evaluation_interval: int = 1,
        slack_factor: Optional[float] = None,
        slack_amount: Optional[float] = None,
        delay_evaluation: int = 0,
    ) -> None:
        rule = Policy("bandit", evaluation_interval, delay_evaluation, slack_factor, slack_amount)
        super().__init__("Bandit", rule)

    @property
    def slack_factor(self) -> Optional[float]:
        return self.rule.slack_factor

    @property
    def slack_amount(self) -> Optional[float]:
        return self.rule.slack_amount


class MedianStoppingPolicy(EarlyTerminationPolicy):
    """Stops trials whose best value is worse than the median of the others' running averages."""

    def __init__(self, evaluation_interval: int = 1, delay_evaluation: int = 0) -> None:
        super().__init__("MedianStopping", Policy("median", evaluation_interval, delay_evaluation))


class TruncationSelectionPolicy(EarlyTerminationPolicy):
    """Stops the given percentage of the worst trials at each interval."""

    _own_fields = ("truncation_percentage",)

    def __init__(self, truncation_percentage: int, evaluation_interval: int = 1, delay_evaluation: int = 0) -> None:
        rule = Policy("truncation", evaluation_interval, delay_evaluation, truncation_percentage=truncation_percentage)
        super().__init__("TruncationSelection", rule)

    @property
    def truncation_percentage(self) -> Optional[int]:
        return self.rule.truncation_percentage


class NoTerminationPolicy(EarlyTerminationPolicy):
    """Lets every trial run to its end."""

    def __init__(self) -> None:
        super().__init__("Default", Policy())


class AshaPolicy(EarlyTerminationPolicy):
    """Asynchronous successive halving: one trial in `reduction_factor` goes on after each rung. Not in Azure.

    `promote`: a trial pauses at a rung, and goes on from its checkpoint in `./outputs` once it is among the best.
    """

    _own_fields = ("min_intervals", "max_intervals", "reduction_factor", "promote")

    def __init__(
        self,
        min_intervals: int = 1,
        reduction_factor: int = 3,
        promote: bool = False,
        max_intervals: Optional[int] = None,
    ) -> None:
        rule = Policy(
            "asha", min_intervals=min_intervals, max_intervals=max_intervals, reduction_factor=reduction_factor,
            promote=promote,
        )  # fmt: skip
        super().__init__("Asha", rule)


class HyperbandPolicy(EarlyTerminationPolicy):
    """ASHA in several brackets, which begin to stop trials at different rungs. Not in Azure."""

    _own_fields = ("min_intervals", "max_intervals", "reduction_factor", "promote")

    def __init__(
        self, max_intervals: int, min_intervals: int = 1, reduction_factor: int = 3, promote: bool = False
    ) -> None:
        rule = Policy(
            "hyperband", min_intervals=min_intervals, max_intervals=max_intervals, reduction_factor=reduction_factor,
            promote=promote,
        )  # fmt: skip
        super().__init__("Hyperband", rule)


class PopulationBasedTraining(EarlyTerminationPolicy):
    """Every `evaluation_interval`, replaces the worst trials by copies of the best with changed parameters.

    A copy begins with the `./outputs` of the trial that it continues, where the script finds its checkpoint. The
    sampler draws the `population`, and each copy counts as a trial. Not in Azure.
    """

    _own_fields = ("population", "quantile", "max_intervals")

    def __init__(
        self,
        evaluation_interval: int = 1,
        population: Optional[int] = None,
        quantile: float = 0.25,
        delay_evaluation: int = 0,
        max_intervals: Optional[int] = None,
    ) -> None:
        rule = Policy(
            "pbt", evaluation_interval, delay_evaluation, population=population, quantile=quantile,
            max_intervals=max_intervals,
        )  # fmt: skip
        super().__init__("PopulationBasedTraining", rule)
