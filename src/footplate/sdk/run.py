"""A run: inspect it, log to it, exchange files with it, wait for it, end it."""

from __future__ import annotations

import importlib

from footplate.lazy import Deferred
from footplate.sdk.exceptions import UserErrorException
from footplate.sdk.handles import HYPERDRIVE, PIPELINE_RUN, SCRIPT_RUN, STEP_RUN
from footplate.sdk.runs.controlled_run import ControlledRun
from footplate.sdk.unsupported import make_refusal
from footplate.sdk.values.wrong_types import explained

TYPE_CHECKING = False  # typing is not imported: a script that only logs does without it
if TYPE_CHECKING:
    from typing import Any, Dict, Iterator, List, Mapping, Optional, Sequence, Tuple, Union

    from footplate.domain.records import RunView
    from footplate.sdk import context, submission
    from footplate.sdk import experiment as experiments
    from footplate.sdk.data.base import AbstractDataset
    from footplate.sdk.data.references import DataPath
    from footplate.sdk.environments import environment as environments
    from footplate.sdk.environments.environment import Environment
    from footplate.sdk.experiment import Experiment
    from footplate.sdk.models import model as models
    from footplate.sdk.models.model import Model
    from footplate.sdk.models.resource_configuration import ResourceConfiguration
    from footplate.sdk.runs import filters, interactive
    from footplate.sdk.workspace import Workspace
else:
    context = Deferred("footplate.sdk.context")
    experiments = Deferred("footplate.sdk.experiment")
    environments = Deferred("footplate.sdk.environments.environment")
    models = Deferred("footplate.sdk.models.model")
    filters = Deferred("footplate.sdk.runs.filters")
    interactive = Deferred("footplate.sdk.runs.interactive")
    submission = Deferred("footplate.sdk.submission")


RUN_CLASSES = {
    HYPERDRIVE: ("footplate.sdk.sweep_run", "HyperDriveRun"),
    PIPELINE_RUN: ("footplate.sdk.pipelines.pipeline_run", "PipelineRun"),
    SCRIPT_RUN: ("footplate.sdk.run", "ScriptRun"),
    STEP_RUN: ("footplate.sdk.pipelines.pipeline_run", "StepRun"),
}
"""Type of a run → the module and the class of its objects, imported on first use."""


@explained
class Run(ControlledRun):
    """One execution of a script, notebook or sweep, with its metrics, logs and files.

    `Run(experiment, run_id)` fetches an existing run. `experiment.submit` and `experiment.start_logging`
    create runs, and `Run.get_context()` finds the run of the current process.

    Args:
        experiment: The experiment of the run.
        run_id: The id of the run.
        outputs: A local directory whose files become artifacts when the run ends.
        **kwargs: Accepted for Azure's private options, and ignored.

    Raises:
        UserErrorException: The run belongs to another experiment.
        ServiceException: There is no run with this id.

    Example:
        with experiment.start_logging(snapshot_directory=None) as run:
            run.tag("framework", "none")
            run.set_tags({"fold": 1, "seed": 42})
            run.remove_tags("seed")
            run.add_properties({"author": "ada"})
            run.log_list("losses", [0.5, 0.4, 0.3])
            run.log_row("epochs", epoch=1, loss=0.5)
            run.log_table("sine", {"x": [0, 1], "y": [0.0, 0.84]})
            matrix = {"class_labels": ["cat", "dog"], "matrix": [[5, 1], [0, 4]]}
            document = {"schema_type": "confusion_matrix", "schema_version": "1.0.0", "data": matrix}
            run.log_confusion_matrix("confusion", document)
            run.flush()
            print(run.id, run.get_status(), run.get_tags(), run.get_properties(), run.get_portal_url())
        print(run.get_metrics())
    """

    get_best_child = make_refusal(
        "Run",
        "run",
        "get_best_child",
        "Footplate has no automated model selection",
        "a sweep has get_best_run_by_primary_metric(); others: min(run.get_children(), key=…)",
    )
    publish_pipeline = make_refusal(
        "Run", "run", "publish_pipeline", "Footplate does not publish pipelines yet", "submit the pipeline again"
    )

    @property
    def experiment(self) -> Experiment:
        """The experiment of the run."""
        experiment: Any = self._experiment
        return experiment

    @property
    def parent(self) -> Optional[Run]:
        """The parent run, fetched on access; None for a run without one."""
        parent = self.view.parent
        return self.experiment.workspace.get_run(parent) if parent else None

    @staticmethod
    def get(workspace: Workspace, run_id: str) -> Run:
        """Return a run of a workspace, from any of its experiments.

        Args:
            workspace: The workspace.
            run_id: The id of the run.

        Returns:
            The run, as an object of its own class.

        Raises:
            ServiceException: There is no run with this id.

        Example:
            same = Run.get(ws, run.id)
        """
        return workspace.get_run(run_id)

    @staticmethod
    def list(
        experiment: Experiment,
        type: Optional[str] = None,
        tags: Union[str, Mapping[str, Any], None] = None,
        properties: Union[str, Mapping[str, Any], None] = None,
        status: Union[str, Sequence[str], None] = None,
        include_children: bool = False,
    ) -> Iterator[Run]:
        """Yield the runs of an experiment, newest first. Pages are requested as needed.

        Args:
            experiment: The experiment.
            type: Only runs of this type, such as `azureml.scriptrun` or `hyperdrive`.
            tags: Only runs with this tag: a key, or a dict of keys and values.
            properties: Only runs with this property: a key, or a dict of keys and values.
            status: Only runs with this status, or one of these.
            include_children: Whether to include child runs.

        Returns:
            An iterator of runs.

        Raises:
            UserErrorException: A filter cannot be understood.

        Example:
            for each in Run.list(experiment, status=["Completed", "Failed"]):
                print(each.id, each.display_name)
        """
        query = dict(filters.filters(type, tags, properties, status), parent="any" if include_children else None)
        return experiments.runs_of(experiment, dict(query, experiment=experiment.name))

    @staticmethod
    def get_context(allow_offline: bool = True, used_for_context_manager: bool = False, **kwargs: Any) -> Run:
        """Return the run that this process belongs to. Training scripts begin with this call.

        Outside a run it returns an offline stand-in, which prints the values that a script logs and has no
        `experiment`. It also creates `./outputs` and `./logs`, as a job has them.

        Args:
            allow_offline: Whether to return the stand-in; otherwise raise an error.
            used_for_context_manager: Accepted for compatibility, and ignored.
            **kwargs: Accepted for Azure's private options, and ignored.

        Returns:
            The run of this process, always the same object, or the stand-in.

        Raises:
            RunEnvironmentException: The process does not belong to a run, and `allow_offline` is False.

        Example:
            run = Run.get_context()
            run.log("loss", 0.25)
        """
        return context.current_run(allow_offline)

    @staticmethod
    def get_submitted_run(**kwargs: Any) -> Run:
        """Return the run that this process belongs to: `Run.get_context(allow_offline=False)`.

        Args:
            **kwargs: Accepted for Azure's private options, and ignored.

        Returns:
            The run of this process.

        Raises:
            RunEnvironmentException: The process does not belong to a run.

        Example:
            try:
                run = Run.get_submitted_run()
            except RunEnvironmentException:
                print("started by hand")
        """
        return Run.get_context(allow_offline=False)

    @property
    def input_datasets(self) -> Dict[str, Any]:
        """The datasets passed to the run, by name. Only the script of the run has them.

        Raises:
            AttributeError: This process is not the script of the run.
        """
        raise AttributeError(f"input_datasets exists only inside the job of run {self.id}; hint: use get_details()")

    @property
    def output_datasets(self) -> Dict[str, Any]:
        """The directories that the run writes, by the names of its outputs. Only its script has them.

        Raises:
            AttributeError: This process is not the script of the run.
        """
        raise AttributeError(f"output_datasets exists only inside the job of run {self.id}; hint: use get_details()")

    # ── secrets ───────────────────────────────────────────────────────────────────────────────────────────────────────

    def get_secret(self, name: str) -> str:
        """Return a secret of the workspace. It is never written to the run's record.

        Args:
            name: The name of the secret.

        Returns:
            The value.

        Raises:
            UserErrorException: There is no such secret.

        Example:
            ws.get_default_keyvault().set_secret("api-key", "s3cr3t")
            key = run.get_secret("api-key")
        """
        return self.experiment.workspace.get_default_keyvault().get_secret(name)

    def get_secrets(self, secrets: Sequence[str]) -> Dict[str, str]:
        """Return several secrets of the workspace.

        Args:
            secrets: The names of the secrets.

        Returns:
            Values by name.

        Raises:
            UserErrorException: One of the secrets does not exist.

        Example:
            ws.get_default_keyvault().set_secrets({"user": "ada", "password": "s3cr3t"})
            login = run.get_secrets(["user", "password"])
        """
        return self.experiment.workspace.get_default_keyvault().get_secrets(secrets)

    def _get_outputs_datapath(self) -> DataPath:
        """Return the outputs as a path for `resume_from`, as Azure's examples of resuming do."""
        return submission.outputs_datapath(self.experiment.workspace, self._id)

    def register_model(
        self,
        model_name: str,
        model_path: Optional[str] = None,
        tags: Optional[Mapping[str, Any]] = None,
        properties: Optional[Mapping[str, Any]] = None,
        model_framework: Optional[str] = None,
        model_framework_version: Optional[str] = None,
        description: Optional[str] = None,
        datasets: Optional[Sequence[Tuple[str, AbstractDataset]]] = None,
        sample_input_dataset: Optional[AbstractDataset] = None,
        sample_output_dataset: Optional[AbstractDataset] = None,
        resource_configuration: Optional[ResourceConfiguration] = None,
        **kwargs: Any,
    ) -> Model:
        """Register files of the run as the next version of a model.

        Args:
            model_name: The name of the model.
            model_path: A file or folder of the run, such as `outputs/model.pkl`; by default a file or folder
                with the model's name.
            tags: Tags of the model.
            properties: Properties of the model, which are written once.
            model_framework: Its framework, as a constant of `Model.Framework`; needed to serve without code.
            model_framework_version: The version of the framework.
            description: A text about the model.
            datasets: Pairs of purpose and dataset that the model was made from.
            sample_input_dataset: A dataset with example inputs.
            sample_output_dataset: A dataset with example outputs.
            resource_configuration: Resources that a web service of the model gets by default.
            **kwargs: Accepted for Azure's private options, and ignored.

        Returns:
            The registered model.

        Raises:
            ModelPathNotFoundException: The run has no such file or folder.
            WebserviceException: The name or a tag is refused.

        Example:
            model = run.register_model("classifier", "outputs/model.txt", tags={"stage": "test"})
            print(model.id)
        """
        return models.register_from_run(
            self.experiment.workspace, self._id, model_name, model_path, tags, properties, description,
            (model_framework, model_framework_version), (datasets, sample_input_dataset, sample_output_dataset),
            resource_configuration,
        )  # fmt: skip

    def get_environment(self) -> Environment:
        """Return the environment that the run was submitted with.

        Returns:
            The environment.

        Raises:
            UserErrorException: The run was not submitted with an environment.

        Example:
            print(run.get_environment().name)
        """
        spec = self.view.spec or self._refresh().spec
        definition = (spec.definition if spec else {}).get("environment")
        if not definition:
            raise UserErrorException(f"run {self._id} was not submitted with an environment")
        return environments.from_definition(definition)

    # ── children ──────────────────────────────────────────────────────────────────────────────────────────────────────

    def child_run(self, name: Optional[str] = None, run_id: Optional[str] = None, outputs: Optional[str] = None) -> Run:
        """Start a child run that this process executes; complete it, or use it in `with`.

        Args:
            name: A name; the parent's name is put before it.
            run_id: The id of the child; a random one by default.
            outputs: A local directory whose files become artifacts when the child ends.

        Returns:
            The running child.

        Example:
            with experiment.start_logging(snapshot_directory=None) as run:
                with run.child_run("fold-1") as child:
                    child.log("loss", 0.2)
        """
        full = ">".join(part for part in (self.name, name) if part) or None
        view = interactive.start_child(self.experiment, self._id, full, run_id)
        return Run.from_view(self.experiment, view, outputs)

    def create_children(
        self, count: Optional[int] = None, tag_key: Optional[str] = None, tag_values: Optional[Sequence[Any]] = None
    ) -> List[Run]:
        """Start several child runs at once, at most 100.

        Args:
            count: The number of children, which get numbers as tags.
            tag_key: The tag that tells the children apart.
            tag_values: One value of the tag for each child.

        Returns:
            The running children.

        Raises:
            UserErrorException: Neither `count` nor both of the others were given, or there are too many.

        Example:
            with experiment.start_logging(snapshot_directory=None) as run:
                for child in run.create_children(tag_key="fold", tag_values=[1, 2, 3]):
                    with child:
                        child.log("loss", 0.1)
        """
        tagged = interactive.child_tags(count, tag_key, tag_values)
        started = [interactive.start_child(self.experiment, self._id, self.name, tags=tags) for tags in tagged]
        return [Run.from_view(self.experiment, view) for view in started]

    def get_children(
        self,
        recursive: bool = False,
        tags: Union[str, Mapping[str, Any], None] = None,
        properties: Union[str, Mapping[str, Any], None] = None,
        type: Optional[str] = None,
        status: Union[str, Sequence[str], None] = None,
        _rehydrate_runs: bool = True,
    ) -> Iterator[Run]:
        """Yield the child runs, newest first. Pages are requested as needed.

        Args:
            recursive: Whether to include the descendants of children.
            tags: Only runs with this tag: a key, or a dict of keys and values.
            properties: Only runs with this property: a key, or a dict of keys and values.
            type: Only runs of this type.
            status: Only runs with this status, or one of these.

        Returns:
            An iterator of runs.

        Raises:
            UserErrorException: A filter cannot be understood.

        Example:
            print([child.id for child in run.get_children(status="Completed")])
        """
        below = {"ancestor": self._id, "parent": "any"} if recursive else {"parent": self._id}
        return experiments.runs_of(self.experiment, dict(filters.filters(type, tags, properties, status), **below))

    def submit_child(self, config: Any, tags: Optional[Mapping[str, Any]] = None, **kwargs: Any) -> Run:
        """Submit a configuration as a child of this run.

        Args:
            config: The work, as for `experiment.submit`.
            tags: Tags of the child.
            **kwargs: Options of `experiment.submit`, such as `run_id`.

        Returns:
            The child run.

        Raises:
            AzureMLException: `config` cannot be submitted.
            ExperimentExecutionException: The source directory or the compute target does not exist.

        Example:
            with experiment.start_logging(snapshot_directory=None) as run:
                child = run.submit_child(ScriptRunConfig("src", "train.py"))
                child.wait_for_completion()
        """
        return experiments.submit(self.experiment, config, tags or {}, self._id, kwargs)

    def rerun(
        self,
        arguments: Optional[Sequence[Any]] = None,
        tags: Optional[Mapping[str, Any]] = None,
        run_id: Optional[str] = None,
    ) -> Run:
        """Run it again with the same source directory, locked environment and settings.

        Nothing is resolved again, so new package releases make no difference. The new run has the property
        `footplate.rerun_of`.

        Args:
            arguments: Arguments that replace those of the script.
            tags: Tags of the new run.
            run_id: The id of the new run.

        Returns:
            The new run.

        Raises:
            UserErrorException: The run was executed by its own process, or ended before its environment was
                locked.

        Example:
            again = run.rerun(arguments=["--lr", 0.01])
            again.wait_for_completion()
        """
        return make_run(self.experiment, submission.rerun(self.experiment, self._id, arguments, tags or {}, run_id))


class ScriptRun(Run):
    """A submitted script, as `experiment.submit` returns it. It outlives the process that submitted it.

    Example:
        run = experiment.submit(ScriptRunConfig("src", "train.py"))
        print(type(run).__name__, run.id)
        run.wait_for_completion()
    """


def make_run(experiment: Experiment, view: RunView) -> Run:
    """Return an object of the class for the run's type."""
    module, name = RUN_CLASSES.get(view.type or "", ("footplate.sdk.run", "Run"))
    return getattr(importlib.import_module(module), name).from_view(experiment, view)


@explained
def get_run(experiment: Experiment, run_id: str, rehydrate: bool = True, clean_up: bool = True) -> Run:
    """Return the run with this id as an object of its own class.

    Args:
        experiment: Any experiment of the workspace.
        run_id: The id of the run.
        rehydrate: Accepted and ignored: every run is an object of its own class.
        clean_up: Accepted and ignored.

    Returns:
        The run.

    Raises:
        ServiceException: There is no run with this id.

    Example:
        same = get_run(experiment, run.id)
    """
    return experiment.workspace.get_run(run_id)
