"""A pipeline as a spec for the server: its steps in order, their runs, and the edges between them."""

from __future__ import annotations

import copy
import functools
import hashlib
import os
from dataclasses import replace
from typing import Any, Dict, List, Mapping, NamedTuple, Optional, Sequence, Tuple, cast

from footplate.domain.orders import DataOutput
from footplate.domain.pipelines import reuse
from footplate.domain.pipelines.graph import PipelineSpec, PipelineStep, Slot, StepInput, controller_of
from footplate.domain.specs import ControllerSpec, RunSpec
from footplate.sdk.config.run_configuration import RunConfiguration
from footplate.sdk.config.run_data import ConfiguredData
from footplate.sdk.config.script_run_config import ScriptRunConfig
from footplate.sdk.data.base import AbstractDataset
from footplate.sdk.data.consumption import DatasetConsumptionConfig
from footplate.sdk.data.output_dataset import OutputFileDatasetConfig
from footplate.sdk.data.references import DataPath, DataPathComputeBinding, DataReference
from footplate.sdk.estimators.estimator import script_run_config
from footplate.sdk.exceptions import UserErrorException
from footplate.sdk.handles import STEP_RUN
from footplate.sdk.handles import ExperimentHandle as Experiment
from footplate.sdk.handles import WorkspaceHandle as Workspace
from footplate.sdk.pipelines.data import PipelineData, PipelineOutputFileDataset, PipelineParameter, check_value
from footplate.sdk.pipelines.steps import VARIABLE, CommandStep, EstimatorStep, PythonScriptStep
from footplate.sdk.pipelines.steps import PipelineStep as Step
from footplate.sdk.runs import snapshots
from footplate.sdk.submission import prepare_script

_OUTPUT_PATH = "azureml/{run-id}/{output-name}"
"""Where Azure keeps the output of a step."""


class Defaults(NamedTuple):
    """What steps get that do not name their own."""

    target: Any = None
    directory: Optional[str] = None
    datastore: Optional[str] = None


class BuiltPipeline(NamedTuple):
    """The controller of a pipeline, and what is left to do after the submission."""

    controller: ControllerSpec
    data: Dict[str, ConfiguredData]
    diff: bytes


class StepData(ConfiguredData):
    """Collects the data of a step. What other steps write becomes `reads`, because nobody knows their runs yet."""

    def __init__(self, workspace: Workspace, step: Step, values: Mapping[str, Any], datastore: Optional[str]) -> None:
        super().__init__(workspace)
        self._default = datastore
        self._step = step
        self._values = values
        self.reads: Dict[str, Tuple[Step, StepInput]] = {}
        self.pipeline_outputs: Dict[str, str] = {}

    def argument(self, value: Any) -> Optional[Tuple[str, str]]:
        if isinstance(value, PipelineData):
            if value.producer is not self._step:
                self.add_read(value.as_mount())
            return str(value), str(value)
        if isinstance(value, PipelineOutputFileDataset):
            self.add_read(value)
            return f"${value.name}", f"${value.name}"
        return super().argument(value)

    def add_written(self, value: Any) -> None:
        """Add an output of the step."""
        if isinstance(value, OutputFileDatasetConfig):
            self.add_output(value)
        elif isinstance(value, PipelineData):
            datastore = self._default_datastore() if value.datastore is None else value.datastore.name
            place = value.output_path_on_compute
            self._put(
                self.outputs,
                DataOutput(
                    value.name, datastore, _OUTPUT_PATH, value.output_mode, place, overwrite=value.output_overwrite
                ),
            )
            if value.pipeline_output_name:
                self.pipeline_outputs[value.pipeline_output_name] = value.name
        else:
            raise UserErrorException(
                f"step {self._step.name!r} has the output {value!r:.100}",
                hint="give PipelineData or OutputFileDatasetConfig",
            )

    def add_given(self, value: Any) -> None:
        """Add an input that stands in `inputs`."""
        value = self.resolve(value)
        if isinstance(value, PipelineData):
            self.add_read(value.as_mount())
        elif isinstance(value, PipelineOutputFileDataset):
            self.add_read(value)
        elif isinstance(value, OutputFileDatasetConfig):
            self.add_input(value.as_input())
        elif isinstance(value, DatasetConsumptionConfig):
            self.add_input(value)
        elif isinstance(value, DataReference):
            self.add_reference(value.data_reference_name, value)
        else:
            raise UserErrorException(
                f"step {self._step.name!r} has the input {value!r:.100}",
                hint="give a DataReference, a PipelineData, or a dataset with a name: dataset.as_named_input('data')",
            )

    def add_input(self, config: DatasetConsumptionConfig) -> None:
        output = config.dataset
        if isinstance(output, OutputFileDatasetConfig) and output.writers:
            read = StepInput(config.name, "", output.name, config.mode, config.path_on_compute, output.table)
            self._read(output.writers[-1], read)
        else:
            super().add_input(config)

    def add_read(self, value: PipelineOutputFileDataset) -> None:
        """Add an input that another step writes."""
        data = value.pipeline_data
        if data.producer is None:
            raise UserErrorException(
                f"step {self._step.name!r} uses {data.name!r}, which no step writes",
                hint=f"list it among the outputs of the step that writes it: outputs=[{data.name}]",
            )
        read = StepInput(value.name, "", data.name, value.mode, value.path_on_compute, value.table)
        self._read(data.producer, read)

    def _read(self, producer: Step, read: StepInput) -> None:
        earlier = self.reads.get(read.name)
        if (earlier is not None and earlier != (producer, read)) or read.name in {**self.inputs, **self.outputs}:
            raise UserErrorException(
                f"two inputs or outputs of step {self._step.name!r} are called {read.name!r}",
                hint="give each its own name: data.as_input('name')",
            )
        self.reads[read.name] = producer, read

    def resolve(self, value: Any) -> Any:
        """Return an argument or input with the values of parameters."""
        if isinstance(value, PipelineParameter):
            return self._place(value, DataPathComputeBinding())
        if isinstance(value, tuple):
            pair = cast("Tuple[Any, ...]", value)
            is_bound = len(pair) == 2 and isinstance(pair[0], PipelineParameter)
            return self._place(pair[0], pair[1]) if is_bound else pair
        if isinstance(value, DatasetConsumptionConfig) and isinstance(value.dataset, PipelineParameter):
            bound = copy.copy(value)
            bound.dataset = self.value_of(value.dataset)
            return bound
        return value

    def value_of(self, parameter: PipelineParameter) -> Any:
        return self._values.get(parameter.name, parameter.default_value)

    def _place(self, parameter: PipelineParameter, binding: Any) -> Any:
        value = self.value_of(parameter)
        if isinstance(value, DataPath):
            return value.create_data_reference(parameter.name, binding)
        if isinstance(value, AbstractDataset):
            return value.as_named_input(parameter.name).as_mount()
        return value


def build(
    experiment: Experiment, steps: Sequence[Step], after: Mapping[int, Sequence[Step]], values: Mapping[str, Any],
    defaults: Defaults, run_id: str,
) -> BuiltPipeline:  # fmt: skip
    """Return the controller of a pipeline. `after` holds the order that sequences give, by the step's identity."""
    keys = {id(step): str(index) for index, step in enumerate(steps)}
    take = functools.lru_cache(maxsize=None)(snapshots.take)  # steps often share a directory
    parameters = _parameters(steps, values)
    described: Dict[str, PipelineStep] = {}
    children: Dict[str, RunSpec] = {}
    collected: Dict[str, ConfiguredData] = {}
    slots: List[Slot] = []
    outputs: Dict[str, Tuple[str, str]] = {}
    diff = b""
    for step in steps:
        key = keys[id(step)]
        data = StepData(experiment.workspace, step, values, defaults.datastore)
        config = _configure(step, data, experiment.workspace, defaults)
        script = prepare_script(experiment, config, data, take)
        inputs = tuple(replace(read, step=keys[id(producer)]) for producer, read in data.reads.values())
        waits = sorted({keys[id(other)] for other in [*step.predecessors, *after.get(id(step), ())]}, key=int)
        described[key] = PipelineStep(
            step.name, tuple(waits), inputs, step.allow_reuse, step.version, _digest_files(step, config)
        )
        children[key] = _of_step(script.spec, step, key, run_id)
        slots += _slots(step, key, data)
        outputs.update((name, (key, output)) for name, output in data.pipeline_outputs.items())
        collected[key] = data
        diff = diff or script.diff
    pipeline = PipelineSpec(described, parameters=parameters, slots=tuple(slots), outputs=outputs)
    return BuiltPipeline(controller_of(pipeline, children), collected, diff)


def _configure(step: Step, data: StepData, workspace: Workspace, defaults: Defaults) -> ScriptRunConfig:
    config = _script_of(step, workspace, defaults)
    words = [data.resolve(value) for value in step.arguments]
    if isinstance(step, CommandStep):
        config.command = words[0] if step.is_text else [*words]
    else:
        config.arguments = words
    for name, value in step.params.items():
        plain = data.value_of(value) if isinstance(value, PipelineParameter) else value
        config.run_config.environment_variables[VARIABLE + name] = str(plain)
    for value in step.outputs:
        data.add_written(value)
    for value in step.inputs:
        data.add_given(value)
    return config


def _script_of(step: Step, workspace: Workspace, defaults: Defaults) -> ScriptRunConfig:
    """Return the run of a step as a configuration, without its arguments and data."""
    if isinstance(step, EstimatorStep):
        config = script_run_config(workspace, step.estimator)
        if step.compute_target is not None:
            config.run_config.target = step.compute_target
        return config
    if isinstance(step, (PythonScriptStep, CommandStep)):
        run_config = _own_configuration(step.runconfig, step.compute_target, defaults.target)
        directory = step.source_directory or defaults.directory
        if isinstance(step, CommandStep):
            return ScriptRunConfig(directory, run_config=run_config, command=["true"])
        return ScriptRunConfig(directory, step.script_name, run_config=run_config)
    raise UserErrorException(f"{step!r:.100} cannot run", hint="use PythonScriptStep or another kind of step")


def _own_configuration(config: Optional[RunConfiguration], target: Any, default_target: Any) -> RunConfiguration:
    """Return a copy of the run configuration with the target of a step."""
    own = RunConfiguration() if config is None else copy.deepcopy(config)
    chosen: Any = cast("Tuple[Any, ...]", target)[0] if isinstance(target, tuple) else target  # (name, type)
    if chosen is not None:
        own.target = chosen
    elif config is None and default_target is not None:
        own.target = default_target
    return own


def _of_step(spec: RunSpec, step: Step, key: str, run_id: str) -> RunSpec:
    properties = {
        **spec.properties, reuse.STEP: step.name, "StepType": step.kind, "azureml.runsource": STEP_RUN,
        "azureml.nodeid": key, "azureml.pipelinerunid": run_id,
    }  # fmt: skip
    return replace(spec, type=STEP_RUN, name=step.name, display_name=step.name, properties=properties)


def _parameters(steps: Sequence[Step], values: Mapping[str, Any]) -> Dict[str, Any]:
    """Return the values of all parameters by name, as plain data."""
    by_name: Dict[str, PipelineParameter] = {}
    for step in steps:
        for each in [*step.arguments, *step.inputs, *step.params.values()]:
            first: Any = each
            if isinstance(each, tuple) and each:
                first = cast("Tuple[Any, ...]", each)[0]
            parameter = first.dataset if isinstance(first, DatasetConsumptionConfig) else first
            if isinstance(parameter, PipelineParameter):
                by_name[parameter.name] = parameter
    for name, value in values.items():
        if name not in by_name:
            names = ", ".join(sorted(by_name)) or "none"
            raise UserErrorException(f"the pipeline has no parameter {name!r}", hint=f"its parameters: {names}")
        check_value(name, value)
    chosen = {name: values.get(name, parameter.default_value) for name, parameter in by_name.items()}
    return {name: value if _is_plain(value) else repr(value) for name, value in chosen.items()}


def _slots(step: Step, key: str, data: StepData) -> List[Slot]:
    """Return the places of the step that take the plain value of a parameter."""
    slots: List[Slot] = []
    if not isinstance(step, CommandStep):
        for index, value in enumerate(step.arguments):
            if isinstance(value, PipelineParameter) and _is_plain(data.value_of(value)):
                slots.append(Slot(key, value.name, argument=index))
    for name, value in step.params.items():
        if isinstance(value, PipelineParameter):
            slots.append(Slot(key, value.name, variable=VARIABLE + name))
    return slots


def _is_plain(value: Any) -> bool:
    return isinstance(value, (str, int, float, bool))


def _digest_files(step: Step, config: ScriptRunConfig) -> Optional[str]:
    """Return the digest of the files that a step names in `hash_paths`; None if it names none."""
    if not step.hash_paths:
        return None
    digest = hashlib.sha256()
    for name in sorted(step.hash_paths):
        path = os.path.join(config.source_directory, name)
        for each in sorted(_files_below(path)) if os.path.isdir(path) else [path]:
            try:
                with open(each, "rb") as file:
                    content = hashlib.sha256(file.read()).digest()
            except OSError as error:
                raise UserErrorException(
                    f"step {step.name!r}: {each} in hash_paths cannot be read: {error.strerror}",
                    hint="give paths relative to the source directory",
                ) from None
            digest.update(os.path.relpath(each, config.source_directory).encode("utf-8", "surrogateescape") + content)
    return digest.hexdigest()


def _files_below(folder: str) -> List[str]:
    return [os.path.join(place, name) for place, _, names in os.walk(folder) for name in names]
