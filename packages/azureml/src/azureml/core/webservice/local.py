from footplate.sdk.models.deployment_configuration import (
    LocalWebserviceDeploymentConfiguration as LocalWebserviceDeploymentConfiguration,
)
from footplate.sdk.models.webservice_kinds import LocalWebservice

__all__ = ["LocalWebservice"]
