"""Values of requests as arrays: the fast way gives what numpy gives."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from footplate.serving.worker.messages import Refused
from footplate.serving.worker.tensors import TensorSpec, to_array

NUMBERS = st.one_of(st.floats(-1e30, 1e30), st.integers(-(2**53), 2**53), st.booleans(), st.just(float("nan")))


@given(st.integers(1, 4).flatmap(lambda width: st.lists(st.lists(NUMBERS, min_size=width, max_size=width), min_size=1)))
def test_rows_of_numbers_become_the_array_that_numpy_makes(rows: list[list[Any]]) -> None:
    for dtype in ("float32", "float64"):
        array = to_array(TensorSpec("x", dtype), rows)
        np.testing.assert_array_equal(array, np.asarray(rows).astype(dtype))
        assert array.dtype == dtype
        assert array.flags.writeable, "some frameworks take no others"


@pytest.mark.parametrize(
    "value, shape",
    [
        (5, ()),
        ([], (0,)),
        ([[]], (1, 0)),
        ([1, 2], (2,)),
        ([[[1], [2]]], (1, 2, 1)),
        ([[None, 1]], (1, 2)),
        ([["3", 1]], (1, 2)),
    ],
)
def test_other_values_become_arrays_of_their_shape(value: Any, shape: tuple[int, ...]) -> None:
    assert to_array(TensorSpec("x", "float32"), value).shape == shape


@pytest.mark.parametrize("value", [[[1, 2], [3]], [[1], 2], [["text"]], [[{}]], [{"a": 1}], [[10**400]], [[1e39]]])
def test_values_that_are_no_array_of_the_type_are_refused(value: Any) -> None:
    with pytest.raises(Refused, match="'x'"):
        to_array(TensorSpec("x", "float32"), value)
