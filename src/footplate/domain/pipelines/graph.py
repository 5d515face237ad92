"""A pipeline as the client sends it: steps by key, what each reads of others, and parameters.

The spec of a step's run stands in `ControllerSpec.children` under the step's key. It lacks the data that other steps
write: the server adds it when the step starts, because only then it is known which run wrote it.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any, Dict, List, Mapping, Optional, Set, Tuple

from footplate.domain.codec import from_json, to_json
from footplate.domain.datasets import INPUT_MODES
from footplate.domain.specs import ControllerSpec, RunSpec
from footplate.errors import InvalidInput

KIND = "pipeline"
"""The controller of a pipeline (`services.orchestration.controller_table`)."""

REUSED = "reused_step"
"""The controller of a step that takes over the result of an earlier run: it has no children and completes at once."""


@dataclass(frozen=True)
class StepInput:
    """Data that a step reads and another step writes. `table`: how its files are read as a table; None for files."""

    name: str
    step: str
    output: str
    mode: str = "mount"
    path_on_compute: Optional[str] = None
    table: Optional[Dict[str, Any]] = None


@dataclass(frozen=True)
class Slot:
    """A place in a step's spec that takes the value of a parameter: an argument by index, or a variable by name."""

    step: str
    parameter: str
    argument: Optional[int] = None
    variable: Optional[str] = None


@dataclass(frozen=True)
class PipelineStep:
    """A step. `after`: keys of steps that it waits for though it reads nothing of them.

    `version` counts as content: another one makes the step run again. With `hash_paths`, only these files of the
    source folder count, and not the whole snapshot: `code` is their digest.
    """

    name: str
    after: Tuple[str, ...] = ()
    inputs: Tuple[StepInput, ...] = ()
    allow_reuse: bool = True
    version: Optional[str] = None
    code: Optional[str] = None

    @property
    def needs(self) -> Set[str]:
        """The keys of the steps that must have completed before this one starts."""
        return {*self.after, *(each.step for each in self.inputs)}


@dataclass(frozen=True)
class PipelineSpec:
    """A pipeline. `parameters` are the values by name, `slots` the places that take them.

    `outputs`: what a step writes, as (step, output), by the name that the whole pipeline gives it.
    """

    steps: Dict[str, PipelineStep]
    continue_on_failure: bool = False
    regenerate: bool = False
    parameters: Dict[str, Any] = field(default_factory=lambda: {})
    slots: Tuple[Slot, ...] = ()
    outputs: Dict[str, Tuple[str, str]] = field(default_factory=lambda: {})


def controller_of(pipeline: PipelineSpec, children: Mapping[str, RunSpec]) -> ControllerSpec:
    return ControllerSpec(KIND, to_json(pipeline), dict(children), interval=0)


def pipeline_of(controller: ControllerSpec) -> PipelineSpec:
    return from_json(PipelineSpec, controller.options, strict=True)


# ── Checks ────────────────────────────────────────────────────────────────────────────────────────────────────────────


def check_pipeline(pipeline: PipelineSpec, children: Mapping[str, RunSpec]) -> None:
    """Raise InvalidInput, naming the step, for a graph that could never be executed."""
    if not pipeline.steps:
        raise InvalidInput("the pipeline has no steps", "add at least one")
    if set(pipeline.steps) != set(children):
        odd = sorted(set(pipeline.steps) ^ set(children))[0]
        raise InvalidInput(f"step {odd!r} has no spec of a run, or the spec no step", "give both under the same key")
    for step in pipeline.steps.values():
        for needed in sorted(step.needs):
            if needed not in pipeline.steps:
                raise InvalidInput(
                    f"step {step.name!r} needs step {needed!r}, which the pipeline does not have", "add that step"
                )
        _check_inputs(pipeline, step, children)
    for name, (key, output) in pipeline.outputs.items():
        if key not in children or output not in output_names(children[key]):
            raise InvalidInput(
                f"output {name!r} of the pipeline is not written by any step", "name an output of a step"
            )
    _check_slots(pipeline, children)
    execution_order(pipeline)


def _check_inputs(pipeline: PipelineSpec, step: PipelineStep, children: Mapping[str, RunSpec]) -> None:
    for each in step.inputs:
        if each.output not in output_names(children[each.step]):
            raise InvalidInput(
                f"step {step.name!r} reads {each.output!r} of step {pipeline.steps[each.step].name!r}, "
                "which does not write it",
                "list it among the outputs of that step",
            )
        if each.mode not in INPUT_MODES:
            raise InvalidInput(f"the mode of input {each.name!r} is {each.mode!r}", f"use {', '.join(INPUT_MODES)}")


def _check_slots(pipeline: PipelineSpec, children: Mapping[str, RunSpec]) -> None:
    for slot in pipeline.slots:
        if slot.parameter not in pipeline.parameters:
            raise InvalidInput(f"parameter {slot.parameter!r} has no value", "give it a default value")
        spec = children.get(slot.step)
        program = None if spec is None else spec.program
        count = len(program.arguments) if program is not None else 0
        if spec is None or (slot.argument is not None and not 0 <= slot.argument < count):
            raise InvalidInput(f"parameter {slot.parameter!r} has no place in step {slot.step!r}", "build it again")


def output_names(spec: RunSpec) -> Set[str]:
    return {each.name for each in spec.outputs}


def execution_order(pipeline: PipelineSpec) -> List[str]:
    """Return the keys so that each step comes after those that it needs; raise InvalidInput for a cycle."""
    order: List[str] = []
    missing = {key: set(step.needs) for key, step in pipeline.steps.items()}
    readers: Dict[str, List[str]] = {}
    for key, needs in missing.items():
        for needed in needs:
            readers.setdefault(needed, []).append(key)
    ready = [key for key, needs in missing.items() if not needs]
    while ready:
        key = ready.pop(0)
        order.append(key)
        for reader in readers.get(key, ()):
            missing[reader].discard(key)
            if not missing[reader]:
                ready.append(reader)
    if len(order) < len(pipeline.steps):
        names = [pipeline.steps[key].name for key in pipeline.steps if key not in order]
        raise InvalidInput(
            f"these steps wait for each other: {', '.join(names[:10])}", "remove a run_after or an input of one of them"
        )
    return order


# ── Parameters ────────────────────────────────────────────────────────────────────────────────────────────────────────


def assign(controller: ControllerSpec, values: Mapping[str, Any]) -> ControllerSpec:
    """Return the pipeline with these values of its parameters; the others keep theirs."""
    pipeline = pipeline_of(controller)
    for name in values:
        if name not in pipeline.parameters:
            names = ", ".join(sorted(pipeline.parameters)) or "none"
            raise InvalidInput(f"the pipeline has no parameter {name!r}", f"its parameters: {names}")
    children = dict(controller.children)
    for slot in pipeline.slots:
        if slot.parameter in values:
            children[slot.step] = _fill(children[slot.step], slot, to_argument(values[slot.parameter]))
    return controller_of(replace(pipeline, parameters={**pipeline.parameters, **values}), children)


def _fill(spec: RunSpec, slot: Slot, text: str) -> RunSpec:
    if slot.variable is not None:
        return replace(spec, environment_variables={**spec.environment_variables, slot.variable: text})
    assert spec.program is not None and slot.argument is not None
    words = list(spec.program.arguments)
    words[slot.argument] = text
    definition = spec.definition
    if definition:
        arguments = list(definition.get("arguments", words))
        arguments[slot.argument] = text
        definition = {**definition, "arguments": arguments}
    return replace(spec, program=replace(spec.program, arguments=tuple(words)), definition=definition)


def to_argument(value: Any) -> str:
    """Return the value of a parameter as a script receives it."""
    if not isinstance(value, (str, int, float, bool)):
        raise InvalidInput(f"the value {value!r:.100} cannot be a parameter", "give a string, a number or a bool")
    return str(value)
