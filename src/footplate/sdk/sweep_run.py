"""`HyperDriveRun`: a sweep that was submitted, its trials and the best of them."""

from __future__ import annotations

import json
from typing import Any, Dict, List, NoReturn, Optional, Union, cast

from footplate.domain.floats import untag_float
from footplate.domain.tuning.early_stopping import MAXIMIZE
from footplate.domain.tuning.sweeps import SweepAnalysis, SweepSpec, TrialView, sweep_of
from footplate.sdk.exceptions import UserErrorException
from footplate.sdk.run import Run
from footplate.sdk.tuning.exceptions import HyperDriveNotImplementedException
from footplate.sdk.tuning.optuna_study import export_study
from footplate.sdk.tuning.submission import earlier_trials
from footplate.sdk.values.wrong_types import explained


@explained
class HyperDriveRun(Run):
    """A sweep, as `experiment.submit` returns it. It goes on without the process that submitted it.

    Example:
        sampling = RandomParameterSampling({"--lr": uniform(0.01, 0.1)}, properties={"seed": 1})
        config = HyperDriveConfig(
            sampling, "loss", PrimaryMetricGoal.MINIMIZE, 2, run_config=ScriptRunConfig("src", "train.py")
        )
        sweep = experiment.submit(config)
        sweep.wait_for_change(seconds=1)
        sweep.wait_for_completion()
        best = sweep.get_best_run_by_primary_metric()
        print(best.id, sweep.get_hyperparameters()[best.id], sweep.get_series(best.id, "loss"))
        for trial in sweep.get_children_sorted_by_primary_metric(top=1):
            print(trial["run_id"], trial["best_primary_metric"])
        print(sweep.get_metrics("loss"), sweep.get_trials(), sweep.get_pareto_front(), sweep.get_analysis())
    """

    @property
    def sweep(self) -> SweepSpec:
        """The sweep as the server carries it out."""
        spec = self._session.api.runs.get(self.id).spec
        if spec is None or spec.controller is None:
            raise UserErrorException(f"run {self.id} is not a sweep", hint="submit a HyperDriveConfig to start one")
        return sweep_of(spec.controller)

    def get_trials(self) -> List[TrialView]:
        """Return all trials by number. Azure has no such method.

        Returns:
            Trials with `run`, `parameters`, `best`, `values` and `status`.
        """
        return list(self._session.api.runs.trials(self.id))

    def get_pareto_front(self) -> List[TrialView]:
        """Return the trials that no other one beats in all objectives, within all constraints. Not in Azure.

        Returns:
            Trials; with one objective, the best one.
        """
        return [trial for trial in self.get_trials() if trial.is_best]

    def get_analysis(self) -> SweepAnalysis:
        """Return the importance of the parameters, and the data of a parallel-coordinates plot. Not in Azure.

        Returns:
            The analysis.
        """
        return self._session.api.runs.sweep_analysis(self.id)

    def get_series(self, run: str, metric: str) -> List[float]:
        """Return the values that one trial has logged of a metric. Azure has no such method.

        Args:
            run: The run id of the trial.
            metric: The name of the metric.

        Returns:
            The numbers in the order in which they were logged.
        """
        series_by_run = self._session.api.metrics.read(run, name=metric)
        return _numbers([untag_float(point[2]) for series in series_by_run.get(run, []) for point in series.points])

    def to_optuna(self, storage: Any = None, study_name: Optional[str] = None) -> Any:
        """Write the trials to an Optuna study. Azure has no such method.

        Args:
            storage: The storage, as for `optuna.create_study`; in memory by default.
            study_name: The name of the study; the id of the sweep by default.

        Returns:
            The study.

        Raises:
            AzureMLException: Optuna is not installed.

        Example:
            def importances(sweep: HyperDriveRun) -> None:
                print(sweep.to_optuna(storage="sqlite:///study.db").best_params)
        """
        sweep = self.sweep
        metric = sweep.primary.metric
        series = {run: _numbers(values.get(metric)) for run, values in self.get_metrics(metric).items()}
        return export_study(sweep, self.get_trials(), series, storage, study_name or self.id)

    def wait_for_change(self, seconds: float = 5.0) -> None:
        """Return when the sweep has decided something new, or after some seconds.

        Args:
            seconds: The longest wait.
        """
        version = -1 if self._known is None else self._known.version
        self._known = self._session.api.runs.get(self.id, version=version, wait=seconds)

    def get_best_run_by_primary_metric(
        self, include_failed: bool = True, include_canceled: bool = True, include_resume_from_runs: bool = True
    ) -> Union[Run, Any]:
        """Return the run with the best value over its whole series.

        Args:
            include_failed: Whether failed trials count.
            include_canceled: Whether canceled trials count.
            include_resume_from_runs: Whether trials of the sweeps in `resume_from` count.

        Returns:
            The run; None if no trial has logged the metric.
        """
        sweep = self.sweep
        trials = self.get_trials()
        if include_resume_from_runs:
            trials += earlier_trials(self._session.api, sweep)
        left_out = {"Failed": not include_failed, "Canceled": not include_canceled}
        ranked = _rank([trial for trial in trials if not left_out.get(trial.status)], sweep)
        return self.experiment.workspace.get_run(ranked[0].run) if ranked else None

    def get_children_sorted_by_primary_metric(
        self, top: int = 0, reverse: bool = False, discard_no_metric: bool = False
    ) -> List[Dict[str, Any]]:
        """Return the trials, the best first.

        Args:
            top: How many to return; 0 returns all.
            reverse: Whether the worst comes first.
            discard_no_metric: Whether to leave out trials that have not logged the metric.

        Returns:
            Dicts with `run_id`, `hyperparameters` (JSON), `best_primary_metric` and `status`.

        Raises:
            UserErrorException: `top` is negative.
        """
        if (top or 0) < 0:
            raise UserErrorException(f"top is {top}", hint="give 0 for all trials, or a positive number")
        trials = self.get_trials()
        ranked = _rank(trials, self.sweep)
        if reverse:
            ranked.reverse()
        if not discard_no_metric:
            ranked += [trial for trial in trials if trial.best is None or not trial.is_feasible]
        return [
            {
                "run_id": trial.run,
                "hyperparameters": json.dumps(trial.parameters),
                "best_primary_metric": trial.best,
                "status": trial.status,
            }
            for trial in (ranked[:top] if top else ranked)
        ]

    def get_hyperparameters(self) -> Dict[str, str]:
        """Return the parameters of every trial.

        Returns:
            JSON text by run id.
        """
        return {trial.run: json.dumps(trial.parameters) for trial in self.get_trials()}

    def get_metrics(
        self,
        name: Optional[str] = None,
        recursive: bool = True,
        run_type: Optional[str] = None,
        populate: bool = False,
    ) -> Dict[str, Any]:
        """Return the metrics of every trial.

        Args:
            name: Only the metric with this name.
            recursive: Makes no difference: the trials are always included.
            run_type: Only runs of this type.
            populate: Whether to return logged images and documents as objects with `read()`.

        Returns:
            Metrics by run id, each a dict of values by name.
        """
        by_run = super().get_metrics(name=name, recursive=True, run_type=run_type, populate=populate)
        return {run: metrics for run, metrics in by_run.items() if run != self.id}

    @property
    def hyperdrive_config(self) -> Any:
        """The configuration that was submitted, as plain data."""
        spec = self._session.api.runs.get(self.id).spec
        return None if spec is None or spec.controller is None else dict(spec.controller.options)

    def fail(self, error_details: Any = None, error_code: Any = None, _set_status: bool = True) -> NoReturn:
        """Raise an error: a sweep ends by itself.

        Args:
            error_details, error_code: Ignored.

        Raises:
            HyperDriveNotImplementedException: Always; use `cancel()`.

        Example:
            def end(sweep: HyperDriveRun) -> None:
                sweep.cancel()  # not sweep.fail()
        """
        raise HyperDriveNotImplementedException("a sweep cannot be failed", hint="cancel it with run.cancel()")

    def get_diagnostics(self) -> NoReturn:
        """Raise an error: Azure has no diagnostics for sweeps either.

        Raises:
            HyperDriveNotImplementedException: Always; use `get_trials()`.

        Example:
            def diagnose(sweep: HyperDriveRun) -> None:
                print([trial.status for trial in sweep.get_trials()])  # not sweep.get_diagnostics()
        """
        raise HyperDriveNotImplementedException("a sweep has no diagnostics", hint="see run.get_trials()")


def _numbers(value: Any) -> List[float]:
    values = cast("List[Any]", value) if isinstance(value, list) else [value]
    return [float(each) for each in values if isinstance(each, (int, float))]


def _rank(trials: List[TrialView], sweep: SweepSpec) -> List[TrialView]:
    """Return the feasible trials that have logged the metric, the best first; equal ones by number."""
    sign = -1.0 if sweep.primary.goal == MAXIMIZE else 1.0
    comparable = [trial for trial in trials if trial.best is not None and trial.is_feasible]
    return sorted(comparable, key=lambda trial: (sign * (trial.best or 0.0), trial.number))
