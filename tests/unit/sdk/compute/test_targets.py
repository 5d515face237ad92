"""Cluster sizes in the forms that notebooks use."""

from __future__ import annotations

from typing import Any

import pytest

from footplate.sdk.compute.targets import AmlCompute
from footplate.sdk.exceptions import ComputeTargetException

configure: Any = AmlCompute.provisioning_configuration


def test_sizes_may_be_text() -> None:
    """Many notebooks pass `max_nodes=os.environ.get("AML_COMPUTE_CLUSTER_MAX_NODES", 4)`."""
    made = configure(vm_size="STANDARD_D2_V2", min_nodes="0", max_nodes="4", idle_seconds_before_scaledown="120")
    assert (made.min_nodes, made.max_nodes, made.idle_seconds_before_scaledown) == (0, 4, 120.0)


@pytest.mark.parametrize(
    ("sizes", "message"),
    [
        ({}, "max_nodes is missing"),
        ({"max_nodes": "many"}, "max_nodes is 'many'"),
        ({"max_nodes": 2.5}, "max_nodes is 2.5"),
        ({"max_nodes": float("inf")}, "max_nodes is inf"),
        ({"max_nodes": 4, "min_nodes": None}, "min_nodes is None"),
        ({"max_nodes": 2, "min_nodes": 3}, "min_nodes=3, max_nodes=2 is not a valid size"),
        ({"max_nodes": 2, "idle_seconds_before_scaledown": "soon"}, "idle_seconds_before_scaledown is 'soon'"),
        ({"max_nodes": 2, "vm_priority": "spot"}, "vm_priority is 'spot'"),
    ],
)
def test_an_invalid_size_is_an_error_that_names_it(sizes: dict[str, Any], message: str) -> None:
    with pytest.raises(ComputeTargetException, match=message) as raised:
        configure(**sizes)
    assert "hint: " in str(raised.value)
