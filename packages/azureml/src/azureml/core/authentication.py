from footplate.sdk.authentication import (
    AbstractAuthentication,
    ArmTokenAuthentication,
    AzureCliAuthentication,
    InteractiveLoginAuthentication,
    MsiAuthentication,
    ServicePrincipalAuthentication,
    TokenAuthentication,
)
from footplate.sdk.exceptions import AuthenticationException

__all__ = [
    "AbstractAuthentication",
    "ArmTokenAuthentication",
    "AuthenticationException",
    "AzureCliAuthentication",
    "InteractiveLoginAuthentication",
    "MsiAuthentication",
    "ServicePrincipalAuthentication",
    "TokenAuthentication",
]
