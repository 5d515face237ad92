from __future__ import annotations

from footplate.sdk.authentication import (
    AbstractAuthentication,
    AzureCliAuthentication,
    InteractiveLoginAuthentication,
    MsiAuthentication,
    ServicePrincipalAuthentication,
    TokenAuthentication,
)
from footplate.sdk.exceptions import AuthenticationException

__all__ = [
    "AbstractAuthentication",
    "AuthenticationException",
    "AzureCliAuthentication",
    "InteractiveLoginAuthentication",
    "MsiAuthentication",
    "ServicePrincipalAuthentication",
    "TokenAuthentication",
]
