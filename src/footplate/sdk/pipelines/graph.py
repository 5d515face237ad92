"""Pipeline and StepSequence."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Dict, Iterator, List, Mapping, Optional, Sequence, Set, Union

from footplate.domain.pipelines.graph import check_pipeline, controller_of, pipeline_of
from footplate.domain.records import RunView
from footplate.domain.runs.controllers import child_id
from footplate.domain.runs.run_kinds import GROUP
from footplate.domain.specs import RunSpec
from footplate.sdk.data.base import INVALID
from footplate.sdk.data.datastore_kinds import AbstractDatastore
from footplate.sdk.exceptions import AzureMLException, UserErrorException
from footplate.sdk.experiment import Experiment
from footplate.sdk.handles import PIPELINE_RUN, ExperimentHandle
from footplate.sdk.pipelines.building import BuiltPipeline, Defaults, build
from footplate.sdk.pipelines.data import PipelineData, PipelineOutputFileDataset
from footplate.sdk.pipelines.pipeline_run import PipelineRun
from footplate.sdk.pipelines.steps import PipelineStep
from footplate.sdk.runs import snapshots
from footplate.sdk.session import translating, user_name
from footplate.sdk.submission import new_run_id
from footplate.sdk.values.labels import texts
from footplate.sdk.values.wrong_types import explained
from footplate.sdk.workspace import Workspace

Steps = Sequence[Any]


@explained
class StepSequence:
    """Steps that run one after the other. Steps in a list inside it run at once.

    Args:
        steps: The steps.

    Example:
        first = PythonScriptStep("prepare.py", source_directory="src")
        second = PythonScriptStep("train.py", source_directory="src")
        pipeline = Pipeline(ws, steps=StepSequence([first, second]))
        third = StepSequence([PythonScriptStep("test.py", source_directory="src")])
        third.run_after(second)
    """

    def __init__(self, steps: Optional[Steps] = None) -> None:
        self.steps: List[Any] = list(steps or ())
        self.predecessors: List[Any] = []

    def run_after(self, step: Any) -> None:
        """Start the sequence only when a step has completed.

        Args:
            step: The step, or a StepSequence.
        """
        self.predecessors.append(step)

    def __iter__(self) -> Iterator[Any]:
        return iter(self.steps)


@explained
class Pipeline:
    """Steps that hand data to each other. The steps that a step needs belong to the pipeline, too.

    Args:
        workspace: The workspace.
        steps: The steps, in lists or a StepSequence.
        description: A text about the pipeline.
        default_datastore: The datastore of outputs that name none.
        default_source_directory: The source directory of steps that name none.
        resolve_closure: Whether steps that write the data of these steps are added.
        default_compute_target: The target of steps that name none.
        **kwargs: Accepted for Azure's private options, and ignored.

    Raises:
        UserErrorException: A step is not a step.

    Example:
        prepared = OutputFileDatasetConfig("prepared")
        first = PythonScriptStep("prepare.py", arguments=["--to", prepared], source_directory="src")
        second = PythonScriptStep("train.py", arguments=["--from", prepared.as_input()], source_directory="src")
        pipeline = Pipeline(ws, steps=[second])
        print(pipeline.validate())
    """

    def __init__(
        self,
        workspace: Workspace,
        steps: Union[Steps, StepSequence],
        description: Optional[str] = None,
        default_datastore: Union[AbstractDatastore, str, None] = None,
        default_source_directory: Optional[str] = None,
        resolve_closure: bool = True,
        default_compute_target: Any = None,
        **kwargs: Any,
    ) -> None:
        self.workspace = workspace
        self.description = description
        self.after: Dict[int, List[PipelineStep]] = {}
        nested = steps if isinstance(steps, StepSequence) else list(steps)
        self.steps: List[PipelineStep] = _unique(self._flatten(nested))
        if resolve_closure:
            self.steps = _with_producers(self.steps)
        store = default_datastore
        self.defaults = Defaults(
            default_compute_target,
            default_source_directory,
            getattr(store, "name", store),  # pyright: ignore
        )

    def _flatten(self, steps: Any) -> List[PipelineStep]:
        """Return the steps of nested lists and sequences, and remember the order that sequences give."""
        if isinstance(steps, PipelineStep):
            return [steps]
        if isinstance(steps, StepSequence):
            return self._in_order(steps)
        if isinstance(steps, (list, tuple)):
            return [step for each in steps for step in self._flatten(each)]  # pyright: ignore[reportUnknownVariableType]
        raise UserErrorException(f"{steps!r:.100} is not a step", hint="give steps such as PythonScriptStep in a list")

    def _in_order(self, sequence: StepSequence) -> List[PipelineStep]:
        before = [step for each in sequence.predecessors for step in self._flatten(each)]
        steps: List[PipelineStep] = []
        for each in sequence.steps:
            group = self._flatten(each)
            for step in group:
                self.after.setdefault(id(step), []).extend(before)
            before = group or before
            steps += group
        return steps

    def validate(self) -> List[Dict[str, Any]]:
        """Look for mistakes without submitting anything.

        Returns:
            Problems as dicts with `message` and `hint`; an empty list if there are none.
        """
        try:
            built = _build(ExperimentHandle(self.workspace, "validation"), self, {}, "")
            with translating(INVALID):
                check_pipeline(pipeline_of(built.controller), built.controller.children)
        except AzureMLException as error:
            return [{"message": error.message, "hint": error.hint}]
        return []

    def submit(
        self,
        experiment_name: str,
        pipeline_parameters: Optional[Mapping[str, Any]] = None,
        continue_on_step_failure: bool = False,
        regenerate_outputs: bool = False,
        parent_run_id: Optional[str] = None,
        tags: Optional[Mapping[str, Any]] = None,
        **kwargs: Any,
    ) -> PipelineRun:
        """Submit the pipeline and return at once. It goes on without this process.

        Args:
            experiment_name: The experiment.
            pipeline_parameters: Values of parameters, by name.
            continue_on_step_failure: Whether branches go on that do not need a step that failed.
            regenerate_outputs: Whether every step runs, also if an earlier result could be used.
            parent_run_id: The run that the pipeline becomes a child of.
            tags: Tags of the run.
            **kwargs: Accepted for Azure's private options, and ignored.

        Returns:
            The run of the pipeline.

        Raises:
            UserErrorException: The pipeline contradicts itself, or a parameter is unknown.

        Example:
            step = PythonScriptStep("train.py", source_directory="src")
            run = Pipeline(ws, [step]).submit("nightly")
            run.wait_for_completion()
        """
        experiment = Experiment(self.workspace, experiment_name)
        view = submit_pipeline(
            experiment, self, tags or {}, parent_run_id, pipeline_parameters=pipeline_parameters,
            continue_on_step_failure=continue_on_step_failure, regenerate_outputs=regenerate_outputs,
        )  # fmt: skip
        return PipelineRun.from_view(experiment, view)

    def __repr__(self) -> str:
        return f"Pipeline(steps={[step.name for step in self.steps]})"


def submit_pipeline(
    experiment: ExperimentHandle,
    pipeline: Pipeline,
    tags: Mapping[str, Any],
    parent: Optional[str],
    run_id: Optional[str] = None,
    pipeline_parameters: Optional[Mapping[str, Any]] = None,
    continue_on_step_failure: bool = False,
    regenerate_outputs: bool = False,
    **unknown: Any,
) -> RunView:
    if unknown:
        accepted = "tags, run_id, pipeline_parameters, continue_on_step_failure and regenerate_outputs"
        raise UserErrorException(f"submit does not accept {', '.join(sorted(unknown))}", hint=f"it accepts {accepted}")
    workspace = experiment.workspace
    chosen = run_id or new_run_id(experiment.name)
    built = _build(experiment, pipeline, pipeline_parameters or {}, chosen)
    graph = replace(
        pipeline_of(built.controller), continue_on_failure=continue_on_step_failure, regenerate=regenerate_outputs
    )
    spec = RunSpec(
        experiment.name, GROUP, type=PIPELINE_RUN, parent=parent, tags=texts(tags), description=pipeline.description,
        properties={"azureml.runsource": PIPELINE_RUN, "runSource": "SDK"},
        controller=controller_of(graph, built.controller.children),
    )  # fmt: skip
    view = workspace.session.api.runs.submit(workspace.id, chosen, spec, user_name())
    for key, data in built.data.items():
        data.record_submission(child_id(chosen, key))
    snapshots.keep_diff(workspace.session, chosen, built.diff)
    return view


def _build(experiment: ExperimentHandle, pipeline: Pipeline, values: Mapping[str, Any], run_id: str) -> BuiltPipeline:
    return build(experiment, pipeline.steps, pipeline.after, values, pipeline.defaults, run_id)


def _unique(steps: Sequence[PipelineStep]) -> List[PipelineStep]:
    return list({id(step): step for step in steps}.values())


def _with_producers(steps: Sequence[PipelineStep]) -> List[PipelineStep]:
    """Return the steps with all that they need, each after those that it needs where there is such an order."""
    ordered: Dict[int, PipelineStep] = {}
    opened: Set[int] = set()
    stack = list(reversed(steps))
    while stack:
        step = stack[-1]
        if id(step) in opened:
            ordered.setdefault(id(stack.pop()), step)
            continue
        opened.add(id(step))
        stack += [each for each in [*_producers(step), *step.predecessors] if id(each) not in opened]
    return list(ordered.values())


def _producers(step: PipelineStep) -> Iterator[PipelineStep]:
    for value in [*step.inputs, *step.arguments]:
        data = value.pipeline_data if isinstance(value, PipelineOutputFileDataset) else value
        if isinstance(data, PipelineData) and data.producer is not None and data.producer is not step:
            yield data.producer
        yield from getattr(getattr(value, "dataset", None), "writers", ())[-1:]
