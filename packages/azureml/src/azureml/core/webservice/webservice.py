from footplate.sdk.exceptions import WebserviceException
from footplate.sdk.models.deployment_configuration import (
    WebserviceDeploymentConfiguration as WebserviceDeploymentConfiguration,
)
from footplate.sdk.models.webservice import Webservice

__all__ = ["Webservice", "WebserviceException"]
