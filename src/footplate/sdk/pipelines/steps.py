"""The steps of a pipeline: each describes one run."""

from __future__ import annotations

import shlex
from typing import Any, Dict, List, Mapping, Optional, Sequence, Union

from footplate.domain.targets import LOCAL
from footplate.sdk.config.run_configuration import RunConfiguration
from footplate.sdk.config.script_run_config import ScriptRunConfig, list_arguments
from footplate.sdk.data.output_dataset import OutputFileDatasetConfig
from footplate.sdk.estimators.estimator import Estimator
from footplate.sdk.exceptions import UserErrorException
from footplate.sdk.pipelines.data import PipelineData
from footplate.sdk.values.wrong_types import explained

VARIABLE = "AML_PARAMETER_"
"""The beginning of the variables in which a script finds the `params` of its step."""


@explained
class PipelineStep:
    """The base of all steps.

    Args:
        name: The name of the step.
        inputs: What the step reads.
        outputs: What the step writes.
        arguments: Arguments of the script.
        allow_reuse: Whether an earlier result may be used if nothing has changed.
        version: A text that counts as content: another one makes the step run again.
        hash_paths: Files of the source directory that count as content, instead of all of them.

    Example:
        first = PythonScriptStep("prepare.py", source_directory="src")
        second = PythonScriptStep("train.py", source_directory="src")
        second.run_after(first)
    """

    kind = "PipelineStep"

    def __init__(
        self,
        name: str,
        inputs: Optional[Sequence[Any]] = None,
        outputs: Optional[Sequence[Any]] = None,
        arguments: Optional[Sequence[Any]] = None,
        allow_reuse: bool = True,
        version: Optional[str] = None,
        hash_paths: Optional[Sequence[str]] = None,
    ) -> None:
        if not isinstance(name, str) or not name.strip():  # pyright: ignore[reportUnnecessaryIsInstance]
            raise UserErrorException(f"the name of the step is {name!r}", hint="give a text")
        self.name = name
        self.inputs: List[Any] = list(inputs or ())
        self.outputs: List[Any] = list(outputs or ())
        self.arguments: List[Any] = list_arguments(list(arguments or ()))
        self.allow_reuse = bool(allow_reuse)
        self.version = version
        self.hash_paths: List[str] = list(hash_paths or ())
        self.params: Dict[str, Any] = {}
        self.predecessors: List[PipelineStep] = []
        for output in [*self.outputs, *self.arguments]:
            self._take(output)

    def _take(self, output: Any) -> None:
        """Record that this step writes the output: then its readers bring this step into their pipeline."""
        if isinstance(output, PipelineData) and any(output is each for each in self.outputs):
            if output.producer is not None and output.producer is not self:
                raise UserErrorException(
                    f"the steps {output.producer.name!r} and {self.name!r} both write {output.name!r}",
                    hint="give each a PipelineData of its own",
                )
            output.producer = self
        elif isinstance(output, OutputFileDatasetConfig):
            output.writers.append(self)

    def run_after(self, step: Union[PipelineStep, Sequence[PipelineStep]]) -> None:
        """Start this step only when another one has completed.

        Args:
            step: The other step, or several.

        Raises:
            UserErrorException: `step` is not a step.
        """
        for each in step if isinstance(step, (list, tuple)) else [step]:
            if not isinstance(each, PipelineStep):
                raise UserErrorException(f"run_after got {each!r:.100}", hint="give a step, such as a PythonScriptStep")
            self.predecessors.append(each)

    def __repr__(self) -> str:
        return f"{type(self).__name__}(name={self.name!r})"


@explained
class PythonScriptStep(PipelineStep):
    """A step that runs a Python script.

    Args:
        script_name: The script, relative to `source_directory`.
        name: The name of the step; that of the script by default.
        arguments: Arguments of the script: strings, numbers, data and PipelineParameters.
        compute_target: A cluster, its name, or `local`.
        runconfig: How the script runs: environment, target, nodes.
        runconfig_pipeline_params: Refused; give parameters as arguments.
        inputs: Datasets, DataReferences and outputs of other steps.
        outputs: PipelineData or OutputFileDatasetConfig.
        params: Values that the script finds in variables `AML_PARAMETER_<name>`.
        source_directory: The directory that is copied to the run.
        allow_reuse: Whether an earlier result may be used if nothing has changed.
        version: A text that counts as content: another one makes the step run again.
        hash_paths: Files of the source directory that count as content, instead of all of them.

    Raises:
        UserErrorException: An argument is not valid.

    Example:
        step = PythonScriptStep("train.py", name="train", arguments=["--rate", 0.1], source_directory="src")
        pipeline = Pipeline(ws, steps=[step])
    """

    kind = "PythonScriptStep"

    def __init__(
        self,
        script_name: str,
        name: Optional[str] = None,
        arguments: Optional[Sequence[Any]] = None,
        compute_target: Any = None,
        runconfig: Optional[RunConfiguration] = None,
        runconfig_pipeline_params: Optional[Mapping[str, Any]] = None,
        inputs: Optional[Sequence[Any]] = None,
        outputs: Optional[Sequence[Any]] = None,
        params: Optional[Mapping[str, Any]] = None,
        source_directory: Optional[str] = None,
        allow_reuse: bool = True,
        version: Optional[str] = None,
        hash_paths: Optional[Sequence[str]] = None,
    ) -> None:
        if runconfig_pipeline_params:
            raise UserErrorException(
                f"runconfig_pipeline_params is {sorted(runconfig_pipeline_params)}",
                hint="pass the parameter to the script: arguments=['--nodes', parameter]",
            )
        super().__init__(name or script_name, inputs, outputs, arguments, allow_reuse, version, hash_paths)
        self.script_name = script_name
        self.compute_target = compute_target
        self.runconfig = runconfig
        self.params = dict(params or {})
        self.source_directory = source_directory


@explained
class CommandStep(PipelineStep):
    """A step that runs a command.

    Args:
        command: The command: a text, or a list of words and data.
        name: The name of the step; the first word of the command by default.
        compute_target: A cluster, its name, or `local`.
        runconfig: A RunConfiguration, or a ScriptRunConfig with a command.
        runconfig_pipeline_params: Refused; put parameters into the command.
        inputs: Datasets, DataReferences and outputs of other steps.
        outputs: PipelineData or OutputFileDatasetConfig.
        params: Values that the command finds in variables `AML_PARAMETER_<name>`.
        source_directory: The directory that is copied to the run.
        allow_reuse: Whether an earlier result may be used if nothing has changed.
        version: A text that counts as content.

    Raises:
        UserErrorException: There is no command, or two.

    Example:
        step = CommandStep(command="python train.py --rate 0.1", name="train", source_directory="src")
    """

    kind = "CommandStep"

    def __init__(
        self,
        command: Union[str, Sequence[Any], None] = None,
        name: Optional[str] = None,
        compute_target: Any = None,
        runconfig: Union[RunConfiguration, ScriptRunConfig, None] = None,
        runconfig_pipeline_params: Optional[Mapping[str, Any]] = None,
        inputs: Optional[Sequence[Any]] = None,
        outputs: Optional[Sequence[Any]] = None,
        params: Optional[Mapping[str, Any]] = None,
        source_directory: Optional[str] = None,
        allow_reuse: bool = True,
        version: Optional[str] = None,
    ) -> None:
        if runconfig_pipeline_params:
            raise UserErrorException("a CommandStep takes no runconfig_pipeline_params", hint="leave them out")
        script_config = runconfig if isinstance(runconfig, ScriptRunConfig) else None
        config = script_config.run_config if script_config is not None else runconfig
        command = command if command is not None else getattr(script_config or config, "command", None)
        if not command:
            raise UserErrorException("a CommandStep needs a command", hint="give command='python train.py'")
        words: List[Any] = [command] if isinstance(command, str) else list(command)
        first = shlex.split(str(words[0]))[0]
        self.is_text = isinstance(command, str)
        super().__init__(name or first, inputs, outputs, words, allow_reuse, version)
        self.compute_target = compute_target
        self.runconfig: Any = config
        self.params = dict(params or {})
        self.source_directory = source_directory or (
            script_config.source_directory if script_config is not None else None
        )


@explained
class EstimatorStep(PipelineStep):
    """A step that runs the script of an estimator.

    Args:
        name: The name of the step.
        estimator: The estimator.
        estimator_entry_script_arguments: Arguments of the script; an estimator in a pipeline has no `script_params`.
        runconfig_pipeline_params: Refused; give parameters as arguments.
        inputs: Datasets, DataReferences and outputs of other steps.
        outputs: PipelineData or OutputFileDatasetConfig.
        compute_target: A cluster, its name, or `local`; that of the estimator by default.
        allow_reuse: Whether an earlier result may be used if nothing has changed.
        version: A text that counts as content.

    Raises:
        UserErrorException: There is no estimator.

    Example:
        estimator = Estimator(source_directory="src", entry_script="train.py", compute_target="local")
        step = EstimatorStep("train", estimator, ["--rate", 0.1])
    """

    kind = "EstimatorStep"

    def __init__(
        self,
        name: Optional[str] = None,
        estimator: Optional[Estimator] = None,
        estimator_entry_script_arguments: Optional[Sequence[Any]] = None,
        runconfig_pipeline_params: Optional[Mapping[str, Any]] = None,
        inputs: Optional[Sequence[Any]] = None,
        outputs: Optional[Sequence[Any]] = None,
        compute_target: Any = None,
        allow_reuse: bool = True,
        version: Optional[str] = None,
    ) -> None:
        if not isinstance(estimator, Estimator):
            raise UserErrorException(f"estimator is {estimator!r:.100}", hint="give an Estimator")
        if runconfig_pipeline_params:
            raise UserErrorException("an EstimatorStep takes no runconfig_pipeline_params", hint="leave them out")
        entry = str(estimator.run_config.script)
        super().__init__(name or entry, inputs, outputs, estimator_entry_script_arguments, allow_reuse, version)
        self.estimator = estimator
        self.compute_target = compute_target


@explained
class MpiStep(EstimatorStep):
    """A step that runs a Python script under MPI.

    Args:
        name: The name of the step.
        source_directory: The directory that is copied to the run.
        script_name: The script.
        arguments: Arguments of the script.
        compute_target: A cluster, its name, or `local`.
        node_count: The number of nodes.
        process_count_per_node: The processes on each node.
        inputs: Datasets, DataReferences and outputs of other steps.
        outputs: PipelineData or OutputFileDatasetConfig.
        allow_reuse: Whether an earlier result may be used if nothing has changed.
        version: A text that counts as content.
        **kwargs: Arguments of an estimator: `conda_packages`, `pip_packages`, `use_gpu`, `environment_definition`.

    Raises:
        UserErrorException: There is no script.

    Example:
        step = MpiStep("train", source_directory="src", script_name="train.py", process_count_per_node=2)
    """

    kind = "MpiStep"

    def __init__(
        self,
        name: Optional[str] = None,
        source_directory: Optional[str] = None,
        script_name: Optional[str] = None,
        arguments: Optional[Sequence[Any]] = None,
        compute_target: Any = None,
        node_count: int = 1,
        process_count_per_node: int = 1,
        inputs: Optional[Sequence[Any]] = None,
        outputs: Optional[Sequence[Any]] = None,
        allow_reuse: bool = True,
        version: Optional[str] = None,
        **kwargs: Any,
    ) -> None:
        if script_name is None:
            raise UserErrorException("an MpiStep needs a script", hint="give script_name='train.py'")
        estimator = Estimator(
            source_directory or ".", compute_target=compute_target or LOCAL, entry_script=script_name,
            node_count=node_count,
            process_count_per_node=process_count_per_node, distributed_backend="mpi", **kwargs,
        )  # fmt: skip
        super().__init__(name, estimator, arguments, None, inputs, outputs, compute_target, allow_reuse, version)
