"""Problems to optimize: five test functions and two small trainings. Each is deterministic, and smaller is better."""

from __future__ import annotations

import math
from collections.abc import Callable

Point = dict[str, float]


def sphere(p: Point) -> float:
    return p["x"] ** 2 + p["y"] ** 2


def rosenbrock(p: Point) -> float:
    return 100 * (p["y"] - p["x"] ** 2) ** 2 + (1 - p["x"]) ** 2


def branin(p: Point) -> float:
    x, y = 2.5 + 1.5 * p["x"], 7.5 + 1.5 * p["y"]
    bend = y - 5.1 / (4 * math.pi**2) * x**2 + 5 / math.pi * x - 6
    return bend**2 + 10 * (1 - 1 / (8 * math.pi)) * math.cos(x) + 10


def ackley(p: Point) -> float:
    distance = math.exp(-0.2 * math.sqrt((p["x"] ** 2 + p["y"] ** 2) / 2))
    waves = math.exp((math.cos(2 * math.pi * p["x"]) + math.cos(2 * math.pi * p["y"])) / 2)
    return -20 * distance - waves + math.e + 20


def rastrigin(p: Point) -> float:
    return 20 + sum(value**2 - 10 * math.cos(2 * math.pi * value) for value in p.values())


def _digits() -> tuple:  # type: ignore[type-arg]
    from sklearn.datasets import load_digits  # noqa: PLC0415  # only the trainings need it
    from sklearn.model_selection import train_test_split  # noqa: PLC0415

    images, labels = load_digits(return_X_y=True)
    return train_test_split(images / 16.0, labels, test_size=0.3, random_state=0)


def logistic(p: Point) -> float:
    """Train a linear classifier of digits: x is the learning rate and y the penalty, as exponents of ten."""
    from sklearn.linear_model import SGDClassifier  # noqa: PLC0415

    train, test, labels, wanted = _digits()
    model = SGDClassifier(
        loss="log_loss", learning_rate="constant", eta0=10 ** (p["x"] / 2 - 1), alpha=10 ** (p["y"] / 2 - 4),
        max_iter=5, tol=None, random_state=0,
    )  # fmt: skip
    return 1.0 - float(model.fit(train, labels).score(test, wanted))


def network(p: Point) -> float:
    """Train a small network on digits for a few passes."""
    from sklearn.neural_network import MLPClassifier  # noqa: PLC0415

    train, test, labels, wanted = _digits()
    model = MLPClassifier(
        (16,), learning_rate_init=10 ** (p["x"] / 2 - 2), alpha=10 ** (p["y"] / 2 - 4), max_iter=4, random_state=0
    )
    return 1.0 - float(model.fit(train, labels).score(test, wanted))


PROBLEMS: dict[str, Callable[[Point], float]] = {
    each.__name__: each for each in (sphere, rosenbrock, branin, ackley, rastrigin, logistic, network)
}


if __name__ == "__main__":
    import argparse
    import warnings

    from footplate import Run

    warnings.simplefilter("ignore")
    parser = argparse.ArgumentParser()
    parser.add_argument("--problem")
    parser.add_argument("--x", type=float)
    parser.add_argument("--y", type=float)
    given = parser.parse_args()
    Run.get_context().log("value", PROBLEMS[given.problem]({"x": given.x, "y": given.y}))
