from __future__ import annotations

import pytest

from footplate.domain.records import Waiting
from footplate.domain.runs import run_status

WAITING = Waiting("jobs with a higher priority are ahead", 0)


@pytest.mark.parametrize(
    ("status", "waiting", "shown"),
    [
        ("Provisioning", WAITING, "Scaling"),
        ("Provisioning", None, "Provisioning"),
        ("Queued", WAITING, "Queued"),
        ("Running", None, "Running"),
    ],
)
def test_a_run_that_its_cluster_lets_wait_is_scaling(status: str, waiting: Waiting | None, shown: str) -> None:
    assert run_status.shown(status, waiting) == shown
