"""Workspaces, experiments, environments and compute targets against the real server."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from footplate import (
    AmlCompute,
    ComputeTarget,
    ComputeTargetException,
    CondaDependencies,
    Environment,
    Experiment,
    ServiceException,
    UserErrorException,
    Workspace,
    WorkspaceException,
)
from footplate.sdk.compute.instance import ComputeInstance

pytestmark = pytest.mark.shared_home


def test_azure_config_file_creates_its_workspace_on_first_use(project: Path):
    config = {"subscription_id": "1b2c", "resource_group": "cloud-group", "workspace_name": "cloud-ws"}
    (project / ".azureml" / "config.json").write_text(json.dumps(config))
    with pytest.raises(WorkspaceException, match="footplate init"):
        Workspace("1b2c", "cloud-group", "cloud-ws")
    with pytest.raises(WorkspaceException, match="footplate init"):
        Workspace.get("cloud-ws", subscription_id="1b2c", resource_group="cloud-group")
    workspace = Workspace.from_config()
    assert workspace.name + workspace.subscription_id + workspace.resource_group == "cloud-ws1b2ccloud-group"
    assert workspace.location + workspace.sku
    assert Workspace.from_config().id == Workspace("1b2c", "cloud-group", "cloud-ws").id == workspace.id
    details = workspace.get_details()
    assert details["name"] == "cloud-ws" and details["workspaceid"] == workspace.id
    assert {"id", "location", "type", "tags", "friendlyName", "creationTime", "storageAccount", "sku"} <= set(details)


def test_workspaces_are_created_listed_and_written_to_files(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(UserErrorException, match="footplate init"):
        Workspace.from_config(_file_name="not-there.json")
    first = Workspace.create("first", resource_group="one", subscription_id="s", tags={"a": 1}, show_output=False)  # type: ignore[arg-type]
    with pytest.raises(WorkspaceException, match="first"):
        Workspace.create("first", resource_group="one", subscription_id="s")
    again = Workspace.create("first", resource_group="one", subscription_id="s", exist_ok=True)
    other = Workspace.create("first", resource_group="two", subscription_id="s")
    assert first.id == again.id != other.id and first.tags == {"a": "1"}
    assert [w.id for w in Workspace.list("s", resource_group="one")["first"]] == [first.id]
    assert len(Workspace.list("s")["first"]) == 2
    with pytest.raises(UserErrorException, match="one, two"):
        Workspace.get("first")
    with pytest.raises(UserErrorException, match="workspace name"):
        Workspace.create("x")
    sized = Workspace.create(
        "sized", default_cpu_compute_target=Workspace.DEFAULT_CPU_CLUSTER_CONFIGURATION, show_output=False
    )
    assert list(sized.compute_targets) == ["cpu-cluster"] == [sized.get_default_compute_target("cpu").name]  # type: ignore[union-attr]
    assert (other._workspace_name, other._resource_group, other._subscription_id) == ("first", "two", "s")
    written = other.write_config(str(tmp_path / "sub"))
    scope = "/subscriptions/s/resourceGroups/two/providers/Microsoft.MachineLearningServices/workspaces/first"
    assert json.loads(Path(written).read_text()) == {"Id": None, "Scope": scope}
    assert Workspace.from_config(str(tmp_path / "sub")).id == other.id
    (tmp_path / "new project").mkdir()
    monkeypatch.chdir(tmp_path / "new project")
    assert Workspace.setup().name == "new-project" == Workspace.from_config().name
    assert Workspace.setup()._workspace_id == Workspace.from_config().id


def test_first_blobs_of_a_home_go_directly_into_its_store(workspace: Workspace, home: Path):
    assert workspace.session.blob_folder == str(home / "blobs")
    assert list((home / "blobs").iterdir()) == []


def test_experiments_are_created_listed_and_archived(workspace: Workspace):
    with pytest.raises(UserErrorException, match="'no spaces'"):
        Experiment(workspace, "no spaces")
    experiment = Experiment(workspace=workspace, name="first-one")
    assert Experiment(workspace, "first-one").id == experiment.id
    experiment.set_tags({"a": 1, "b": None})
    experiment.tag("c", "x")
    experiment.remove_tags(["a"])
    assert experiment.tags == {"b": None, "c": "x"} == Experiment(workspace, "first-one").tags
    assert list(workspace.experiments) == ["first-one"]
    assert [e.name for e in Experiment.list(workspace, tags={"c": "x"})] == ["first-one"]
    experiment.tag("number", 3)
    assert [e.name for e in Experiment.list(workspace, tags={"number": 3})] == ["first-one"]
    experiment.remove_tags(["number"])
    assert Experiment.list(workspace, tags="nope") == []
    experiment.archive()
    assert workspace.experiments == {} and experiment.archived_time is not None
    assert [e.name for e in Experiment.list(workspace, view_type="ArchivedOnly")] == ["first-one"]
    experiment.reactivate()
    assert experiment.archived_time is None and list(experiment.get_runs()) == []
    with pytest.raises(UserErrorException, match="new_name"):
        experiment.reactivate("other")
    Experiment.delete(workspace, experiment.id)
    assert workspace.experiments == {}


def test_environments_get_versions_by_content(workspace: Workspace):
    environment = Environment("mine")
    environment.python.conda_dependencies = CondaDependencies.create(pip_packages=["numpy"])
    first = environment.register(workspace)
    assert (first.version, first.register(workspace).version) == ("1", "1")
    environment.python.conda_dependencies.add_pip_package("scipy")
    assert environment.register(workspace).version == "2"
    assert list(Environment.get(workspace, "mine").python.conda_dependencies.pip_packages) == ["numpy", "scipy"]
    assert list(Environment.get(workspace, "mine", "1").python.conda_dependencies.pip_packages) == ["numpy"]
    assert workspace.environments["mine"].version == "2"
    with pytest.raises(UserErrorException, match="version and label"):
        Environment.get(workspace, "mine", "1", label="latest")
    with pytest.raises(UserErrorException, match="nowhere"):
        Environment.get(workspace, "nowhere")
    with pytest.raises(UserErrorException, match="reserved"):
        Environment("AzureML-mine").register(workspace)


def test_compute_instance_is_one_machine_that_stays_on(workspace: Workspace):
    with pytest.raises(ComputeTargetException):
        ComputeInstance(workspace=workspace, name="notebooks")
    config = ComputeInstance.provisioning_configuration(vm_size="STANDARD_D3_V2", ssh_public_access=False)
    instance = ComputeInstance.create(workspace, "notebooks", config)
    assert isinstance(instance, ComputeInstance)
    instance.wait_for_completion(show_output=True)
    instance.stop(wait_for_completion=True, show_output=True)
    assert instance.get_status().state == "Running" and instance.scale_settings.maximum_node_count == 1
    assert isinstance(ComputeTarget(workspace, "notebooks"), ComputeInstance)
    assert workspace.compute_targets["notebooks"].type == "ComputeInstance"
    ComputeTarget.create(workspace, "cluster", AmlCompute.provisioning_configuration(max_nodes=2))
    with pytest.raises(ComputeTargetException, match="'cluster' is a cluster"):
        ComputeInstance(workspace, "cluster")
    instance.delete(wait_for_completion=True, show_output=True)
    assert list(workspace.compute_targets) == ["cluster"]


def test_usual_idiom_finds_or_creates_a_cluster(workspace: Workspace, capsys: pytest.CaptureFixture[str]):
    assert workspace.compute_targets == {} and workspace.get_default_compute_target("cpu") is None
    with pytest.raises(ComputeTargetException):
        ComputeTarget(workspace=workspace, name="cpu-cluster")
    config = AmlCompute.provisioning_configuration(vm_size="STANDARD_D2_V2", max_nodes=2)
    cluster = ComputeTarget.create(workspace, "cpu-cluster", config)
    cluster.wait_for_completion(show_output=True, min_node_count=None, timeout_in_minutes=20)
    assert 'operation "Succeeded"' in capsys.readouterr().out
    status = cluster.get_status().serialize()
    assert status["scaleSettings"]["maxNodeCount"] == 2 and status["vmSize"] == "STANDARD_D2_V2"
    assert status["currentNodeCount"] == 0 and json.dumps(status)
    found = ComputeTarget(workspace=workspace, name="cpu-cluster")
    assert type(found) is AmlCompute and found.type == "AmlCompute" and found.provisioning_state == "Succeeded"
    written = json.loads(json.dumps(found.serialize()))
    assert (written["name"], written["properties"]["computeType"]) == ("cpu-cluster", "AmlCompute")
    assert written["properties"]["status"] == status
    found.update(max_nodes=3, idle_seconds_before_scaledown=60)
    assert cluster.get_status().scale_settings.maximum_node_count == 3 == cluster.scale_settings.maximum_node_count
    assert cluster.vm_size == "STANDARD_D2_V2" and list(cluster.get_active_runs()) == []
    assert list(workspace.compute_targets) == ["cpu-cluster"] and found.list_nodes() == []
    assert workspace.get_default_compute_target("cpu") is not None
    assert workspace.get_default_compute_target(type="CPU") is not None
    with pytest.raises(ValueError, match="tpu"):
        workspace.get_default_compute_target("tpu")
    with pytest.raises(UserErrorException, match="reserved"):
        ComputeTarget.create(workspace, "local", config)
    with pytest.raises(ComputeTargetException, match="max_nodes"):
        AmlCompute.provisioning_configuration(vm_size="x")
    with pytest.raises(ComputeTargetException, match="provisioning_configuration is None"):
        ComputeTarget.create(workspace, "other", None)  # type: ignore[arg-type]
    with pytest.raises(ComputeTargetException, match="'a/b'"):
        ComputeTarget(workspace, "a/b")
    found.delete()
    capsys.readouterr()
    found.wait_for_completion(show_output=True, is_delete_operation=True)
    assert 'Deletion operation finished, operation "Succeeded"' in capsys.readouterr().out
    assert workspace.compute_targets == {}
    with pytest.raises(ComputeTargetException, match="cpu-cluster"):
        found.delete()


def test_server_errors_become_azure_exceptions(workspace: Workspace):
    with pytest.raises(ServiceException, match="nothing_1_ab") as caught:
        workspace.get_run("nothing_1_ab")
    assert caught.value.status_code == 404
