"""Why replicas fail, in the words of the person who deployed them."""

from __future__ import annotations

import pytest

from footplate.domain.orders import Cause
from footplate.services.endpoints.version_runs import name_gpu_setting


@pytest.mark.parametrize(
    "cause",
    [
        Cause("exit_code", "rank 0 exited with 1: RuntimeError: No CUDA GPUs are available", "its last lines"),
        Cause("exit_code", "rank 0 exited with 1", None, last_lines=("no CUDA-capable device is detected",)),
    ],
)
def test_a_replica_that_lacks_a_gpu_names_the_setting(cause: Cause) -> None:
    known = name_gpu_setting(cause)
    assert known.message == cause.message
    assert known.hint is not None and "gpu_cores=1" in known.hint and "ResourceConfiguration(gpu=1)" in known.hint


def test_other_failures_of_replicas_keep_their_hint() -> None:
    cause = Cause("exit_code", "rank 0 exited with 1: ValueError: x", "its last lines may show why")
    assert name_gpu_setting(cause) == cause
