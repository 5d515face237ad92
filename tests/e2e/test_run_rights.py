"""Scripts with the rights of their run, on this machine: what they may do, and what they may not."""

from __future__ import annotations

from pathlib import Path

import pytest

from footplate import Datastore, Experiment, Model, Run, ScriptRunConfig, Workspace
from support.ops_tools import finish, write_source

pytestmark = pytest.mark.shared_home

ALLOWED = """
    import os
    from azureml.core import Dataset, Experiment, Model, Run, Workspace
    from azureml.core.resource_configuration import ResourceConfiguration

    run = Run.get_context()
    workspace = run.experiment.workspace
    assert Workspace.get(workspace.name).id == workspace.id
    assert list(Workspace.list(workspace.subscription_id)) == [workspace.name], "only its own workspace"
    assert run.get_secret("key") == "of the workspace"
    assert workspace.get_default_keyvault().list_secrets()

    os.makedirs("made", exist_ok=True)
    open("made/a.txt", "w").write("a")
    store = workspace.get_default_datastore()
    store.upload("made", "made", show_progress=False)
    Dataset.File.from_files((store, "made/**")).register(workspace, "made")
    assert Dataset.get_by_name(workspace, "made").download("copy")

    earlier = workspace.get_run("before")
    assert earlier.get_metrics() == {"m": 1.0}, "runs of the workspace can be read"
    with run.child_run("inside") as child:
        child.log("inner", 2)
    run.upload_file("made/a.txt", "made/a.txt")
    run.register_model("of-the-run", "made/a.txt").add_tags({"tagged": "yes"})
    Model.register(workspace, "made", "by-itself")
    of_run = Model(workspace, "of-the-run")
    of_run.update(resource_configuration=ResourceConfiguration(2, 1.0))
    assert of_run.resource_configuration.cpu == 2
    earlier.register_model("of-an-earlier-run", "earlier.txt")
    assert Model(workspace, "of-an-earlier-run").run_id == "before", "from what that run has"
    Model(workspace, "earlier").update(tags={"looked": "at"}, description="by a run")
    Experiment(workspace, "another")
    run.parent.tag("from", "below")
    run.parent.log("from_below", 3)
"""

FORBIDDEN = """
    import os, subprocess, sys
    from azureml.core import Datastore, Environment, Run, ScriptRunConfig
    from azureml.train.hyperdrive import HyperDriveConfig, PrimaryMetricGoal, choice
    from footplate import OptunaParameterSampling
    from footplate.api import ApiClient
    from footplate.client.transport import Transport
    from footplate.domain.requests import NewModel

    run = Run.get_context()
    workspace = run.experiment.workspace

    def refused(act, words):
        try:
            act()
        except Exception as error:
            assert words in str(error), error
        else:
            sys.exit("not refused: " + words)

    other = sys.argv[1]
    api = workspace.session.api
    refused(lambda: api.secrets.get(other, "key"), "it needs the right to read secrets")
    refused(lambda: workspace.get_default_keyvault().set_secret("key", "changed"), "set and delete secrets")
    refused(lambda: api.runs.cancel("before"), "itself, its ancestors and its descendants")
    refused(lambda: api.datastores.access(workspace.id, "private"), "credentials of any datastore")
    refused(lambda: api.datastores.access_for_run(run.id, "private"), "may not use its credentials")
    refused(lambda: api.server.stop(), "stop the server")
    model = (workspace.id, "earlier", 1)
    refused(lambda: api.models.change(*model, resources={"cpu": 64}), "not change its resources or options")
    refused(lambda: api.models.change(*model, options={"signature": {}}), "not change its resources or options")
    known = api.models.get(workspace.id, "earlier", "latest")
    forged = NewModel("k", "forged", root=known.root, files=known.files, run="before")
    refused(lambda: api.models.register(workspace.id, forged), "may not create objects of run 'before'")
    private = Datastore.get(workspace, "private")
    config = ScriptRunConfig(".", "train.py", arguments=[private.path("x").as_download()])
    refused(lambda: run.submit_child(config), "may not use its credentials")
    refused(lambda: run.experiment.submit(config), "may not use its credentials")

    for sampler in ("sys:addaudithook", "builtins:exit"):
        space = OptunaParameterSampling({"--x": choice(1)}, sampler)
        sweep = HyperDriveConfig(space, "m", PrimaryMetricGoal.MAXIMIZE, 1, run_config=ScriptRunConfig(".", "train.py"))
        refused(lambda: run.experiment.submit(sweep), "not listed by the owner")
    refused(lambda: run.submit_child(config), "may not use its credentials")

    endpoint = os.environ["FOOTPLATE_ENDPOINT"]
    bare = ApiClient(Transport(endpoint, patience=0))
    refused(lambda: bare.server.get(), "belongs to run " + run.id)
    argv = [sys.executable, "-c", sys.argv[2], endpoint, *os.environ["PYTHONPATH"].split(":")]
    done = subprocess.run(argv, env={}, capture_output=True)
    assert b"belongs to run" in done.stderr, done.stderr
"""

BARE = """
import sys
sys.path[:0] = sys.argv[2:]
from footplate.api import ApiClient
from footplate.client.transport import Transport
ApiClient(Transport(sys.argv[1], patience=0)).server.get()
"""


def other_workspace(workspace: Workspace) -> str:
    """Create another workspace with a secret; return its id."""
    other = Workspace.create("other", subscription_id="local", resource_group="tests")
    other.get_default_keyvault().set_secret("key", "of the other")
    return other.id


def prepare(workspace: Workspace) -> None:
    workspace.get_default_keyvault().set_secret("key", "of the workspace")
    Datastore.register_s3_bucket(
        workspace, "private", "bucket", access_key_id="k", secret_access_key="s", skip_validation=True
    )
    Model.register(workspace, __file__, "earlier")
    with Experiment(workspace, "ops").start_logging(run_id="before", snapshot_directory=None) as before:
        before.log("m", 1.0)
        before.upload_file("earlier.txt", __file__)


def log_of(run: Run) -> str:
    return run.get_details_with_logs()["logFiles"]["user_logs/std_log.txt"][-2000:]


def test_scripts_have_the_rights_of_their_run(workspace: Workspace, project: Path) -> None:
    prepare(workspace)
    arguments = [other_workspace(workspace), BARE]
    parent = Experiment(workspace, "ops").start_logging(snapshot_directory=None)
    for name, script in (("allowed", ALLOWED), ("forbidden", FORBIDDEN)):
        config = ScriptRunConfig(str(write_source(project, script)), "train.py", arguments=arguments)
        run = finish(parent.submit_child(config))
        assert run.get_status() == "Completed", f"{name}: {log_of(run)}"
    parent.complete()
    assert parent.get_tags() == {"from": "below"}
    assert workspace.get_default_keyvault().get_secret("key") == "of the workspace"
    names = [model.name for model in Model.list(workspace)]
    assert names == ["of-an-earlier-run", "by-itself", "of-the-run", "earlier"]
