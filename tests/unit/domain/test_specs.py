"""Specs that are refused before anything is started, and their errors."""

from __future__ import annotations

from typing import Any

import pytest

from footplate.domain.orders import Program
from footplate.domain.specs import (
    Distribution,
    EnvironmentSpec,
    RunSpec,
    check_experiment_name,
    check_run_id,
    check_spec,
    warning_time,
)
from footplate.errors import InvalidInput


def spec(**changes: Any) -> RunSpec:
    return RunSpec(**{"experiment": "e", "program": Program(script="s.py"), **changes})


@pytest.mark.parametrize(
    "good",
    [
        spec(),
        spec(program=Program(command="echo $HOME && true")),
        spec(program=Program(script="code/train.py", arguments=("--lr", "$LR"))),
        spec(kind="interactive", program=None),
        spec(environment_variables={"A": ""}, max_seconds=0.5),
        spec(warning_signal="SIGUSR1", warning_seconds=0.2, max_seconds=0.5),
        spec(distribution=Distribution("torch", node_count=2, process_count=2)),
    ],
)
def test_valid_specs_pass(good: RunSpec) -> None:
    check_spec(good)


def test_the_warning_comes_two_minutes_or_half_of_the_limit_before_it() -> None:
    assert warning_time(spec(warning_signal="SIGUSR1")) == 120.0
    assert warning_time(spec(warning_signal="SIGUSR1", max_seconds=60.0)) == 30.0
    assert warning_time(spec(warning_signal="SIGUSR1", max_seconds=60.0, warning_seconds=50.0)) == 50.0


@pytest.mark.parametrize(
    ("bad", "words"),
    [
        (spec(experiment="no spaces"), "'no spaces' is not an experiment name"),
        (spec(experiment="ümlaut"), "'ümlaut' is not an experiment name"),
        (spec(experiment="x" * 256), "is not an experiment name"),
        (spec(kind="batch"), "run kind 'batch' is unknown"),
        (spec(program=None), "needs either a script or a command"),
        (spec(program=Program()), "needs either a script or a command"),
        (spec(program=Program(script="s.py", command="true")), "needs either a script or a command"),
        (spec(program=Program(script="/etc/passwd")), "'/etc/passwd' is outside the source folder"),
        (spec(program=Program(script="a/../../b.py")), "outside the source folder"),
        (spec(program=Program(script="s.py", arguments=("a\0b",))), "NUL"),
        (spec(environment_variables={"A=B": "1"}), "'A=B' cannot be an environment variable's name"),
        (spec(environment=EnvironmentSpec(variables={"": "1"})), "'' cannot be an environment variable's name"),
        (spec(environment_variables={"A": "x\0"}), "environment variable A has a NUL"),
        (spec(max_seconds=0.0), "max_seconds is 0"),
        (spec(max_seconds=-1.5), "max_seconds is -1.5"),
        (spec(max_seconds=float("nan")), "max_seconds is nan"),
        (spec(warning_signal="SIGKILL"), "warning_signal is 'SIGKILL'"),
        (spec(warning_seconds=9.0), "warning_seconds is 9 without a warning_signal"),
        (spec(warning_signal="SIGUSR1", warning_seconds=0.0), "warning_seconds is 0"),
        (spec(warning_signal="SIGUSR1", warning_seconds=60.0, max_seconds=60.0), "60 and the time limit 60"),
        (spec(collect=("../secrets",)), "folder '../secrets' is outside the working folder"),
        (spec(watch=("/var/log",)), "folder '/var/log' is outside the working folder"),
        (spec(distribution=Distribution("horovod")), "distribution 'horovod' is unknown"),
        (spec(distribution=Distribution(node_count=0)), "node_count is 0"),
        (spec(distribution=Distribution("torch", process_count=0)), "process_count is 0"),
        (spec(distribution=Distribution("torch", node_count=3, process_count=2)), "process_count is 2, less than"),
        (spec(distribution=Distribution("mpi", processes_per_node=-1)), "processes_per_node is -1"),
        (spec(distribution=Distribution("tensorflow", parameter_server_count=-1)), "parameter_server_count is -1"),
    ],
)
def test_invalid_specs_are_refused_by_name_and_with_a_hint(bad: RunSpec, words: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        check_spec(bad)
    assert words in caught.value.message
    assert caught.value.hint


@pytest.mark.parametrize("good", ["a", "exp_1700000000_1a2b3c4d", "9.lives-x", "A" * 255])
def test_valid_run_ids_pass(good: str) -> None:
    check_run_id(good)


@pytest.mark.parametrize("bad", ["", ".", "..", "a..b", "a/b", "-a", "a b", "a\n", "A" * 256, "ü"])
def test_run_ids_that_could_leave_their_folder_are_refused(bad: str) -> None:
    with pytest.raises(InvalidInput, match="is not a run id"):
        check_run_id(bad)


@pytest.mark.parametrize("bad", ["", "a\n", "-a", "a.b"])
def test_experiment_names_are_checked(bad: str) -> None:
    with pytest.raises(InvalidInput, match="is not an experiment name"):
        check_experiment_name(bad)


@pytest.mark.parametrize(
    ("field", "wanted"),
    [
        ("process_count", Distribution("torch", process_count=10**6)),
        ("node_count", Distribution(node_count=10**6)),
        ("processes_per_node", Distribution("mpi", processes_per_node=10**6)),
        ("processes_per_node", Distribution("mpi", node_count=200, processes_per_node=200)),
        ("worker_count", Distribution("tensorflow", worker_count=10**6)),
        ("parameter_server_count", Distribution("tensorflow", parameter_server_count=10**6)),
    ],
)
def test_a_count_that_no_server_could_hold_is_an_error(field: str, wanted: Distribution) -> None:
    with pytest.raises(InvalidInput, match=f"{field} is ") as refused:
        check_spec(RunSpec("train", program=Program(script="t.py"), snapshot="a" * 64, distribution=wanted))
    assert "at most 10000" in (refused.value.hint or "")
