"""The environment of a job: documented variables and those that the run declares, whoever started the server."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from footplate import Environment, Workspace
from footplate.domain.inherited_variables import job_variables
from support.ops_tools import bytes_of, finish, submit

SHOW = """
    import json, os
    from azureml.core import Run
    json.dump(dict(os.environ), open("outputs/environ.json", "w"))
"""
OF_THE_STARTER = {
    "MPLBACKEND": "module://inline", "AWS_SECRET_ACCESS_KEY": "secret", "PYTHONPATH": "/of/the/starter",
    "http_proxy": "http://127.0.0.1:9", "UV_INDEX_URL": "https://index.example.com", "HF_HOME": "/models",
}  # fmt: skip
OURS = ("FOOTPLATE_", "AZUREML_", "AZ_BATCHAI_")
ALWAYS = {
    "PYTHONUNBUFFERED", "PYTHONPATH", "RANK", "LOCAL_RANK", "WORLD_SIZE", "EXAMPLE_ENV_VAR", "MLFLOW_TRACKING_URI",
}  # fmt: skip


def test_jobs_do_not_inherit_the_environment_of_the_servers_starter(
    home: Path, project: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (home / "settings.ini").write_text("[jobs]\npass_environment = HF_HOME, NO_SUCH_*\n")
    for name, value in OF_THE_STARTER.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("FOOTPLATE_PASS_ENVIRONMENT", "AWS_*")  # of the starter as well: the setting decides
    workspace = Workspace.from_config()
    environment = Environment("declared")
    environment.python.user_managed_dependencies = True
    environment.environment_variables = {"DECLARED": "yes"}
    run = finish(submit(workspace, project, SHOW, environment=environment))
    assert run.get_status() == "Completed", run.get_details_with_logs()
    seen = json.loads(bytes_of(run, "outputs/environ.json", tmp_path))
    assert (seen["DECLARED"], seen["HF_HOME"]) == ("yes", "/models")
    assert "/of/the/starter" not in seen["PYTHONPATH"]
    others = {name for name in seen if not name.startswith(OURS)} - {"DECLARED", "HF_HOME"} - ALWAYS
    assert others <= {*job_variables(os.environ), "LC_CTYPE"}, "Python itself sets LC_CTYPE"
    assert not any("secret" in value for value in seen.values())
