"""`HyperDriveConfig`: which trials a sweep has, over a ScriptRunConfig or an estimator."""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING, Any, List, Mapping, Optional, Sequence, Union, cast

from footplate.domain.tuning.sweeps import Constraint, Objective, SweepSpec, check_sweep, idle_policy
from footplate.errors import InvalidInput
from footplate.sdk.config.script_run_config import ScriptRunConfig
from footplate.sdk.estimators.estimator import Estimator
from footplate.sdk.tuning.exceptions import HyperDriveConfigException
from footplate.sdk.tuning.policy import EarlyTerminationPolicy, NoTerminationPolicy
from footplate.sdk.tuning.sampling import BayesianParameterSampling, HyperParameterSampling, new_seed
from footplate.sdk.values.warn import warn_caller
from footplate.sdk.values.wrong_types import explained

if TYPE_CHECKING:
    from footplate.sdk.runs.controlled_run import ControlledRun as Run

DEFAULT_MINUTES = 10080
_MOST_PARENTS = 5


class PrimaryMetricGoal(Enum):
    """The direction in which the primary metric is better: MAXIMIZE or MINIMIZE.

    Example:
        print(PrimaryMetricGoal.from_str("maximize") is PrimaryMetricGoal.MAXIMIZE)
    """

    MAXIMIZE = "MAXIMIZE"
    MINIMIZE = "MINIMIZE"

    @staticmethod
    def from_str(goal: str) -> PrimaryMetricGoal:
        """Return the goal of this name, in any case.

        Args:
            goal: The name.

        Returns:
            The goal.

        Raises:
            HyperDriveConfigException: There is no such goal.
        """
        try:
            return PrimaryMetricGoal[str(goal).upper()]
        except KeyError:
            raise HyperDriveConfigException(f"the goal is {goal!r}", hint="use MAXIMIZE or MINIMIZE") from None


@explained
class HyperDriveConfig:
    """A sweep over hyperparameters, for `experiment.submit`.

    Args:
        hyperparameter_sampling: The search space and the way in which trials are drawn from it.
        primary_metric_name: The metric that trials log with `run.log` and that decides which is best.
        primary_metric_goal: Whether a larger or a smaller value is better.
        max_total_runs: The number of trials.
        max_concurrent_runs: How many trials may run at once; all by default.
        max_duration_minutes: The time after which the sweep ends, and with it its trials; one week by default.
        policy: The rule by which trials are stopped early; none by default.
        estimator: The script of the trials as an estimator.
        run_config: The script of the trials as a ScriptRunConfig.
        resume_from: Earlier sweeps, at most five, whose trials teach the sampler.
        resume_child_runs: Trials of earlier sweeps that teach the sampler.
        pipeline: Refused: Footplate has no pipelines.
        debug_flag: Accepted and ignored.
        custom_run_id: The id of the sweep's run.
        objectives: Goals by metric, beside the primary one. Azure has no such argument; with several
            objectives, `run.get_pareto_front()` returns the best trials.
        constraints: Bounds of metrics that trials must keep. Azure has no such argument.

    Raises:
        HyperDriveConfigException: A value is not valid, or arguments contradict each other.

    Example:
        config = HyperDriveConfig(
            run_config=ScriptRunConfig("src", "train.py"),
            hyperparameter_sampling=RandomParameterSampling({"--lr": loguniform(-6, -1)}),
            policy=BanditPolicy(slack_factor=0.2),
            primary_metric_name="loss",
            primary_metric_goal=PrimaryMetricGoal.MINIMIZE,
            max_total_runs=2,
        )
        print(config.source_directory, config.to_sweep().max_trials)
        sweep = experiment.submit(config)
        sweep.wait_for_completion()
    """

    def __init__(
        self,
        hyperparameter_sampling: HyperParameterSampling,
        primary_metric_name: str,
        primary_metric_goal: PrimaryMetricGoal,
        max_total_runs: int,
        max_concurrent_runs: Optional[int] = None,
        max_duration_minutes: float = DEFAULT_MINUTES,
        policy: Optional[EarlyTerminationPolicy] = None,
        estimator: Optional[Estimator] = None,
        run_config: Optional[ScriptRunConfig] = None,
        resume_from: Union[Run, str, Sequence[Union[Run, str]], None] = None,
        resume_child_runs: Union[Run, str, Sequence[Union[Run, str]], None] = None,
        pipeline: Any = None,
        debug_flag: Any = None,
        custom_run_id: Optional[str] = None,
        *,
        objectives: Optional[Mapping[str, PrimaryMetricGoal]] = None,
        constraints: Sequence[Constraint] = (),
    ) -> None:
        """Describe a sweep. `objectives` are metrics beside the primary one, and `constraints` bounds of metrics.

        Azure has neither. With several objectives, `run.get_pareto_front()` returns the best trials.
        """
        _check_target(estimator, run_config, pipeline)
        _check_types(hyperparameter_sampling, policy, primary_metric_name)
        self.hyperparameter_sampling = hyperparameter_sampling
        self.primary_metric_name = primary_metric_name
        self.primary_metric_goal = _goal(primary_metric_goal)
        self.max_total_runs = _at_least_one("max_total_runs", max_total_runs)
        at_once = max_total_runs if max_concurrent_runs is None else max_concurrent_runs
        self.max_concurrent_runs = _at_least_one("max_concurrent_runs", at_once)
        self.max_duration_minutes = max_duration_minutes
        self.policy = policy if policy is not None else NoTerminationPolicy()
        self.estimator = estimator
        self.run_config = run_config
        self.resume_from = _as_list(resume_from)
        self.resume_child_runs = _as_list(resume_child_runs)
        self.custom_run_id = custom_run_id
        self.objectives = {name: _goal(goal) for name, goal in (objectives or {}).items()}
        self.constraints = tuple(constraints)
        self._check()

    @property
    def source_directory(self) -> Optional[str]:
        """The directory that every trial runs."""
        source: Any = self.estimator or self.run_config
        return source.source_directory

    def to_sweep(self) -> SweepSpec:
        """Return the sweep as the server takes it. Without a seed, one is drawn.

        Returns:
            The specification.
        """
        sampling = self.hyperparameter_sampling
        options = dict(sampling.properties)
        seed = options.pop("seed", None)
        goals = {self.primary_metric_name: self.primary_metric_goal, **self.objectives}
        return SweepSpec(
            space=sampling.space,
            objectives=tuple(Objective(name, goal.value.lower()) for name, goal in goals.items()),
            constraints=self.constraints,
            max_trials=self.max_total_runs,
            max_concurrent=self.max_concurrent_runs,
            max_seconds=self.max_duration_minutes * 60.0,
            sampler=sampling.sampler,
            sampler_options=options,
            seed=new_seed() if seed is None else seed,
            policy=self.policy.rule,
            resume_from=tuple(_run_id(run) for run in self.resume_from),
            resume_trials=tuple(_run_id(run) for run in self.resume_child_runs),
        )

    def _check(self) -> None:
        seed = self.hyperparameter_sampling.properties.get("seed")
        if seed is not None and (isinstance(seed, bool) or not isinstance(seed, int)):
            raise HyperDriveConfigException(f"the seed is {seed!r}", hint="give a whole number")
        learns = isinstance(self.hyperparameter_sampling, BayesianParameterSampling)
        if learns and self.policy.rule.kind != "none":
            raise HyperDriveConfigException(
                f"BayesianParameterSampling does not work with {type(self.policy).__name__}",
                hint='leave the policy out, or use footplate.OptunaParameterSampling(space, "tpe"), which draws in the '
                "same way and accepts policies",
            )
        if len(self.resume_from) > _MOST_PARENTS:
            raise HyperDriveConfigException(
                f"resume_from names {len(self.resume_from)} sweeps", hint=f"give {_MOST_PARENTS} or fewer"
            )
        sweep = self.to_sweep()
        try:
            check_sweep(sweep)
        except InvalidInput as error:
            raise HyperDriveConfigException(error.message, hint=error.hint) from None
        idle = idle_policy(sweep)
        if idle is not None:  # as on Azure, notebooks may run such a sweep to try it out
            warn_caller(idle)


@explained
def HyperDriveRunConfig(  # Azure's older name for a function that looks like a class
    estimator: Estimator,
    hyperparameter_sampling: HyperParameterSampling,
    primary_metric_name: str,
    primary_metric_goal: PrimaryMetricGoal,
    max_total_runs: int,
    max_concurrent_runs: Optional[int] = None,
    max_duration_minutes: float = DEFAULT_MINUTES,
    policy: Optional[EarlyTerminationPolicy] = None,
) -> HyperDriveConfig:
    """Return the sweep of an estimator, in the order of arguments that early versions of Azure's SDK had.

    Args:
        estimator: The script of the trials.
        hyperparameter_sampling: The search space and the way in which trials are drawn from it.
        primary_metric_name: The metric that decides which trial is best.
        primary_metric_goal: Whether a larger or a smaller value is better.
        max_total_runs: The number of trials.
        max_concurrent_runs: How many trials may run at once; all by default.
        max_duration_minutes: The time after which the sweep ends, and with it its trials; one week by default.
        policy: The rule by which trials are stopped early; none by default.

    Returns:
        The configuration of the sweep.

    Raises:
        HyperDriveConfigException: A value is not valid.

    Example:
        estimator = Estimator("src", entry_script="train.py", compute_target="local")
        sampling = GridParameterSampling({"--lr": choice(0.1, 0.01)})
        config = HyperDriveRunConfig(estimator, sampling, "loss", PrimaryMetricGoal.MINIMIZE, max_total_runs=2)
    """
    return HyperDriveConfig(
        hyperparameter_sampling, primary_metric_name, primary_metric_goal, max_total_runs,
        max_concurrent_runs, max_duration_minutes, policy, estimator=estimator,
    )  # fmt: skip


def _check_target(estimator: Any, run_config: Any, pipeline: Any) -> None:
    targets = [value for value in (estimator, run_config, pipeline) if value is not None]
    if len(targets) != 1:
        raise HyperDriveConfigException(
            f"{len(targets)} of estimator, run_config and pipeline are given", hint="give exactly one of them"
        )
    if pipeline is not None:
        raise HyperDriveConfigException("Footplate has no pipelines", hint="give run_config=ScriptRunConfig(…)")
    if run_config is not None and not isinstance(run_config, ScriptRunConfig):
        raise HyperDriveConfigException(
            f"run_config is of the type {type(run_config).__name__}", hint="give a ScriptRunConfig"
        )
    if estimator is not None and not isinstance(estimator, Estimator):
        raise HyperDriveConfigException(
            f"estimator is of the type {type(estimator).__name__}", hint="give an Estimator, or run_config="
        )


def _check_types(sampling: Any, policy: Any, metric: Any) -> None:
    if not isinstance(metric, str):
        raise HyperDriveConfigException(f"primary_metric_name is {metric!r}", hint="name the metric that trials log")
    if not isinstance(sampling, HyperParameterSampling):
        raise HyperDriveConfigException(
            f"hyperparameter_sampling is {sampling!r:.80}", hint="give RandomParameterSampling({…}) or another sampling"
        )
    if policy is not None and not isinstance(policy, EarlyTerminationPolicy):
        raise HyperDriveConfigException(f"policy is {policy!r:.80}", hint="give BanditPolicy(…) or another policy")


def _goal(goal: Any) -> PrimaryMetricGoal:
    return goal if isinstance(goal, PrimaryMetricGoal) else PrimaryMetricGoal.from_str(goal)


def _at_least_one(name: str, value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise HyperDriveConfigException(f"{name} is {value!r}", hint="give a whole number of at least 1")
    return value


def _as_list(value: Any) -> List[Any]:
    if value is None:
        return []
    return list(cast("Sequence[Any]", value)) if isinstance(value, (list, tuple)) else [value]


def _run_id(run: Any) -> str:
    return run if isinstance(run, str) else str(run.id)
