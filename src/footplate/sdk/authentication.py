"""Azure's ways to log in: accepted wherever Azure code hands one over, and not looked at.

On one machine the server trusts whoever may open its socket; a team server reads FOOTPLATE_TOKEN.
"""

from __future__ import annotations

import os
from typing import Any, Dict


class AbstractAuthentication:
    def __init__(self, *arguments: Any, **keywords: Any) -> None:
        """Takes whatever the class of Azure takes and keeps none of it: there may be secrets in it."""

    def get_authentication_header(self) -> Dict[str, str]:
        """What a request to the team server carries; on one machine nothing."""
        token = os.environ.get("FOOTPLATE_TOKEN")
        return {"Authorization": f"Bearer {token}"} if token else {}


class InteractiveLoginAuthentication(AbstractAuthentication):
    pass


class ServicePrincipalAuthentication(AbstractAuthentication):
    pass


class AzureCliAuthentication(AbstractAuthentication):
    pass


class MsiAuthentication(AbstractAuthentication):
    pass
