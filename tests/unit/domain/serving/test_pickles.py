from __future__ import annotations

import pytest

from footplate.domain.serving.pickles import numpy_hint


@pytest.mark.parametrize(
    "message",
    [
        "No module named 'numpy._core'",
        "No module named 'numpy._core.multiarray'",
        "<class 'numpy.random._mt19937.MT19937'> is not a known BitGenerator module.",
    ],
)
def test_errors_of_numpy_1_about_objects_of_numpy_2_get_a_hint(message: str) -> None:
    hint = numpy_hint(message, "1.26.4") or ""
    assert "saved with NumPy 2, and this environment has NumPy 1.26.4" in hint and "'numpy<2'" in hint


@pytest.mark.parametrize("message", ["No module named 'numpy'", "No module named 'mine._core'", "bad x", ""])
def test_other_errors_get_none(message: str) -> None:
    assert numpy_hint(message, "1.26.4") is None
