"""Real frameworks, in environments that are built once and shared by all tests, sessions and workers."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from footplate import Environment, Experiment, Run, ScriptRunConfig, Workspace
from footplate.sdk.environments.conda_dependencies import CondaDependencies

JOBS = Path(__file__).parent / "jobs"


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark these tests as slow, because they build environments of a gigabyte, and run each framework on one worker."""
    for item in items:
        if JOBS.parent in item.path.parents:
            item.add_marker(pytest.mark.timeout(1500))
            item.add_marker(pytest.mark.slow)


Train = Callable[..., Run]


@pytest.fixture
def start(shared_environments: Path, workspace: Workspace) -> Train:
    """Run a script of `jobs/` with these packages to its end."""

    def run_to_the_end(script: str, packages: list[str], job: Any = None, arguments: tuple[Any, ...] = ()) -> Run:
        environment = Environment("framework")
        environment.python.conda_dependencies = CondaDependencies.create(python_version="3.11", pip_packages=packages)
        config = ScriptRunConfig(
            str(JOBS), script, list(arguments), environment=environment, distributed_job_config=job
        )
        run = Experiment(workspace, "frameworks").submit(config)
        run.wait_for_completion(raise_on_error=False, wait_post_processing=True)
        return run

    return run_to_the_end


@pytest.fixture
def train(start: Train) -> Train:
    """Run a script as `start` does, and require success."""

    def run_to_the_good_end(*what: Any) -> Run:
        run = start(*what)
        assert run.get_status() == "Completed", json.dumps(run.get_details_with_logs(), indent=1)[-6000:]
        return run

    return run_to_the_good_end


def weights(run: Run, ranks: int, folder: Path) -> list[list[float]]:
    """Return the final weights of each rank."""
    found: list[list[float]] = []
    for rank in range(ranks):
        target = folder / f"{run.id}_{rank}.json"
        run.download_file(f"outputs/weights_{rank}.json", str(target))
        found.append(json.loads(target.read_text()))
    return found


@pytest.fixture
def same_as_alone(train: Train, tmp_path: Path) -> Callable[..., Run]:
    """Train with `ranks` ranks and with one process: all ranks agree with each other and with the one process."""

    def check(script: str, packages: list[str], job: Any, ranks: int, arguments: tuple[Any, ...] = ()) -> Run:
        together = train(script, packages, job, arguments)
        alone = weights(train(script, packages), 1, tmp_path)[0]
        for found in weights(together, ranks, tmp_path):
            assert found == pytest.approx(alone, rel=1e-9, abs=1e-9)
        assert max(map(abs, alone)) > 1.0  # the model has learned something
        return together

    return check
