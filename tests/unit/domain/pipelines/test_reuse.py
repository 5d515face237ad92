"""Parts of steps: equal for the same work, and told apart in words."""

from __future__ import annotations

from dataclasses import replace

import pytest

from footplate.domain.orders import Program
from footplate.domain.pipelines.graph import PipelineStep
from footplate.domain.pipelines.reuse import UNKNOWN, explain_difference, key_of, parts_of
from footplate.domain.specs import Distribution, EnvironmentSpec, RunSpec

STEP = PipelineStep("train")
JOB = RunSpec(
    "e", program=Program("train.py", ("--rate", "0.1")), snapshot="code1", environment_variables={"SEED": "1"}
)


def parts(spec: RunSpec = JOB, step: PipelineStep = STEP, content: str = "c1") -> dict[str, str]:
    return parts_of(step, spec, {"data": content})


def test_names_places_and_limits_do_not_count() -> None:
    other = replace(
        JOB, experiment="f", target="cluster", name="n", tags={"a": "b"}, max_seconds=60.0, priority=2,
        environment=replace(JOB.environment, name="other"),
    )  # fmt: skip
    assert key_of(parts(other)) == key_of(parts())


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        (parts(replace(JOB, snapshot="code2")), "code changed"),
        (parts(replace(JOB, program=Program("other.py", ("--rate", "0.1")))), "script is 'other.py', was 'train.py'"),
        (parts(replace(JOB, program=Program("train.py", ("--rate", "0.2")))), "argument 2 --rate is '0.2', was '0.1'"),
        (parts(replace(JOB, program=Program("train.py", ("--rate",)))), "argument 2 --rate was removed"),
        (parts(replace(JOB, environment_variables={"SEED": "2"})), "variable SEED is '2', was '1'"),
        (parts(replace(JOB, environment=EnvironmentSpec(requirements=("numpy",)))), "environment changed"),
        (parts(replace(JOB, distribution=Distribution("mpi", 2))), "settings changed"),
        (parts(step=PipelineStep("train", version="2")), "settings changed"),
        (parts(content="c2"), "input data changed"),
        (parts(content=f"{UNKNOWN} 1"), "the content of input data cannot be compared"),
    ],
)
def test_each_change_makes_another_key_and_is_named(changed: dict[str, str], words: str) -> None:
    assert key_of(changed) != key_of(parts())
    assert explain_difference(changed, parts()) == words


def test_only_the_named_files_count_with_hash_paths() -> None:
    step = PipelineStep("train", code="digest of two files")
    assert key_of(parts(replace(JOB, snapshot="code2"), step)) == key_of(parts(JOB, step))


def test_the_order_of_variables_does_not_count() -> None:
    first = replace(JOB, environment_variables={"A": "1", "B": "2"})
    second = replace(JOB, environment_variables={"B": "2", "A": "1"})
    assert key_of(parts(first)) == key_of(parts(second))
