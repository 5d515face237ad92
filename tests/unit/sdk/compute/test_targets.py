"""Sizes of clusters as notebooks give them."""

from __future__ import annotations

from typing import Any

import pytest

from footplate.sdk.compute.targets import AmlCompute
from footplate.sdk.exceptions import ComputeTargetException

configure: Any = AmlCompute.provisioning_configuration


def test_sizes_that_come_from_the_environment_are_text() -> None:
    """`max_nodes=os.environ.get("AML_COMPUTE_CLUSTER_MAX_NODES", 4)`, as many notebooks have it."""
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
def test_what_is_no_size_is_refused_in_words(sizes: dict[str, Any], message: str) -> None:
    with pytest.raises(ComputeTargetException, match=message) as raised:
        configure(**sizes)
    assert "hint: " in str(raised.value)
