"""Parameters have the names, order and defaults of Azure's SDK: scripts pass them by position and by name.

Footplate's own parameters come after Azure's, so that no position changes its meaning.
"""

from __future__ import annotations

import inspect

import pytest

from footplate import (
    AmlCompute,
    ComputeTarget,
    CondaDependencies,
    DockerConfiguration,
    Environment,
    Experiment,
    Model,
    MpiConfiguration,
    PyTorchConfiguration,
    ResourceConfiguration,
    Run,
    RunConfiguration,
    RunDetails,
    ScriptRunConfig,
    TensorflowConfiguration,
    Workspace,
)
from footplate.sdk.authentication import (
    ArmTokenAuthentication,
    AzureCliAuthentication,
    InteractiveLoginAuthentication,
    MsiAuthentication,
    ServicePrincipalAuthentication,
)
from footplate.sdk.compute.instance import ComputeInstance
from footplate.sdk.data.column_types import DataType
from footplate.sdk.data.tabular_dataset import TabularDataset
from footplate.sdk.data.tabular_factory import TabularDatasetFactory
from footplate.sdk.run import get_run
from footplate.sdk.telemetry import set_diagnostics_collection

SIGNATURES = {
    Environment.register: "self, workspace",
    Environment.get: "workspace, name, version=None, label=None",
    Environment.list: "workspace",
    Environment.label: "workspace, name, version, labels",
    Environment.clone: "self, new_name",
    Environment.from_conda_specification: "name, file_path",
    Environment.from_pip_requirements: "name, file_path, pip_version=None",
    Environment.from_docker_image: "name, image, container_registry=None, conda_specification=None, "
    "pip_requirements=None",
    Environment.from_dockerfile: "name, dockerfile, conda_specification=None, pip_requirements=None",
    Environment.from_existing_conda_environment: "name, conda_environment_name",
    Environment.build: "self, workspace, image_build_compute=None",
    Environment.save_to_directory: "self, path, overwrite=False",
    Environment.load_from_directory: "path",
    Environment.add_private_pip_wheel: "workspace, file_path, exist_ok=False",
    CondaDependencies.__init__: "self, conda_dependencies_file_path=None",
    CondaDependencies.create: "pip_indexurl=None, pip_packages=None, conda_packages=None, python_version=None, "
    "pin_sdk_version=True",
    CondaDependencies.add_tensorflow_conda_package: "self, core_type='cpu', version=None",
    CondaDependencies.save_to_file: "self, base_directory, conda_file_path=None",
    CondaDependencies.save: "self, path=None",
    Workspace.__init__: "self, subscription_id, resource_group, workspace_name, auth=None, _location=None, "
    "_disable_service_check=False, _workspace_id=None, sku='basic', tags=None, _cloud='AzureCloud'",
    Workspace.from_config: "path=None, auth=None, _logger=None, _file_name=None",
    Workspace.get: "name, auth=None, subscription_id=None, resource_group=None, location=None, cloud='AzureCloud', "
    "id=None",
    Workspace.create: "name, auth=None, subscription_id=None, resource_group=None, location=None, "
    "create_resource_group=True, sku='basic', tags=None, friendly_name=None, storage_account=None, key_vault=None, "
    "app_insights=None, container_registry=None, adb_workspace=None, primary_user_assigned_identity=None, "
    "cmk_keyvault=None, resource_cmk_uri=None, hbi_workspace=False, default_cpu_compute_target=None, "
    "default_gpu_compute_target=None, private_endpoint_config=None, private_endpoint_auto_approval=True, "
    "exist_ok=False, show_output=True",
    Workspace.write_config: "self, path=None, file_name=None",
    Workspace.get_details: "self",
    Workspace.get_run: "self, run_id",
    Workspace.get_default_compute_target: "self, type",
    Experiment.__init__: "self, workspace, name",
    Experiment.submit: "self, config, tags=None",
    Experiment.start_logging: "self, name=None, run_id=None, outputs=None, snapshot_directory='.'",
    Experiment.get_runs: "self, type=None, tags=None, properties=None, include_children=False",
    Experiment.reactivate: "self, new_name=None",
    Experiment.delete: "workspace, experiment_id",
    Run.__init__: "self, experiment, run_id, outputs=None",
    Run.get: "workspace, run_id",
    get_run: "experiment, run_id, rehydrate=True, clean_up=True",
    Run.list: "experiment, type=None, tags=None, properties=None, status=None, include_children=False",
    Run.get_context: "allow_offline=True, used_for_context_manager=False",
    Run.wait_for_completion: "self, show_output=False, wait_post_processing=False, raise_on_error=True",
    Run.get_all_logs: "self, destination=None",
    Run.log: "self, name, value=Ellipsis, description='', step=None",  # one dictionary may take the place of both
    Run.log_list: "self, name, value, description=''",
    Run.log_row: "self, name, description=None",
    Run.log_table: "self, name, value, description=''",
    Run.log_image: "self, name, path=None, plot=None, description=''",
    Run.log_confusion_matrix: "self, name, value, description=''",
    Run.log_accuracy_table: "self, name, value, description=''",
    Run.log_residuals: "self, name, value, description=''",
    Run.log_predictions: "self, name, value, description=''",
    Run.flush: "self, timeout_seconds=300",
    Run.get_metrics: "self, name=None, recursive=False, run_type=None, populate=False",
    Run.upload_file: "self, name, path_or_stream, datastore_name=None",
    Run.upload_files: "self, names, paths, return_artifacts=False, timeout_seconds=None, datastore_name=None",
    Run.upload_folder: "self, name, path, datastore_name=None",
    Run.download_file: "self, name, output_file_path=None, _validate_checksum=False",
    Run.download_files: "self, prefix=None, output_directory=None, output_paths=None, batch_size=100, "
    "append_prefix=True, timeout_seconds=None",
    Run.tag: "self, key, value=None",
    Run.set_tags: "self, tags",
    Run.remove_tags: "self, tags",
    Run.add_properties: "self, properties",
    Run.child_run: "self, name=None, run_id=None, outputs=None",
    Run.create_children: "self, count=None, tag_key=None, tag_values=None",
    Run.get_children: "self, recursive=False, tags=None, properties=None, type=None, status=None",
    Run.submit_child: "self, config, tags=None",
    Run.fail: "self, error_details=None, error_code=None",
    Run.take_snapshot: "self, path",
    Run.restore_snapshot: "self, snapshot_id=None, path=None",
    Run.register_model: "self, model_name, model_path=None, tags=None, properties=None, model_framework=None, "
    "model_framework_version=None, description=None, datasets=None, sample_input_dataset=None, "
    "sample_output_dataset=None, resource_configuration=None",
    ScriptRunConfig.__init__: "self, source_directory=None, script=None, arguments=None, run_config=None, "
    "_telemetry_values=None, compute_target=None, environment=None, distributed_job_config=None, resume_from=None, "
    "max_run_duration_seconds=2592000, command=None, docker_runtime_config=None",
    RunConfiguration.__init__: "self, script=None, arguments=None, framework=None, communicator=None, "
    "conda_dependencies=None, _history_enabled=None, _path=None, _name=None, command=None",
    MpiConfiguration.__init__: "self, process_count_per_node=1, node_count=1",
    TensorflowConfiguration.__init__: "self, worker_count=1, parameter_server_count=1",
    PyTorchConfiguration.__init__: "self, communication_backend='Nccl', process_count=None, node_count=1",
    DockerConfiguration.__init__: "self, use_docker=False, shared_volumes=True, arguments=None, shm_size='2g'",
    ComputeTarget.__new__: "cls, workspace, name",
    ComputeTarget.create: "workspace, name, provisioning_configuration",
    ComputeTarget.attach: "workspace, name, attach_configuration",
    AmlCompute.provisioning_configuration: "vm_size='', vm_priority='dedicated', min_nodes=0, max_nodes=None, "
    "idle_seconds_before_scaledown=1800, admin_username=None, admin_user_password=None, admin_user_ssh_key=None, "
    "vnet_resourcegroup_name=None, vnet_name=None, subnet_name=None, tags=None, description=None, "
    "remote_login_port_public_access='NotSpecified', identity_type=None, identity_id=None, location=None, "
    "enable_node_public_ip=True",
    AmlCompute.wait_for_completion: "self, show_output=False, min_node_count=None, timeout_in_minutes=25, "
    "is_delete_operation=False",
    AmlCompute.update: "self, min_nodes=None, max_nodes=None, idle_seconds_before_scaledown=None",
    Model.__init__: "self, workspace, name=None, id=None, tags=None, properties=None, version=None, run_id=None, "
    "model_framework=None, expand=True",
    Model.register: "workspace, model_path, model_name, tags=None, properties=None, description=None, datasets=None, "
    "model_framework=None, model_framework_version=None, child_paths=None, sample_input_dataset=None, "
    "sample_output_dataset=None, resource_configuration=None",
    Model.list: "workspace, name=None, tags=None, properties=None, run_id=None, latest=False, dataset_id=None, "
    "expand=True, page_count=255, model_framework=None",
    Model.download: "self, target_dir='.', exist_ok=False, exists_ok=None",
    Model.get_model_path: "model_name, version=None, _workspace=None",
    ResourceConfiguration.__init__: "self, cpu=None, memory_in_gb=None, gpu=None",
    RunDetails.show: "self, render_lib=None, widget_settings=None",
    RunDetails.get_widget_data: "self, widget_settings=None",
    TabularDatasetFactory.from_delimited_files: "path, validate=True, include_path=False, infer_column_types=True, "
    "set_column_types=None, separator=',', header=True, partition_format=None, support_multi_line=False, "
    "empty_as_string=False, encoding='utf8'",
    TabularDatasetFactory.from_parquet_files: "path, validate=True, include_path=False, set_column_types=None, "
    "partition_format=None",
    TabularDatasetFactory.from_json_lines_files: "path, validate=True, include_path=False, set_column_types=None, "
    "partition_format=None, invalid_lines='error', encoding='utf8'",
    TabularDatasetFactory.from_sql_query: "query, validate=True, set_column_types=None, query_timeout=30",
    TabularDatasetFactory.register_pandas_dataframe: "dataframe, target, name, description=None, tags=None, "
    "show_progress=True, row_group_size=None, make_target_path_unique=True",
    TabularDataset.to_pandas_dataframe: "self, on_error='null', out_of_range_datetime='null'",
    TabularDataset.take_sample: "self, probability, seed=None",
    TabularDataset.random_split: "self, percentage, seed=None",
    TabularDataset.keep_columns: "self, columns, validate=False",
    TabularDataset.with_timestamp_columns: "self, timestamp=None, partition_timestamp=None, validate=False",
    TabularDataset.time_before: "self, end_time, include_boundary=True, validate=True",
    TabularDataset.time_after: "self, start_time, include_boundary=True, validate=True",
    TabularDataset.time_between: "self, start_time, end_time, include_boundary=True, validate=True",
    TabularDataset.time_recent: "self, time_delta, include_boundary=True, validate=True",
    TabularDataset.to_csv_files: "self, separator=','",
    DataType.to_float: "decimal_mark='.'",
    DataType.to_datetime: "formats=None",
    InteractiveLoginAuthentication.__init__: "self, force=False, tenant_id=None, cloud=None",
    ServicePrincipalAuthentication.__init__: "self, tenant_id, service_principal_id, service_principal_password, "
    "cloud='AzureCloud'",
    ArmTokenAuthentication.__init__: "self, arm_access_token, cloud=None",
    AzureCliAuthentication.__init__: "self, cloud=None",
    MsiAuthentication.__init__: "self, identity_config=None, cloud='AzureCloud'",
    ComputeInstance.provisioning_configuration: "vm_size='', ssh_public_access=False, admin_user_ssh_public_key=None, "
    "vnet_resourcegroup_name=None, vnet_name=None, subnet_name=None, tags=None, description=None",
    set_diagnostics_collection: "send_diagnostics=True, verbosity=None, reason='', path=None",
}


def positional(function: object) -> str:
    parameters = inspect.signature(function).parameters.values()  # type: ignore[arg-type]
    return ", ".join(
        p.name if p.default is p.empty else f"{p.name}={p.default!r}"
        for p in parameters
        if p.kind is p.POSITIONAL_OR_KEYWORD
    )


@pytest.mark.parametrize("function", SIGNATURES, ids=lambda function: function.__qualname__)
def test_the_parameters_are_azures(function: object):
    assert (positional(function) + ", ").startswith(SIGNATURES[function] + ", ")  # type: ignore[index]


@pytest.mark.parametrize("function", [Experiment.submit, Run.submit_child, Run.register_model, Run.log_row])
def test_some_functions_accept_further_keywords(function: object):
    kinds = {p.kind for p in inspect.signature(function).parameters.values()}  # type: ignore[arg-type]
    assert inspect.Parameter.VAR_KEYWORD in kinds
