from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from footplate.engines import target_options
from footplate.engines.local import LocalEngine
from footplate.errors import InvalidInput


class Cluster(LocalEngine):
    """An engine with options, of which a run may override one."""

    name = "cluster"
    options: Mapping[str, str] = {"partition": "queue of the cluster", "host": "login node"}
    run_options = ("partition",)

    def reach(self, options: Mapping[str, Any]) -> int | None:
        return None


def test_an_unknown_option_is_refused_with_the_nearest_one() -> None:
    with pytest.raises(InvalidInput, match="'cluster' has no option 'partitoin'") as refused:
        target_options.check_options(Cluster(), {"partitoin": "gpu"})
    hint = str(refused.value.hint)
    assert hint.startswith("did you mean partition? its options are partition (queue of the cluster), host (")
    assert "cpus (CPUs that each node needs)" in hint


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("cpus", 0),
        ("cpus", "many"),
        ("cpus", True),
        ("memory", 0),
        ("memory", float("nan")),
        ("gpus", -1),
        ("gpus", 1.5),
        ("resources", {"license": 0}),
        ("resources", "license"),
    ],
)
def test_a_bad_need_of_a_node_is_refused_by_name(name: str, value: Any) -> None:
    with pytest.raises(InvalidInput, match=f"the option '{name}' is"):
        target_options.check_options(Cluster(), {name: value})


def test_valid_needs_of_a_node_are_accepted() -> None:
    given = {"cpus": 4, "memory": 7.5, "gpus": 0, "resources": {"license": 0.5}, "vm_size": "", "partition": "gpu"}
    target_options.check_options(Cluster(), given)


def test_a_run_overrides_only_the_options_that_the_engine_names() -> None:
    target_options.check_run_options(Cluster(), "gpu", {"partition": "long"})
    with pytest.raises(InvalidInput, match="'host' of 'gpu' is fixed") as refused:
        target_options.check_run_options(Cluster(), "gpu", {"partition": "long", "host": "mine"})
    assert str(refused.value.hint) == "a run can override partition (queue of the cluster)"
    with pytest.raises(InvalidInput, match="has no option 'cpus'"):
        target_options.check_run_options(Cluster(), "gpu", {"cpus": 1})


def test_an_engine_without_a_list_lets_runs_override_nothing() -> None:
    assert target_options.run_options(LocalEngine()) == ()
    with pytest.raises(InvalidInput, match="'local' of 'here' has no option 'partition'") as refused:
        target_options.check_run_options(LocalEngine(), "here", {"partition": "long"})
    assert "overrid" in str(refused.value.hint)
