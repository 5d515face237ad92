from footplate.sdk.models.deployment_configuration import (
    AciServiceDeploymentConfiguration as AciServiceDeploymentConfiguration,
)
from footplate.sdk.models.webservice_kinds import AciWebservice

__all__ = ["AciWebservice"]
