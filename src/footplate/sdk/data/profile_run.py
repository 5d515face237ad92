"""`dataset.submit_profile_run`: a run that computes the profile of a table on a compute target.

The run executes this module: `python -m footplate.sdk.data.profile_run`.
"""

from __future__ import annotations

import json
import os
import tempfile
from typing import TYPE_CHECKING, Any, Dict

from footplate.sdk.config.script_run_config import ScriptRunConfig
from footplate.sdk.runs.run import Run, ScriptRun

if TYPE_CHECKING:
    from footplate.sdk.data.tabular_dataset import TabularDataset
    from footplate.sdk.runs.experiment import Experiment

INPUT = "profiled"
RESULT = "outputs/profile.json"


class DatasetProfileRun(ScriptRun):
    """A run that computes the profile of a table, as `dataset.submit_profile_run` returns it.

    Example:
        def profile(table: TabularDataset, experiment: Experiment) -> None:
            run = table.submit_profile_run("cpu-cluster", experiment)
            print(run.get_profile()["rows"])
    """

    def get_profile(self) -> Dict[str, Any]:
        """Wait for the run and return the profile.

        Returns:
            What `dataset.get_profile()` returns.

        Raises:
            ActivityFailedException: The run failed.
        """
        self.wait_for_completion(wait_post_processing=True)
        with tempfile.TemporaryDirectory(prefix="footplate-profile-") as aside:
            path = os.path.join(aside, "profile.json")
            self.download_file(RESULT, path)
            with open(path, encoding="utf-8") as file:
                return json.load(file)


def submit(dataset: TabularDataset, compute_target: Any, experiment: Experiment) -> DatasetProfileRun:
    """Submit the run that computes the profile."""
    with tempfile.TemporaryDirectory(prefix="footplate-profile-") as folder:
        config = ScriptRunConfig(folder, command=["python", "-m", __name__], compute_target=compute_target)
        config.run_config.data[INPUT] = dataset.as_named_input(INPUT)
        run = experiment.submit(config, tags={"dataset": dataset.name} if dataset.name else {})
    return DatasetProfileRun(experiment, run.id)


def main() -> None:
    run: Any = Run.get_context()
    profile = run.input_datasets[INPUT].get_profile()
    os.makedirs("outputs", exist_ok=True)
    with open(RESULT, "w", encoding="utf-8") as file:
        json.dump(profile, file, default=str)
    print(f"the profile of {profile['rows']} rows is complete")


if __name__ == "__main__":
    main()
