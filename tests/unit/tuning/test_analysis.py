"""Analysis of sweeps: the parameter that matters comes first, and every value has its place on an axis."""

from __future__ import annotations

import random

from footplate.domain.tuning.early_stopping import MAXIMIZE, MINIMIZE
from footplate.domain.tuning.sweeps import Objective, SweepSpec, TrialView, mark_best
from footplate.tuning.analysis import analyze

SPACE = {
    "x": ["uniform", [0, 1]],
    "lr": ["loguniform", [-3, 0]],
    "kind": ["choice", ["a", "b"]],
    "depth": ["when", ["kind", ["b"], ["randint", [9]]]],
}


def test_the_parameter_that_matters_comes_first() -> None:
    generator = random.Random(1)
    points = [{"x": generator.random(), "lr": 0.1 + 0.9 * generator.random(), "kind": "a"} for _ in range(60)]
    trials = [TrialView(n, f"s_{n}", p, "Completed", p["x"], (p["x"],)) for n, p in enumerate(points)]
    found = analyze(SweepSpec(SPACE, (Objective("loss", MINIMIZE),), 60), trials)
    assert max(found.importance, key=lambda name: found.importance[name]) == "x"
    assert abs(sum(found.importance.values()) - 1.0) < 1e-6
    assert found.note is None


def test_axes_hold_the_value_of_each_trial_in_order() -> None:
    spec = SweepSpec(SPACE, (Objective("loss", MINIMIZE), Objective("speed", MAXIMIZE)), 3)
    trials = mark_best(
        [
            TrialView(0, "s_0", {"x": 0.5, "lr": 0.2, "kind": "b", "depth": 4}, "Completed", 1.0, (1.0, 5.0)),
            TrialView(1, "s_1", {"x": 0.1, "lr": 0.1, "kind": "a"}, "Failed"),
            TrialView(2, "s_2", {"x": 0.2, "lr": 0.3, "kind": "a"}, "Completed", 2.0, (2.0, 4.0)),
            TrialView(3, "s_3", {"x": 0.3, "lr": 0.3, "kind": "a"}, "Completed", 2.0, (2.0, 6.0)),
            TrialView(4, "s_4", {"x": 0.3, "lr": 0.3, "kind": "a"}, "Completed", 0.1, (0.1, 9.0), is_feasible=False),
        ],
        spec,
    )
    found = analyze(spec, trials[:4])
    axes = {axis.name: axis for axis in found.axes}
    assert found.trials == (0, 2, 3)
    assert found.best == (0, 3), "trial 2 is worse than trial 0 in both objectives"
    assert not trials[4].is_best, "it breaks a constraint"
    assert axes["depth"].values == (4, None, None)
    assert (axes["depth"].low, axes["depth"].high) == (0.0, 8.0)
    assert axes["kind"].options == ("a", "b")
    assert axes["lr"].is_log
    assert axes["speed"].values == (5.0, 4.0, 6.0)
    assert found.note == "3 trials have logged the metrics, and importance needs 4"
