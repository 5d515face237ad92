"""`dataset.submit_profile_run`: its configuration, and its job, `python -m footplate.sdk.data.profile_run`."""

from __future__ import annotations

import json
import os

from footplate.sdk.data.dataset import Dataset
from footplate.sdk.data.profile_config import INPUT, RESULT
from footplate.sdk.exceptions import RunEnvironmentException
from footplate.sdk.job_workspace import workspace_of_job


def main() -> None:
    workspace = workspace_of_job()
    if workspace is None:
        raise RunEnvironmentException("this process does not belong to a run", hint="use dataset.submit_profile_run")
    profile = Dataset.get_by_id(workspace, os.environ[INPUT]).get_profile()
    os.makedirs("outputs", exist_ok=True)
    with open(RESULT, "w", encoding="utf-8") as file:
        json.dump(profile, file, default=str)
    print(f"the profile of {profile['rows']} rows is complete")


if __name__ == "__main__":
    main()
