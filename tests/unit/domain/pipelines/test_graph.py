"""Graphs of pipelines: what is refused, their order, and the values of parameters."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from footplate.domain.codec import from_json, to_json
from footplate.domain.orders import DataOutput, Program
from footplate.domain.pipelines.graph import (
    PipelineSpec,
    PipelineStep,
    Slot,
    StepInput,
    assign,
    check_pipeline,
    controller_of,
    execution_order,
    pipeline_of,
)
from footplate.domain.specs import ControllerSpec, RunSpec
from footplate.errors import InvalidInput

JOB = RunSpec("e", program=Program("s.py", ("--rate", "0.1")), outputs=(DataOutput("data"),))
READS = PipelineSpec({"a": PipelineStep("first"), "b": PipelineStep("second", inputs=(StepInput("in", "a", "data"),))})


def test_data_makes_an_edge() -> None:
    assert READS.steps["b"].needs == {"a"}
    assert execution_order(READS) == ["a", "b"]


def test_a_pipeline_survives_its_way_through_json() -> None:
    controller = controller_of(READS, {"a": JOB, "b": JOB})
    assert pipeline_of(from_json(ControllerSpec, to_json(controller))) == READS


@pytest.mark.parametrize(
    ("pipeline", "message"),
    [
        (PipelineSpec({}), "no steps"),
        (replace(READS, steps={"a": READS.steps["a"]}), "no spec of a run"),
        (replace(READS, steps={"a": PipelineStep("x", ("c",)), "b": READS.steps["b"]}), "'x' needs step 'c'"),
        (replace(READS, steps={**READS.steps, "a": PipelineStep("x", ("b",))}), "wait for each other: x, second"),
        (replace(READS, steps={**READS.steps, "b": PipelineStep("y", (), (StepInput("i", "a", "no"),))}), "reads 'no'"),
        (
            replace(READS, steps={**READS.steps, "b": PipelineStep("y", (), (StepInput("i", "a", "data", "fly"),))}),
            "mode of input 'i' is 'fly'",
        ),
        (replace(READS, outputs={"end": ("a", "nothing")}), "output 'end'"),
        (replace(READS, slots=(Slot("a", "rate", argument=1),)), "'rate' has no value"),
        (replace(READS, parameters={"rate": 1}, slots=(Slot("a", "rate", argument=9),)), "has no place"),
    ],
)
def test_a_graph_that_could_never_run_is_refused(pipeline: PipelineSpec, message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        check_pipeline(pipeline, {"a": JOB, "b": JOB})


def test_parameters_fill_arguments_and_variables() -> None:
    slots = (Slot("a", "rate", argument=1), Slot("b", "rate", variable="RATE"))
    spec = replace(READS, parameters={"rate": 0.1}, slots=slots)
    shown = replace(JOB, definition={"arguments": ["--rate", "0.1"]})
    controller = assign(controller_of(spec, {"a": shown, "b": JOB}), {"rate": 0.5})
    first, second = controller.children["a"], controller.children["b"]
    assert first.program is not None and first.program.arguments == ("--rate", "0.5")
    assert first.definition["arguments"] == ["--rate", "0.5"]
    assert second.environment_variables == {"RATE": "0.5"}
    assert pipeline_of(controller).parameters == {"rate": 0.5}


@pytest.mark.parametrize(("values", "message"), [({"rat": 1}, "no parameter 'rat'"), ({"rate": [1]}, r"\[1\]")])
def test_unknown_parameters_and_values_are_refused(values: dict[str, Any], message: str) -> None:
    spec = replace(READS, parameters={"rate": 0.1}, slots=(Slot("a", "rate", argument=1),))
    with pytest.raises(InvalidInput, match=message):
        assign(controller_of(spec, {"a": JOB, "b": JOB}), values)
