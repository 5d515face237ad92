from __future__ import annotations

import json
import textwrap
from pathlib import Path

import pytest

from footplate import Experiment, ScriptRunConfig, UserErrorException, Workspace

pytestmark = pytest.mark.shared_home


def test_job_reads_a_secret_that_no_record_contains(project: Path, workspace: Workspace) -> None:
    keyvault = workspace.get_default_keyvault()
    keyvault.set_secrets({"api-key": "s3cr3t-value", "other": "x"})
    assert keyvault.list_secrets() == [{"name": "api-key"}, {"name": "other"}]
    (project / "train.py").write_text(
        textwrap.dedent(
            """
            from azureml.core import Run
            run = Run.get_context()
            assert run.get_secret("api-key") == "s3cr3t-value"
            assert run.get_secrets(["api-key", "other"]) == {"api-key": "s3cr3t-value", "other": "x"}
            """
        )
    )
    run = Experiment(workspace, "secrets").submit(ScriptRunConfig(".", "train.py"))
    run.wait_for_completion()
    assert "s3cr3t-value" not in json.dumps(run.get_details_with_logs(), default=str)
    keyvault.delete_secret("other")
    with pytest.raises(UserErrorException, match="'other'"):
        keyvault.get_secret("other")
    with pytest.raises(UserErrorException, match="not a secret's name"):
        keyvault.set_secret("no spaces", "x")
