"""Sweeps as users write them: azureml.train.hyperdrive, on a real server that is killed."""

from __future__ import annotations

import json
import os
import re
import signal
from pathlib import Path
from typing import Any

import optuna
import pytest

from azureml.core import Experiment, ScriptRunConfig, Workspace
from azureml.core.compute import AmlCompute, ComputeTarget
from azureml.exceptions import UserErrorException
from azureml.train.estimator import Estimator
from azureml.train.hyperdrive import (
    BanditPolicy,
    BayesianParameterSampling,
    GridParameterSampling,
    HyperDriveConfig,
    HyperDriveRun,
    HyperDriveRunConfig,
    PrimaryMetricGoal,
    RandomParameterSampling,
    choice,
    uniform,
)
from azureml.train.hyperdrive.exceptions import HyperDriveConfigException
from footplate import AshaPolicy, Constraint, OptunaParameterSampling, PopulationBasedTraining
from footplate.testing.waiting import wait_until
from support.ops_tools import server_pid

pytestmark = pytest.mark.shared_home

SCRIPT = """
import argparse, os, time
from azureml.core import Run
parser = argparse.ArgumentParser()
parser.add_argument("--x", type=float)
parser.add_argument("--y", type=float, default=0.0)
parser.add_argument("--steps", type=int, default=3)
parser.add_argument("--pause", type=float, default=0.0)
parser.add_argument("--hold")
given = parser.parse_args()
run = Run.get_context()
for step in range(given.steps):
    run.log("score", -(given.x - 2) ** 2 - given.y ** 2 + step * 0.01)
    run.log("cost", given.x + 3 * given.y)
    time.sleep(given.pause)
while given.hold and given.x == 2 and os.path.exists(given.hold):
    time.sleep(0.05)
"""

COUNTING = """
class Counting:
    def __init__(self, context):
        self.count = 0

    def ask(self):
        self.count += 1
        return {"--x": self.count - 1}

    def tell(self, number, result):
        pass
"""

CHECKPOINTED = """
import argparse, os, time
from azureml.core import Run
parser = argparse.ArgumentParser()
parser.add_argument("--x", type=float)
parser.add_argument("--steps", type=int, default=8)
parser.add_argument("--quick-from", type=float)
given = parser.parse_args()
pause = 0.3 if given.quick_from is None else 0.15 if given.x >= given.quick_from else 0.5
first = int(open("outputs/step").read()) if os.path.exists("outputs/step") else 0
print("begins at", first, flush=True)
for step in range(first, given.steps):
    with open("outputs/step.new", "w") as file:
        file.write(str(step + 1))
    os.replace("outputs/step.new", "outputs/step")
    Run.get_context().log("score", given.x + step)
    time.sleep(pause)
"""


@pytest.fixture
def script(tmp_path: Path) -> Any:
    folder = tmp_path / "source"
    folder.mkdir()
    (folder / "train.py").write_text(SCRIPT)
    return lambda *arguments: ScriptRunConfig(str(folder), script="train.py", arguments=list(arguments))


def sweep(config: ScriptRunConfig, sampling: Any, count: int, **options: Any) -> HyperDriveConfig:
    options.setdefault("max_concurrent_runs", 2)
    return HyperDriveConfig(sampling, "score", PrimaryMetricGoal.MAXIMIZE, count, run_config=config, **options)


def test_a_grid_is_swept_and_the_best_run_is_found(
    workspace: Workspace, script: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    space = GridParameterSampling({"--x": choice(1, 2, 3), "y": choice(0, 1)})
    run = Experiment(workspace, "grid").submit(sweep(script("--x", 99), space, 20), tags={"a": "b"})
    assert isinstance(run, HyperDriveRun)
    run.wait_for_completion(show_output=True)
    shown = capsys.readouterr().out
    assert "Streaming azureml-logs/hyperdrive.txt" in shown
    assert 'trial 0 starts: {"--x": 1, "y": 0}' in shown and "the sweep ends as completed" in shown
    assert run.get_status() == "Completed"
    parameters = {trial.run: trial.parameters for trial in run.get_trials()}
    assert sorted((p["--x"], p["y"]) for p in parameters.values()) == [(x, y) for x in (1, 2, 3) for y in (0, 1)]
    best = run.get_best_run_by_primary_metric()
    assert best is not None and parameters[best.id] == {"--x": 2, "y": 0}
    assert best.get_metrics()["score"][-1] == pytest.approx(0.02)
    assert json.loads(run.get_hyperparameters()[best.id]) == {"--x": 2, "y": 0}
    ranked = run.get_children_sorted_by_primary_metric()
    assert ranked[0]["run_id"] == best.id and ranked[0]["best_primary_metric"] == pytest.approx(0.02)
    assert [child.id for child in run.get_children()].count(f"{run.id}_0") == 1
    assert set(run.get_metrics()) == set(parameters)
    assert isinstance(workspace.get_run(run.id), HyperDriveRun)


def test_a_policy_stops_bad_trials_and_the_sweep_completes(workspace: Workspace, script: Any) -> None:
    space = GridParameterSampling({"--x": choice(2, 50, 60)})
    policy = BanditPolicy(slack_amount=1.0, delay_evaluation=2)
    config = sweep(script("--steps", 60, "--pause", 0.2), space, 3, policy=policy, max_concurrent_runs=3)
    run = Experiment(workspace, "bandit").submit(config)
    run.wait_for_completion()
    trials = {trial.parameters["--x"]: trial for trial in run.get_trials()}
    assert run.get_status() == "Completed"
    assert [trials[x].status for x in (2, 50, 60)] == ["Completed", "Canceled", "Canceled"]
    assert "slack amount 1" in (trials[50].stopped or "")
    assert run.get_best_run_by_primary_metric().id == trials[2].run


def test_a_killed_server_starts_each_trial_once(workspace: Workspace, script: Any, home: Path) -> None:
    """One trial after the other, so that the sampler learns in the same order with and without a kill."""
    space = BayesianParameterSampling({"--x": uniform(0, 4), "--y": uniform(-1, 1)}, {"seed": 3, "n_startup_trials": 2})
    config = sweep(script("--pause", 0.05), space, 8, max_concurrent_runs=1)
    first = Experiment(workspace, "once").submit(config)
    for done in (2, 5):
        wait_until(lambda done=done: len(first.get_trials()) > done)
        os.kill(server_pid(home), signal.SIGKILL)
    first.wait_for_completion()
    assert first.get_status() == "Completed"
    trials = first.get_trials()
    assert [trial.number for trial in trials] == list(range(8))
    assert {trial.status for trial in trials} == {"Completed"}
    assert len({json.dumps(trial.parameters) for trial in trials}) == 8
    assert sorted(child.id for child in first.get_children()) == sorted(f"{first.id}_{n}" for n in range(8))
    second = Experiment(workspace, "once").submit(config)
    second.wait_for_completion()
    assert [trial.parameters for trial in second.get_trials()] == [trial.parameters for trial in trials]


def test_only_a_sampler_that_the_owner_listed_runs_in_the_server(
    workspace: Workspace, script: Any, home: Path, tmp_path: Path
) -> None:
    file = tmp_path / "counting.py"
    file.write_text(COUNTING)
    space = OptunaParameterSampling({"--x": uniform(0, 9)}, sampler=f"{file}:Counting")
    config = sweep(script("--pause", 0.1), space, 4, max_concurrent_runs=1)
    with pytest.raises(UserErrorException, match="not listed by the owner") as refusal:
        Experiment(workspace, "own").submit(config)
    line = f"counting = {file}:Counting"
    assert f"[samplers]\n{line}" in str(refusal.value)
    with open(home / "settings.ini", "a") as settings:
        settings.write(f"\n[samplers]\n{line}\n")
    run = Experiment(workspace, "own").submit(config)
    wait_until(lambda: len(run.get_trials()) > 1)
    os.kill(server_pid(home), signal.SIGKILL)
    run.wait_for_completion()
    assert [trial.parameters["--x"] for trial in run.get_trials()] == [0, 1, 2, 3]


def test_a_seed_makes_a_sweep_repeatable(workspace: Workspace, script: Any) -> None:
    space = RandomParameterSampling({"--x": uniform(0, 4)}, {"seed": 11})
    runs = [Experiment(workspace, "seed").submit(sweep(script(), space, 3)) for _ in range(2)]
    for run in runs:
        run.wait_for_completion()
    first, second = ([trial.parameters for trial in run.get_trials()] for run in runs)
    assert first == second and len(first) == 3


def test_a_missing_metric_stops_the_sweep_and_lists_the_others(workspace: Workspace, script: Any) -> None:
    config = HyperDriveConfig(
        RandomParameterSampling({"--x": uniform(0, 4)}), "accuracy", PrimaryMetricGoal.MAXIMIZE, 50,
        max_concurrent_runs=1, run_config=script(),
    )  # fmt: skip
    run = Experiment(workspace, "nothing").submit(config)
    run.wait_for_completion(raise_on_error=False)
    assert run.get_status() == "Failed"
    assert "without logging 'accuracy': it logged score, cost" in str(run.get_details()["error"])
    assert len(run.get_trials()) == 1


def test_a_trial_that_diverges_does_not_end_the_sweep(workspace: Workspace, script: Any) -> None:
    space = GridParameterSampling({"--x": choice("nan", 2)})
    run = Experiment(workspace, "diverges").submit(sweep(script(), space, 2, max_concurrent_runs=1))
    run.wait_for_completion()
    diverged, fine = run.get_trials()
    assert (diverged.status, diverged.best, diverged.intervals) == ("Completed", None, 3)
    assert [value != value for value in run.get_series(diverged.run, "score")] == [True] * 3
    assert run.get_best_run_by_primary_metric().id == fine.run
    assert [trial.state.name for trial in run.to_optuna().trials] == ["FAIL", "COMPLETE"]


def test_a_rejected_parameter_stops_the_sweep_with_its_error(workspace: Workspace, script: Any) -> None:
    space = RandomParameterSampling({"--x": uniform(0, 4), "--depth": choice(1, 2)})
    run = Experiment(workspace, "rejects").submit(sweep(script(), space, 50, max_concurrent_runs=1))
    run.wait_for_completion(raise_on_error=False)
    assert run.get_status() == "Failed"
    assert "unrecognized arguments: --depth" in str(run.get_details()["error"])
    assert len(run.get_trials()) == 1


def test_cancel_ends_the_trials_too(workspace: Workspace, script: Any) -> None:
    space = RandomParameterSampling({"--x": uniform(0, 4)})
    run = Experiment(workspace, "cancel").submit(sweep(script("--steps", 1000, "--pause", 0.1), space, 50))
    wait_until(lambda: any(trial.status == "Running" for trial in run.get_trials()))
    run.cancel()
    run.wait_for_completion(raise_on_error=False)
    assert run.get_status() == "Canceled"
    assert {trial.status for trial in run.get_trials()} == {"Canceled"}


def test_the_command_line_sweeps_shows_and_finds_the_best(footplate: Any, tmp_path: Path) -> None:
    footplate.write("train.py", SCRIPT)
    swept = footplate("sweep", "train.py", "--x", "1,2,3", "--sampler", "grid", "--metric", "score", "--maximize")
    assert "best score 0.02 in trial 1 (x=2)" in swept.stderr
    assert "x=2" in footplate("sweep", "best").stdout
    trials = footplate.json("sweep", "show")
    assert [trial["parameters"] for trial in trials] == [{"x": 1}, {"x": 2}, {"x": 3}]
    listed = footplate.json("sweep", "list")
    assert [each["status"] for each in listed] == ["Completed"]
    analysis = footplate.json("sweep", "analyze")
    assert (analysis["trials"], analysis["best"]) == ([0, 1, 2], [1])
    exported = footplate("sweep", "export", "--optuna", f"sqlite:///{tmp_path / 'study.db'}", "--name", "mine")
    assert "wrote 3 trials to the study 'mine'" in exported.stderr
    refused = footplate("sweep", "train.py", "--x", "uniform:2..1", "--metric", "score", "--maximize", code=1)
    assert "uniform from 2 to 1" in refused.stderr
    twice = footplate("sweep", "train.py", "--x", "1", "--x", "2", "--metric", "score", "--maximize", code=2)
    assert "parameter '--x' is given twice" in twice.stderr
    assert "has ended as Completed" in footplate("sweep", "stop", code=2).stderr
    swept = footplate("sweep", "train.py", "--x", "one", "--metric", "score", "--maximize", "--trials", "1", code=1)
    for said in (swept.stderr, footplate("sweep", "show").stderr):
        assert "argument --x: invalid float value: 'one'\nhint: give --x values that the script takes" in said


TRIAL_OF_OPTIONS = """
import argparse, os
from azureml.core import Run
parser = argparse.ArgumentParser()
parser.add_argument("--x", type=float)
parser.add_argument("--data")
parser.add_argument("--gpus", type=int, default=0)
given = parser.parse_args()
number = int(open(os.path.join(given.data, "number.txt")).read())
Run.get_context().log("score", given.x * int(os.environ["FACTOR"]) + number + given.gpus)
"""


def test_trials_get_the_options_of_a_run(footplate: Any) -> None:
    footplate.write("trial.py", *TRIAL_OF_OPTIONS.splitlines())
    (footplate.folder / "numbers").mkdir()
    footplate.write("numbers/number.txt", "7")
    footplate("data", "add", "numbers", "numbers")
    footplate(
        "sweep", "trial.py", "--x", "1,2", "--sampler", "grid", "--metric", "score", "--maximize",
        "--data", "$numbers", "--input", "numbers=numbers", "--env", "FACTOR=10", "--gpus", "0", "--timeout", "500",
    )  # fmt: skip
    assert sorted(trial["best"] for trial in footplate.json("sweep", "show")) == [17, 27]
    trials = [trial["run"] for trial in footplate.json("sweep", "show")]
    assert [footplate.json("runs", "show", run)["spec"]["max_seconds"] for run in trials] == [500, 500]

    (footplate.folder / "search").mkdir()
    footplate.write("search/variables.txt", "FACTOR=1")
    footplate.write(
        "search/sweep.yaml", "script: ../trial.py", "metric: score", "goal: maximize", "sampler: grid", "gpus: 0",
        "timeout: 400", "env: {FACTOR: 3}", "env_file: variables.txt", "inputs: {numbers: numbers@mount}",
        "arguments: [--data, $numbers]", "parameters: {x: [5], gpus: [1, 2]}",
    )  # fmt: skip
    footplate("sweep", "search/sweep.yaml")
    assert sorted(trial["best"] for trial in footplate.json("sweep", "show")) == [23, 24], "FACTOR of env is 3"
    footplate("sweep", "search/sweep.yaml", "--env", "FACTOR=4")
    assert sorted(trial["best"] for trial in footplate.json("sweep", "show")) == [28, 29]


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("env: [1]", "env of the sweep is [1]"),
        ("inputs: {a: {b: c}}", "write it as inputs: {NAME: VALUE}"),
        ("gpus: two", "sweep.gpus is 'two'"),
        ("environment: nowhere", "there is no environment 'nowhere'"),
        ("conda: none.yml", "conda of bad.yaml is 'none.yml', which does not exist"),
    ],
)
def test_wrong_options_of_a_file_are_named(footplate: Any, line: str, words: str) -> None:
    footplate.write("train.py", "")
    footplate.write("bad.yaml", "script: train.py", "metric: m", "goal: maximize", "parameters: {x: [1]}", line)
    failed = footplate("sweep", "bad.yaml", code=None)
    assert failed.returncode in (1, 2) and words in failed.stderr


def test_promoted_trials_go_on_from_their_checkpoints(workspace: Workspace, tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(CHECKPOINTED)
    config = HyperDriveConfig(
        GridParameterSampling({"--x": choice(4, 3, 2, 1)}), "score", PrimaryMetricGoal.MAXIMIZE, 4,
        policy=AshaPolicy(min_intervals=2, reduction_factor=2, promote=True, max_intervals=4), max_concurrent_runs=2,
        run_config=ScriptRunConfig(str(tmp_path), script="train.py"),
    )  # fmt: skip
    run = Experiment(workspace, "promotion").submit(config)
    run.wait_for_completion()
    assert run.get_status() == "Completed"
    best, *others = sorted(run.get_trials(), key=lambda trial: -trial.parameters["--x"])
    assert best.status == "Completed" and run.get_best_run_by_primary_metric().id == best.run
    resumed = [trial for trial in (best, *others) if workspace.get_run(trial.run).attempt > 1]
    assert resumed, "at least one trial was paused and promoted"
    log = workspace.get_run(resumed[0].run).get_details_with_logs()["logFiles"]["user_logs/std_log.txt"]
    assert re.search(r"begins at 0(.|\n)*begins at [1-9]", log)
    assert any(trial.paused for trial in others)


def test_a_population_continues_its_best_trials(workspace: Workspace, tmp_path: Path) -> None:
    """The better trial is quicker: a trial that is the first to reach an interval has nobody to be worse than."""
    (tmp_path / "train.py").write_text(CHECKPOINTED)
    script = ScriptRunConfig(str(tmp_path), script="train.py", arguments=["--quick-from", 70])
    config = HyperDriveConfig(
        RandomParameterSampling({"--x": uniform(0, 100)}, {"seed": 5}), "score", PrimaryMetricGoal.MAXIMIZE, 3,
        policy=PopulationBasedTraining(evaluation_interval=3, population=2, quantile=0.5, max_intervals=8),
        max_concurrent_runs=2, run_config=script,
    )  # fmt: skip
    run = Experiment(workspace, "population").submit(config)
    run.wait_for_completion()
    assert run.get_status() == "Completed"
    trials = run.get_trials()
    assert [trial.source for trial in trials[:2]] == [None, None] and len(trials) == 3
    source = max(trials[:2], key=lambda trial: trial.parameters["--x"]).number
    assert trials[2].source == source
    assert f"trial 2 continues trial {source} instead" in (trials[1 - source].stopped or "")
    log = workspace.get_run(trials[2].run).get_details_with_logs()["logFiles"]["user_logs/std_log.txt"]
    assert re.search(r"begins at [3-8]", log), log


def test_several_objectives_have_a_front_and_teach_a_later_sweep(
    workspace: Workspace, script: Any, tmp_path: Path
) -> None:
    space = GridParameterSampling({"--x": choice(1, 2, 3), "--y": choice(0, 1)})
    wanted = {"objectives": {"cost": PrimaryMetricGoal.MINIMIZE}, "constraints": [Constraint("cost", at_most=5.5)]}
    first = Experiment(workspace, "front").submit(sweep(script(), space, 6, **wanted))
    first.wait_for_completion()
    trials = first.get_trials()
    assert [trial.parameters for trial in trials if not trial.is_feasible] == [{"--x": 3, "--y": 1}]
    front = [(trial.parameters["--x"], trial.parameters["--y"]) for trial in first.get_pareto_front()]
    assert sorted(front) == [(1, 0), (2, 0)], "a larger y is worse in both, and x beyond 2 as well"
    found = first.get_analysis()
    assert found.best == tuple(trial.number for trial in first.get_pareto_front())
    assert abs(sum(found.importance.values()) - 1.0) < 1e-6
    assert {axis.name for axis in found.axes} == {"--x", "--y", "score", "cost"}
    first.to_optuna(f"sqlite:///{tmp_path / 'study.db'}", "mine")
    study = optuna.load_study(study_name="mine", storage=f"sqlite:///{tmp_path / 'study.db'}")
    assert len(study.trials) == 6 and study.trials[0].values == list(trials[0].values)
    log = first.get_details_with_logs()["logFiles"]["azureml-logs/hyperdrive.txt"]
    assert 'trial 0 starts: {"--x": 1, "--y": 0}' in log and "the sweep ends as completed" in log

    options = {"resume_from": first, "objectives": wanted["objectives"]}
    later = BayesianParameterSampling({"--x": choice(1, 2, 3), "--y": choice(0, 1)}, {"seed": 1})
    second = Experiment(workspace, "front").submit(sweep(script(), later, 1, **options))
    second.wait_for_completion()
    assert len(second.sweep.past) == 6
    assert second.get_best_run_by_primary_metric().id in {trial.run for trial in (*trials, *second.get_trials())}
    with pytest.raises(HyperDriveConfigException, match="has other objectives: maximize score, minimize cost"):
        Experiment(workspace, "front").submit(sweep(script(), later, 1, resume_from=first))
    with pytest.raises(HyperDriveConfigException, match="is not a trial"):
        Experiment(workspace, "front").submit(sweep(script(), later, 1, resume_child_runs=[first]))


def test_an_estimator_is_swept_without_its_own_values(workspace: Workspace, tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(SCRIPT)
    cluster = ComputeTarget.create(workspace, "cluster", AmlCompute.provisioning_configuration(max_nodes=2))
    parameters = {"--x": "-9", "--steps": 2}
    estimator = Estimator(
        str(tmp_path), compute_target=cluster, entry_script="train.py", script_params=parameters, user_managed=True
    )
    space = GridParameterSampling({"x": choice(1, 2)})
    config = HyperDriveRunConfig(estimator, space, "score", PrimaryMetricGoal.MAXIMIZE, 2)
    run = Experiment(workspace, "estimator").submit(config)
    run.wait_for_completion()
    assert [trial.values[0] for trial in run.get_trials()] == [pytest.approx(-0.99), pytest.approx(0.01)]
    child = workspace.get_run(run.get_trials()[0].run)
    assert run.get_details()["target"] == child.get_details()["target"] == "cluster"
    assert child.get_details()["runDefinition"]["arguments"] == ["--steps", "2", "--x", "1"]


def test_single_trials_teach_and_a_stopped_sweep_goes_on(
    workspace: Workspace, script: Any, footplate: Any, tmp_path: Path
) -> None:
    space, hold = GridParameterSampling({"--x": choice(1, 2, 3, 4)}), tmp_path / "hold"
    hold.touch()
    config = sweep(script("--hold", str(hold)), space, 4, max_concurrent_runs=1)
    first = Experiment(workspace, "stop").submit(config)
    wait_until(lambda: len(first.get_trials()) > 1)
    footplate("sweep", "stop", first.id)
    first.wait_for_completion(raise_on_error=False)
    assert first.get_status() == "Canceled"
    canceled = [trial.run for trial in first.get_trials() if trial.status == "Canceled"]
    assert canceled and len(first.get_trials()) == 2
    hold.unlink()
    footplate("sweep", "resume", first.id)
    first.wait_for_completion()
    trials = first.get_trials()
    assert [trial.parameters["--x"] for trial in trials] == [1, 2, 3, 4]
    assert {trial.status for trial in trials} == {"Completed"}
    assert workspace.get_run(canceled[0]).attempt == 2

    taught = sweep(script(), space, 1, resume_child_runs=[workspace.get_run(trials[3].run)])
    second = Experiment(workspace, "stop").submit(taught)
    second.wait_for_completion()
    assert [past.parameters for past in second.sweep.past] == [{"--x": 4}]
    assert second.get_best_run_by_primary_metric().id == second.get_trials()[0].run
