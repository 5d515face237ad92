"""Early termination: each policy's rule, by the values that trials have logged."""

from __future__ import annotations

import math

import pytest

from footplate.domain.tuning.early_stopping import MAXIMIZE, MINIMIZE, History, Policy, check_policy, reason_to_stop
from footplate.errors import InvalidInput


def stops(policy: Policy, goal: str, own: list[float], *others: list[float]) -> bool:
    history = {"t_0": own, **{f"t_{n}": values for n, values in enumerate(others, 1)}}
    return reason_to_stop(policy, "t_0", History(goal, history)) is not None


def test_nothing_stops_without_a_policy() -> None:
    assert not stops(Policy(), MAXIMIZE, [0.0], [100.0])


@pytest.mark.parametrize("own, stopped", [(0.66, True), (0.67, False)])
def test_bandit_allows_the_slack_factor_when_maximizing(own: float, stopped: bool) -> None:
    """0.8 / 1.2 = 0.667: Azure's own example."""
    assert stops(Policy("bandit", slack_factor=0.2), MAXIMIZE, [own], [0.8]) is stopped


@pytest.mark.parametrize("own, stopped", [(1.21, True), (1.19, False)])
def test_bandit_allows_the_slack_factor_when_minimizing(own: float, stopped: bool) -> None:
    assert stops(Policy("bandit", slack_factor=0.2), MINIMIZE, [own], [1.0]) is stopped


def test_bandit_compares_the_best_so_far_and_not_the_last_value() -> None:
    policy = Policy("bandit", slack_amount=0.1)
    assert not stops(policy, MAXIMIZE, [0.8, 0.1], [0.85])
    assert stops(policy, MAXIMIZE, [0.7, 0.1], [0.85])


def test_bandit_compares_trials_after_as_many_intervals() -> None:
    policy, leader = Policy("bandit", slack_factor=0.2), [1.0, 0.5, 0.1]
    assert not stops(policy, MINIMIZE, [1.1], leader), "the leader began no better"
    assert stops(policy, MINIMIZE, [1.1, 1.1], leader)
    assert not stops(policy, MINIMIZE, [1.1, 0.55], leader)


@pytest.mark.parametrize("goal, best, own, worse", [(MAXIMIZE, -1.0, -1.1, -1.3), (MINIMIZE, -1.3, -1.1, -1.0)])
def test_bandit_allows_the_slack_factor_below_zero(goal: str, best: float, own: float, worse: float) -> None:
    policy = Policy("bandit", slack_factor=0.2)
    assert not stops(policy, goal, [best], [own])
    assert not stops(policy, goal, [own], [best])
    assert stops(policy, goal, [worse], [best])


def test_intervals_before_the_delay_and_between_evaluations_do_not_count() -> None:
    policy = Policy("bandit", evaluation_interval=2, delay_evaluation=3, slack_amount=0.0)
    found = [stops(policy, MAXIMIZE, [0.0] * count, [1.0]) for count in range(1, 7)]
    assert found == [False, False, False, True, False, True]


def test_median_compares_with_the_running_averages_of_others() -> None:
    policy = Policy("median")
    others = ([0.2, 0.4], [0.4, 0.6], [0.6, 0.8])  # averages 0.3, 0.5, 0.7
    assert stops(policy, MAXIMIZE, [0.4, 0.49], *others)
    assert not stops(policy, MAXIMIZE, [0.4, 0.5], *others)
    assert not stops(policy, MAXIMIZE, [0.0])


def test_truncation_stops_the_lowest_share_at_the_same_interval() -> None:
    policy = Policy("truncation", truncation_percentage=20)
    others = ([0.5, 9.0], [0.6], [0.7], [0.8])
    assert stops(policy, MAXIMIZE, [0.1], *others)
    assert not stops(policy, MAXIMIZE, [0.55], *others)
    assert stops(policy, MINIMIZE, [0.9], *others)
    assert not stops(policy, MAXIMIZE, [0.1], [0.5]), "a fifth of two trials is none"


def test_asha_keeps_the_best_third_at_each_rung() -> None:
    policy = Policy("asha", min_intervals=1, reduction_factor=3)
    assert not stops(policy, MAXIMIZE, [0.1]), "the first at a rung goes on"
    assert stops(policy, MAXIMIZE, [0.1], [0.2])
    assert not stops(policy, MAXIMIZE, [0.3], [0.2], [0.1])
    assert not stops(policy, MAXIMIZE, [0.3, 0.0], [0.2, 1.0], [0.1, 1.0]), "interval 2 is not a rung"
    assert stops(policy, MAXIMIZE, [0.3, 0.0, 0.0], [0.2, 1.0, 1.0])


def test_hyperband_compares_within_a_bracket() -> None:
    policy = Policy("hyperband", min_intervals=1, max_intervals=9, reduction_factor=3)  # three brackets
    assert not stops(policy, MAXIMIZE, [0.1], [0.9], [0.9]), "t_1 and t_2 are in other brackets"
    assert stops(policy, MAXIMIZE, [0.1], [0.0], [0.0], [0.9])
    history = History(MAXIMIZE, {"t_1": [0.1], "t_4": [0.9]})
    assert reason_to_stop(policy, "t_1", history) is None, "bracket 1 begins to stop at interval 3"


def test_a_trial_at_its_last_interval_is_not_stopped() -> None:
    others = ([1.0, 1.0, 1.0],) * 3
    assert stops(Policy("asha", max_intervals=9), MAXIMIZE, [0.9, 0.9, 0.9], *others)
    assert not stops(Policy("asha", max_intervals=3), MAXIMIZE, [0.9, 0.9, 0.9], *others)


def test_nan_counts_as_worst() -> None:
    assert stops(Policy("truncation", truncation_percentage=50), MINIMIZE, [math.nan], [5.0])
    assert stops(Policy("bandit", slack_amount=1.0), MAXIMIZE, [math.nan], [5.0])
    assert stops(Policy("median"), MINIMIZE, [5.0], [math.nan], [1.0], [1.0])


def test_the_reason_names_both_values() -> None:
    found = reason_to_stop(Policy("bandit", slack_factor=0.1), "a", History(MINIMIZE, {"a": [3.0], "b": [1.5]}))
    assert found == "its best is 3, and the best trial has 1.5 at interval 1 (slack factor 0.1)"


@pytest.mark.parametrize(
    "policy, words",
    [
        (Policy("luck"), "policy 'luck' is unknown"),
        (Policy("bandit"), "slack_factor is None and slack_amount is None"),
        (Policy("bandit", slack_factor=0.1, slack_amount=1), "slack_factor is 0.1 and slack_amount is 1"),
        (Policy("bandit", slack_factor=-0.1), "the slack is -0.1"),
        (Policy("truncation"), "truncation_percentage is None"),
        (Policy("truncation", truncation_percentage=100), "truncation_percentage is 100"),
        (Policy("median", evaluation_interval=0), "evaluation_interval is 0"),
        (Policy("median", delay_evaluation=-1), "delay_evaluation is -1"),
        (Policy("asha", reduction_factor=1), "reduction_factor is 1"),
        (Policy("hyperband"), "max_intervals is None"),
        (Policy("bandit", slack_factor="much"), "the slack is 'much'"),  # type: ignore[arg-type]
        (Policy("truncation", truncation_percentage="half"), "truncation_percentage is 'half'"),  # type: ignore[arg-type]
        (Policy("asha", reduction_factor=2.5), "reduction_factor is 2.5"),  # type: ignore[arg-type]
        (Policy("asha", promote="yes"), "promote is 'yes'"),  # type: ignore[arg-type]
        (Policy("asha", min_intervals=5, max_intervals=5), "max_intervals is 5"),
        (Policy("pbt", quantile="half"), "quantile is 'half'"),  # type: ignore[arg-type]
        (Policy("pbt", evaluation_interval=4, max_intervals=4), "max_intervals is 4"),
        (Policy("pbt", evaluation_interval=3, delay_evaluation=4, max_intervals=6), "max_intervals is 6"),
    ],
)
def test_a_policy_that_cannot_apply_is_refused(policy: Policy, words: str) -> None:
    with pytest.raises(InvalidInput, match=words):
        check_policy(policy)
