"""`DatasetProfileRun`: the run of `dataset.submit_profile_run`."""

from __future__ import annotations

import json
import os
import tempfile
from typing import Any, Dict, Mapping, Optional

from footplate.domain.records import RunView
from footplate.sdk.config.script_run_config import ScriptRunConfig
from footplate.sdk.data.profile_config import INPUT, RESULT, ProfileConfig
from footplate.sdk.handles import ExperimentHandle
from footplate.sdk.run import ScriptRun
from footplate.sdk.submission import submit_script

JOB = "footplate.sdk.data.profile_run"


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


def submit_profile(
    experiment: ExperimentHandle, config: ProfileConfig, tags: Mapping[str, Any], parent: Optional[str]
) -> RunView:
    """Submit the run that computes the profile."""
    table = config.table
    with tempfile.TemporaryDirectory(prefix="footplate-profile-") as folder:
        script = ScriptRunConfig(folder, command=["python", "-m", JOB], compute_target=config.compute_target)
        script.run_config.data[INPUT] = table.as_named_input(INPUT)
        return submit_script(experiment, script, {"dataset": table.name, **tags} if table.name else tags, parent)
