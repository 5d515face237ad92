"""Every keyword of registrations, provisioning and estimators: it has an effect, or a warning names it."""

from __future__ import annotations

import inspect
import warnings
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NoReturn

import pytest

from azureml.core import Datastore, Environment
from azureml.core.compute import AksCompute, AmlCompute, ComputeInstance
from azureml.exceptions import UserErrorException
from azureml.train.estimator import Estimator
from footplate.domain.requests import NewDatastore
from footplate.sdk.config.script_run_config import to_run_spec
from footplate.sdk.estimators.estimator import script_run_config
from footplate.sdk.models.inference_config import InferenceConfig

Given = dict[str, Any]


def call(function: Any, given: Given) -> tuple[Any, list[str]]:
    """Return the result, and the first word of each warning."""
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        warnings.simplefilter("ignore", DeprecationWarning)
        made = function(**given)
    return made, [str(each.message).split(" ")[0] for each in seen]


def check_outcomes(function: Any, needed: Given, effects: Given, unused: Given) -> None:
    """Fail if a keyword has no outcome, an effect is missing, or a warning is missing or superfluous."""
    plain, none = call(function, needed)
    assert none == [], "defaults do not warn"
    for name, value in effects.items():
        made, warned = call(function, {**needed, name: value})
        assert (warned, made != plain) == ([], True), f"{name} has no effect"
    for name, value in unused.items():
        made, warned = call(function, {**needed, name: value})
        assert (warned, made) == ([name], plain), name


# ── compute targets ──

NETWORK = {"vnet_resourcegroup_name": "g", "vnet_name": "v", "subnet_name": "s", "enable_node_public_ip": False}
CLUSTER_EFFECTS = {
    "vm_size": "STANDARD_D2_V2", "vm_priority": "lowpriority", "min_nodes": 1, "max_nodes": 4,
    "idle_seconds_before_scaledown": 60, "tags": {"a": "b"}, "description": "mine",
}  # fmt: skip
CLUSTER_UNUSED = {
    **NETWORK, "admin_username": "ada", "admin_user_password": "s3cr3t", "admin_user_ssh_key": "key",
    "remote_login_port_public_access": "Enabled", "identity_type": "SystemAssigned", "identity_id": ["me"],
    "location": "westeurope",
}  # fmt: skip
INSTANCE_EFFECTS = {"vm_size": "STANDARD_D2_V2", "tags": {"a": "b"}, "description": "mine"}
INSTANCE_UNUSED = {
    **NETWORK, "ssh_public_access": True, "admin_user_ssh_public_key": "key", "assigned_user_object_id": "me",
    "assigned_user_tenant_id": "tenant", "schedules": ["daily"], "setup_scripts": ["setup.sh"],
}  # fmt: skip


@pytest.mark.parametrize(
    "kind, needed, effects, unused",
    [
        (AmlCompute, {"max_nodes": 2}, CLUSTER_EFFECTS, CLUSTER_UNUSED),
        (ComputeInstance, {}, INSTANCE_EFFECTS, INSTANCE_UNUSED),
    ],
)
def test_every_keyword_of_a_compute_target(kind: Any, needed: Given, effects: Given, unused: Given) -> None:
    configure = kind.provisioning_configuration
    assert set(inspect.signature(configure).parameters) == {*effects, *unused}
    check_outcomes(lambda **given: vars(configure(**given)), needed, effects, unused)


def test_keywords_of_a_cluster_for_services_that_have_no_effect() -> None:
    unused = {"vm_size": "Standard_D3_v2", "ssl_cname": "example.com", "cluster_purpose": "DevTest"}
    configure = AksCompute.provisioning_configuration
    check_outcomes(lambda **given: vars(configure(**given)), {}, {"agent_count": 5}, unused)


# ── datastores ──


class Registered(Exception):
    """The request that reached the server."""

    def __init__(self, *request: Any) -> None:
        self.request = request


def registering(function: Any) -> Any:
    """Return the function as one that returns the request to the server."""

    def put(_: str, name: str, new: NewDatastore) -> NoReturn:
        raise Registered(name, new)

    api = SimpleNamespace(datastores=SimpleNamespace(put=put))
    workspace = SimpleNamespace(id="w", session=SimpleNamespace(api_for=lambda _: api))

    def register(**given: Any) -> Any:
        with pytest.raises(Registered) as caught:
            function(workspace, **given)
        return caught.value.request

    return register


AZURES = {"subscription_id": "s", "resource_group": "g", "grant_workspace_access": True}
URLS = {"resource_url": "https://r", "authority_url": "https://a"}
PLACE = {"protocol": "http", "endpoint": "core.example.com"}
KEYS = {"sas_token": "sv=1", "account_key": "a2V5"}
SERVER = {"server_name": "one", "database_name": "two"}
DATABASE = {"port_number": 5, "endpoint": "db.example.com", "server_name": "x", "database_name": "y",
            "user_id": "me", "user_password": "z"}  # fmt: skip
LOGIN = {**SERVER, "user_id": "ada", "user_password": "s3cr3t"}
REGISTRATIONS: dict[str, tuple[Given, Given, Given]] = {
    "register_azure_blob_container": (
        {"container_name": "c", "account_name": "a", "skip_validation": True},
        {"container_name": "d", "account_name": "b", **KEYS, **PLACE},
        {**AZURES, "create_if_not_exists": True, "blob_cache_timeout": 5},
    ),
    "register_azure_file_share": (
        {"file_share_name": "c", "account_name": "a", "skip_validation": True},
        {"file_share_name": "d", "account_name": "b", "path": "/mnt/share", **KEYS},
        {**PLACE, "create_if_not_exists": True},
    ),
    "register_azure_data_lake_gen2": (
        {"filesystem": "c", "account_name": "a"},
        {"filesystem": "d", "account_name": "b", "tenant_id": "t", "client_id": "c", "client_secret": "s", **PLACE},
        {**AZURES, **URLS},
    ),
    "register_azure_sql_database": (
        {**SERVER, "username": "ada", "password": "s3cr3t"},
        {"server_name": "x", "database_name": "y", "username": "me", "password": "z", "endpoint": "db.example.com"},
        {**AZURES, **URLS, "tenant_id": "t", "client_id": "c", "client_secret": "s", "kwargs": "other"},
    ),
    "register_azure_postgre_sql": (LOGIN, DATABASE, {"kwargs": "other"}),
    "register_azure_my_sql": (LOGIN, DATABASE, {"kwargs": "other"}),
}
"""Name of a method → keywords that it needs, keywords with an effect, and keywords without one."""


@pytest.mark.parametrize("method", REGISTRATIONS)
def test_every_keyword_of_a_datastore(method: str) -> None:
    needed, effects, unused = REGISTRATIONS[method]
    function = getattr(Datastore, method)
    common = {"datastore_name": "other", "overwrite": True}
    parameters = set(inspect.signature(function).parameters) - {"workspace", "skip_validation"}
    assert parameters == {*common, *effects, *unused}
    check_outcomes(registering(function), {"datastore_name": "one", **needed}, {**common, **effects}, unused)


def test_a_protocol_that_contradicts_the_endpoint_is_an_error() -> None:
    with pytest.raises(UserErrorException, match="protocol is 'https', but endpoint is 'http://"):
        Datastore.register_azure_blob_container(
            SimpleNamespace(), "one", "c", "a", protocol="https", endpoint="http://localhost:10000"  # type: ignore
        )  # fmt: skip


# ── estimators ──

ESTIMATOR_EFFECTS: Given = {
    "compute_target": "other", "entry_script": "other.py", "script_params": {"--rate": 1}, "use_gpu": True,
    "distributed_backend": "mpi", "custom_docker_base_image": "python:3.11", "custom_docker_image": "python:3.11",
    "image_registry_details": {"address": "registry.example.com"}, "user_managed": True, "conda_packages": ["six"],
    "pip_packages": ["six"], "conda_dependencies_file_path": "conda.yml", "pip_requirements_file_path": "pip.txt",
    "conda_dependencies_file": "conda.yml", "pip_requirements_file": "pip.txt", "environment_variables": {"A": "1"},
    "environment_definition": Environment("mine"), "shm_size": "4g", "max_run_duration_seconds": 60,
}  # fmt: skip
ESTIMATOR_UNUSED: Given = {"source_directory_data_store": "workspaceblobstore"}
ESTIMATOR_ELSEWHERE = {
    "vm_size", "vm_priority", "use_docker",  # the tests below
    "source_directory", "inputs", "resume_from",  # tests/e2e/test_sdk_estimators.py
    "node_count", "process_count_per_node", "distributed_training",  # test_estimators.py: with a distribution
}  # fmt: skip


def estimate(**given: Any) -> Any:
    config = script_run_config(None, Estimator(".", **given))  # type: ignore[arg-type]  # only frameworks need one
    return replace(to_run_spec(config, "fit"), definition={})


@pytest.fixture
def estimator(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Given:
    monkeypatch.chdir(tmp_path)
    for name in ("train.py", "other.py"):
        (tmp_path / name).write_text("")
    (tmp_path / "conda.yml").write_text("dependencies:\n- python=3.11\n- pip: [six]\n")
    (tmp_path / "pip.txt").write_text("six\n")
    return {"compute_target": "cluster", "entry_script": "train.py"}


def test_every_keyword_of_an_estimator(estimator: Given) -> None:
    known = {*ESTIMATOR_EFFECTS, *ESTIMATOR_UNUSED, *ESTIMATOR_ELSEWHERE}
    assert set(inspect.signature(Estimator).parameters) == known
    check_outcomes(estimate, estimator, ESTIMATOR_EFFECTS, ESTIMATOR_UNUSED)


def test_a_vm_size_beside_a_target_and_an_unused_image_warn(estimator: Given) -> None:
    image = {"custom_docker_image": "python:3.11", "use_docker": False}
    assert call(estimate, {**estimator, **image})[1] == ["custom_docker_image"]
    sizes = {"vm_size": "STANDARD_D2_V2", "vm_priority": "lowpriority"}
    assert call(estimate, {**estimator, **sizes})[1] == ["amlcompute.vm_size,"]


def test_settings_of_a_scoring_script_that_do_nothing_are_named(tmp_path: Path) -> None:
    (tmp_path / "score.py").touch()
    given: dict[str, Any] = {"extra_docker_file_steps": "steps", "enable_gpu": True, "cuda_version": "10.1"}
    with pytest.warns(UserWarning, match="extra_docker_file_steps, enable_gpu, cuda_version have no effect here"):
        InferenceConfig("score.py", "python", source_directory=str(tmp_path), **given)
