from __future__ import annotations

from typing import Any

import pytest

from footplate.sdk.exceptions import UserErrorException
from footplate.sdk.runs import details


@pytest.mark.parametrize("timeout", [float("nan"), float("inf"), -1.0])
def test_a_timeout_that_is_no_time_is_refused(timeout: float) -> None:
    nothing_is_sent: Any = None
    with pytest.raises(UserErrorException, match=f"the timeout is {timeout:g}"):
        details.ask(nothing_is_sent, "r", timeout)
