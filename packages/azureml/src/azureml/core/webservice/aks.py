from footplate.sdk.models.aks_endpoint import AksEndpoint
from footplate.sdk.models.deployment_configuration import (
    AksServiceDeploymentConfiguration as AksServiceDeploymentConfiguration,
)
from footplate.sdk.models.webservice_kinds import AksWebservice

__all__ = ["AksEndpoint", "AksWebservice"]
