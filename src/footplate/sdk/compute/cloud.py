"""Compute classes that exist only on Azure. Scripts may import them; using one raises an error."""

from __future__ import annotations

from typing import Any, NoReturn, Optional

from footplate.sdk.compute.configurations import AmlComputeProvisioningConfiguration
from footplate.sdk.compute.targets import ComputeTarget
from footplate.sdk.exceptions import ComputeTargetException
from footplate.sdk.values.warn import warn_caller, warn_without_effect, without_effect
from footplate.sdk.values.wrong_types import explained


class _CloudCompute(ComputeTarget):
    """A compute class of Azure's. Its constructor finds a cluster by name, or raises ComputeTargetException."""

    @classmethod
    def attach_configuration(cls, *args: Any, **kwargs: Any) -> NoReturn:
        """Raise an error: this kind of compute exists only on Azure.

        Args:
            *args, **kwargs: Ignored.

        Raises:
            ComputeTargetException: Always; the hint names the way to create a cluster of your own machines.

        Example:
            try:
                KubernetesCompute.attach_configuration()
            except ComputeTargetException as error:
                print(error.message)
        """
        raise ComputeTargetException(
            f"{cls.__name__} exists only on Azure; Footplate runs on your own machines",
            hint="create a cluster of your machines: AmlCompute.provisioning_configuration(max_nodes=4)",
        )

    provisioning_configuration = attach_configuration


class AdlaCompute(_CloudCompute):
    """Azure Data Lake Analytics. Footplate does not have it; using it raises an error.

    Example:
        try:
            AdlaCompute.attach_configuration(resource_group="group", account_name="account")
        except ComputeTargetException as error:
            print(error.message)
    """


class AksConfiguration(AmlComputeProvisioningConfiguration):
    """A cluster for web services, as `AksCompute` describes it."""

    def __init__(self, agent_count: int) -> None:
        super().__init__(0, agent_count, 1800.0, {"description": "for web services"})

    def enable_ssl(
        self,
        ssl_cname: Optional[str] = None,
        ssl_cert_pem_file: Optional[str] = None,
        ssl_key_pem_file: Optional[str] = None,
        leaf_domain_label: Optional[str] = None,
        overwrite_existing_domain: bool = False,
    ) -> None:
        """Warn that a cluster has no certificate here: each service has its own."""
        warn_caller(
            "enable_ssl has no effect here: each service has its own certificate\n"
            "hint: AksWebservice.deploy_configuration(ssl_enabled=True, ssl_cert_pem_file=…, ssl_key_pem_file=…)"
        )


@explained
class AksCompute(ComputeTarget):
    """A cluster for web services. Here every service runs on the server's machine, and the name is kept for scripts.

    Example:
        cluster = ComputeTarget.create(ws, "aks", AksCompute.provisioning_configuration(agent_count=1))
        print(cluster.provisioning_state, AksCompute.attach_configuration("group", "cluster").max_nodes)
        cluster.delete()
    """

    class ClusterPurpose:
        """Azure's sizes of clusters for web services, as `cluster_purpose` names them."""

        FAST_PROD = "FastProd"
        DENSE_PROD = "DenseProd"
        DEV_TEST = "DevTest"

    @classmethod
    def provisioning_configuration(cls, agent_count: Optional[int] = None, **options: Any) -> AksConfiguration:
        """Describe a cluster for web services. Its `enable_ssl` warns that each service has its own certificate.

        Args:
            agent_count: The number of nodes, 3 by default.
            **options: Azure's other options, which have no effect; a warning says so.

        Returns:
            A configuration for `ComputeTarget.create`.
        """
        warn_without_effect(without_effect("services run on the server's machine", **options))
        return AksConfiguration(agent_count or 3)

    @classmethod
    def attach_configuration(cls, *_: Any, **__: Any) -> AksConfiguration:
        """Describe a cluster for web services that exists on Azure. Its address is accepted and ignored.

        Returns:
            A configuration for `ComputeTarget.attach`, of three nodes.
        """
        return cls.provisioning_configuration()


class BatchCompute(_CloudCompute):
    """Azure Batch. Footplate does not have it; using it raises an error.

    Example:
        try:
            BatchCompute.attach_configuration(resource_group="group", account_name="account")
        except ComputeTargetException as error:
            print(error.message)
    """


class DatabricksCompute(_CloudCompute):
    """Azure Databricks. Footplate does not have it; using it raises an error.

    Example:
        try:
            DatabricksCompute.attach_configuration(resource_group="group", workspace_name="bricks")
        except ComputeTargetException as error:
            print(error.message)
    """


class DataFactoryCompute(_CloudCompute):
    """Azure Data Factory. Footplate does not have it; using it raises an error.

    Example:
        try:
            DataFactoryCompute.provisioning_configuration(location="westeurope")
        except ComputeTargetException as error:
            print(error.message)
    """


class DsvmCompute(_CloudCompute):
    """A data science VM of Azure. Footplate does not have it; using it raises an error.

    Example:
        try:
            DsvmCompute.provisioning_configuration(vm_size="Standard_D2_v2")
        except ComputeTargetException as error:
            print(error.message)
    """


class HDInsightCompute(_CloudCompute):
    """A Spark cluster of Azure. Footplate does not have it; using it raises an error.

    Example:
        try:
            HDInsightCompute.attach_configuration(username="ada", address="spark.example.com")
        except ComputeTargetException as error:
            print(error.message)
    """


class KubernetesCompute(_CloudCompute):
    """A Kubernetes cluster that is attached to Azure. Footplate does not have it; using it raises an error.

    Example:
        try:
            KubernetesCompute.attach_configuration(resource_id="/subscriptions/…")
        except ComputeTargetException as error:
            print(error.message)
    """


class RemoteCompute(_CloudCompute):
    """A machine that Azure reaches over SSH. Footplate does not have it; using it raises an error.

    Example:
        try:
            RemoteCompute.attach_configuration(address="10.0.0.1", ssh_port=22, username="ada")
        except ComputeTargetException as error:
            print(error.message)
    """


class SynapseCompute(_CloudCompute):
    """A Spark pool of Azure Synapse. Footplate does not have it; using it raises an error.

    Example:
        try:
            SynapseCompute.attach_configuration(None, type="SynapseSpark", pool_name="pool")
        except ComputeTargetException as error:
            print(error.message)
    """
