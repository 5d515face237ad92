"""Early termination policies of a sweep."""

from __future__ import annotations

import json
from typing import Any, Optional

from footplate.domain.tuning.early_stopping import Policy, check_policy
from footplate.errors import InvalidInput
from footplate.sdk.tuning.exceptions import HyperDriveConfigException
from footplate.sdk.values.wrong_types import explained


@explained
class EarlyTerminationPolicy:
    """A rule by which trials are stopped early; `rule` is the form that the server applies.

    Args:
        name: The name of the policy.
        rule: The rule.

    Raises:
        HyperDriveConfigException: A value is not valid.

    Example:
        policy = BanditPolicy(evaluation_interval=2, slack_factor=0.1)
        print(policy.name, policy.to_json())
    """

    def __init__(self, name: str, rule: Policy) -> None:
        try:
            check_policy(rule)
        except InvalidInput as error:
            raise HyperDriveConfigException(error.message, hint=error.hint) from None
        self.name = name
        self.rule = rule

    @property
    def evaluation_interval(self) -> int:
        """After how many values of the primary metric a trial is judged again."""
        return self.rule.evaluation_interval

    @property
    def delay_evaluation(self) -> int:
        """How many values of the primary metric a trial may log before it is judged first."""
        return self.rule.delay_evaluation

    def to_json(self) -> str:
        """Return the policy as Azure writes it.

        Returns:
            JSON text.
        """
        fields = ("evaluation_interval", "delay_evaluation", *self._own_fields)
        properties = {name: getattr(self.rule, name) for name in fields if getattr(self.rule, name) is not None}
        return json.dumps({"name": self.name, "properties": properties})

    _own_fields: Any = ()


@explained
class BanditPolicy(EarlyTerminationPolicy):
    """Stops trials whose best value is not within the slack of the best trial.

    Args:
        evaluation_interval: After how many values of the metric a trial is judged again.
        slack_factor: The slack as a share of the best value.
        slack_amount: The slack as an amount. Give one of the two.
        delay_evaluation: How many values a trial may log before it is judged first.

    Raises:
        HyperDriveConfigException: A value is not valid.

    Example:
        policy = BanditPolicy(evaluation_interval=1, slack_factor=0.2, delay_evaluation=5)
    """

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
        """The slack as a share of the best value, or None."""
        return self.rule.slack_factor

    @property
    def slack_amount(self) -> Optional[float]:
        """The slack as an amount, or None."""
        return self.rule.slack_amount


@explained
class MedianStoppingPolicy(EarlyTerminationPolicy):
    """Stops trials whose best value is worse than the median of the others' running averages.

    Args:
        evaluation_interval: After how many values of the metric a trial is judged again.
        delay_evaluation: How many values a trial may log before it is judged first.

    Raises:
        HyperDriveConfigException: A value is not valid.

    Example:
        policy = MedianStoppingPolicy(evaluation_interval=1, delay_evaluation=5)
    """

    def __init__(self, evaluation_interval: int = 1, delay_evaluation: int = 0) -> None:
        super().__init__("MedianStopping", Policy("median", evaluation_interval, delay_evaluation))


@explained
class TruncationSelectionPolicy(EarlyTerminationPolicy):
    """Stops the given percentage of the worst trials at each interval.

    Args:
        truncation_percentage: The percentage, 1 to 99.
        evaluation_interval: After how many values of the metric a trial is judged again.
        delay_evaluation: How many values a trial may log before it is judged first.

    Raises:
        HyperDriveConfigException: A value is not valid.

    Example:
        policy = TruncationSelectionPolicy(truncation_percentage=20, delay_evaluation=5)
    """

    _own_fields = ("truncation_percentage",)

    def __init__(self, truncation_percentage: int, evaluation_interval: int = 1, delay_evaluation: int = 0) -> None:
        rule = Policy("truncation", evaluation_interval, delay_evaluation, truncation_percentage=truncation_percentage)
        super().__init__("TruncationSelection", rule)

    @property
    def truncation_percentage(self) -> Optional[int]:
        """The percentage of trials that are stopped."""
        return self.rule.truncation_percentage


class NoTerminationPolicy(EarlyTerminationPolicy):
    """Lets every trial run to its end.

    Example:
        policy = NoTerminationPolicy()
    """

    def __init__(self) -> None:
        super().__init__("Default", Policy())


@explained
class AshaPolicy(EarlyTerminationPolicy):
    """Asynchronous successive halving: one trial in `reduction_factor` goes on after each rung. Not in Azure.

    Args:
        min_intervals: Values of the metric up to the first rung.
        reduction_factor: One trial in this many goes on, and rungs are this factor apart.
        promote: Whether a trial pauses at a rung, and goes on from its checkpoint in `./outputs` once it
            is among the best.
        max_intervals: Values of the metric up to the last rung.

    Raises:
        HyperDriveConfigException: A value is not valid.

    Example:
        policy = AshaPolicy(min_intervals=1, reduction_factor=3)
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


@explained
class HyperbandPolicy(EarlyTerminationPolicy):
    """ASHA in several brackets, which begin to stop trials at different rungs. Not in Azure.

    Args:
        max_intervals: Values of the metric up to the last rung.
        min_intervals: Values of the metric up to the first rung.
        reduction_factor: One trial in this many goes on, and rungs are this factor apart.
        promote: Whether a trial pauses at a rung, and goes on from its checkpoint in `./outputs` once it
            is among the best.

    Raises:
        HyperDriveConfigException: A value is not valid.

    Example:
        policy = HyperbandPolicy(max_intervals=27)
    """

    _own_fields = ("min_intervals", "max_intervals", "reduction_factor", "promote")

    def __init__(
        self, max_intervals: int, min_intervals: int = 1, reduction_factor: int = 3, promote: bool = False
    ) -> None:
        rule = Policy(
            "hyperband", min_intervals=min_intervals, max_intervals=max_intervals, reduction_factor=reduction_factor,
            promote=promote,
        )  # fmt: skip
        super().__init__("Hyperband", rule)


@explained
class PopulationBasedTraining(EarlyTerminationPolicy):
    """Replaces the worst trials by copies of the best with changed parameters. Not in Azure.

    A copy begins with the `./outputs` of the trial that it continues, where the script finds its
    checkpoint. The sampler draws the first `population`, and each copy counts as a trial.

    Args:
        evaluation_interval: After how many values of the metric trials are compared.
        population: The number of trials that run side by side.
        quantile: The share of trials that are replaced.
        delay_evaluation: How many values a trial may log before it is judged first.
        max_intervals: After how many values a trial ends.

    Raises:
        HyperDriveConfigException: A value is not valid.

    Example:
        policy = PopulationBasedTraining(evaluation_interval=5, population=8)
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
