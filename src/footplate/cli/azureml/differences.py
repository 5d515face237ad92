"""Uses that work, but in another way than on Azure. Keys are the names that `checker` reports, or a keyword of one."""

from __future__ import annotations

_TOKEN = "accepted and ignored; a team server reads its token from FOOTPLATE_TOKEN"
_NETWORK = "accepted and ignored: the nodes are your own machines"
_RESOURCE = "accepted and ignored: Footplate uses no Azure resources"
_SERVICES = "web services run on the server's machine"

DIFFERENCES = {
    "AbstractAuthentication": _TOKEN,
    "ArmTokenAuthentication": _TOKEN,
    "AzureCliAuthentication": _TOKEN,
    "InteractiveLoginAuthentication": _TOKEN,
    "MsiAuthentication": _TOKEN,
    "ServicePrincipalAuthentication": _TOKEN,
    "TokenAuthentication": _TOKEN,
    "AksCompute.attach_configuration": _SERVICES,
    "AksCompute.provisioning_configuration": _SERVICES,
    "AksConfiguration.enable_ssl": "does nothing: each service has its own certificate, in its deploy_configuration",
    "AmlCompute.provisioning_configuration": "a cluster limits how many nodes of your own machines run at once",
    "ComputeInstance.provisioning_configuration": "a cluster of one node, which is always on",
    "ComputeInstance.start": "does nothing: the machine is your own",
    "ComputeInstance.stop": "does nothing: the machine is your own",
    "ComputeTarget.attach": "adds a cluster on an engine of the server, such as a Slurm partition",
    "set_diagnostics_collection": "does nothing: Footplate collects no telemetry",
    "RunDetails.show": "shows the run once, and does not follow it",
    "Workspace.create": "creates a workspace of this server, in no cloud",
    "Datastore.register_azure_sql_database": "needs the ODBC driver of the database on the nodes",
}
"""Name of a class, function or method → what is different here."""

IGNORED_KEYWORDS: dict[str, dict[str, str]] = {
    "AmlCompute.provisioning_configuration": {
        **dict.fromkeys(
            (
                "admin_username", "admin_user_password", "admin_user_ssh_key", "vnet_resourcegroup_name", "vnet_name",
                "subnet_name", "remote_login_port_public_access", "identity_type", "identity_id", "location",
                "enable_node_public_ip",
            ),
            _NETWORK,
        ),
    },
    "Workspace.create": dict.fromkeys(
        (
            "storage_account", "key_vault", "app_insights", "container_registry", "adb_workspace", "cmk_keyvault",
            "resource_cmk_uri", "hbi_workspace", "private_endpoint_config", "sku", "create_resource_group",
        ),
        _RESOURCE,
    ),
}  # fmt: skip
"""Name of a method → its keywords that change nothing here."""

METHODS_OF_OTHER_RUNS = {
    "azureml.train.automl": "get_output get_best_child get_guardrails get_run_sdk_dependencies summarize",
}
"""Module → methods of its runs. `Experiment.submit` returns them on Azure, so that they look like methods of Run."""

KEYWORDS_OF_OTHER_PARTS = {
    "Experiment.submit": {
        "show_output": "azureml.train.automl",
    },
}
"""Name of a method with other keywords → its keywords that only other parts of Azure's SDK accept, and these parts."""
