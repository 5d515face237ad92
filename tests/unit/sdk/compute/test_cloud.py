"""Compute classes of Azure's cloud, as scripts use them here."""

from __future__ import annotations

import pytest

from azureml.core.compute import AksCompute, KubernetesCompute
from footplate.sdk.exceptions import ComputeTargetException


@pytest.mark.parametrize(
    "options",
    [
        {"ssl_cname": "www.contoso.com", "ssl_cert_pem_file": "cert.pem", "ssl_key_pem_file": "key.pem"},
        {"leaf_domain_label": "contoso", "overwrite_existing_domain": True},
    ],
)
def test_enable_ssl_of_a_cluster_names_the_setting_of_a_service(options: dict[str, str]) -> None:
    for config in (
        AksCompute.provisioning_configuration(agent_count=2),
        AksCompute.attach_configuration(resource_group="group", cluster_name="aks"),
    ):
        with pytest.warns(UserWarning, match=r"enable_ssl has no effect.*\nhint: AksWebservice.deploy_configuration"):
            config.enable_ssl(**options)  # pyright: ignore[reportArgumentType]
    assert AksCompute.provisioning_configuration(agent_count=2).max_nodes == 2


def test_a_compute_that_only_azure_has_raises_an_error_with_a_hint() -> None:
    with pytest.raises(ComputeTargetException, match="KubernetesCompute exists only on Azure") as raised:
        KubernetesCompute.attach_configuration(resource_id="/subscriptions/x")
    assert "hint: create a cluster" in str(raised.value)
