"""Converting estimators, and comparing the conversion with the original."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.linear_model import LinearRegression, LogisticRegression

from footplate.sdk.models.onnx_job import TOLERANCE, convert, largest_difference

X = np.array([[0, 0], [1, 1], [0, 1], [3, 3]], dtype=np.float32)


@pytest.mark.parametrize(
    "estimator",
    [
        LinearRegression().fit(X, [1.0, 20.0, 3.0, 400.0]),
        LogisticRegression().fit(X, [0, 1, 0, 1]),
        LogisticRegression().fit(X, ["no", "yes", "no", "yes"]),
    ],
)
def test_a_conversion_gives_the_same_outputs(estimator: LinearRegression | LogisticRegression) -> None:
    assert largest_difference(convert(estimator, X), estimator, X) < TOLERANCE


def test_a_conversion_of_another_model_is_noticed() -> None:
    one, other = LinearRegression().fit(X, [0, 1, 2, 3]), LinearRegression().fit(X, [0, 1, 2, 4])
    assert largest_difference(convert(one, X), other, X) > TOLERANCE
    yes, no = LogisticRegression().fit(X, ["a", "b", "a", "b"]), LogisticRegression().fit(X, ["b", "a", "b", "a"])
    assert largest_difference(convert(yes, X), no, X) == 1
