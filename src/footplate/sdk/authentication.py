"""Azure's authentication classes. They are accepted wherever Azure code passes one, and ignored.

On one machine the server trusts every process that may open its socket; for a team server, set FOOTPLATE_TOKEN.
No class keeps its arguments: they may be secrets.
"""

from __future__ import annotations

import os
from typing import Any, Dict, Optional

from footplate import environ


class AbstractAuthentication:
    def get_authentication_header(self) -> Dict[str, str]:
        """Return the headers of a request to a team server; on one machine there are none."""
        token = os.environ.get(environ.TOKEN)
        return {"Authorization": f"Bearer {token}"} if token else {}


class InteractiveLoginAuthentication(AbstractAuthentication):
    def __init__(self, force: bool = False, tenant_id: Optional[str] = None, cloud: Optional[str] = None) -> None:
        pass


class ServicePrincipalAuthentication(AbstractAuthentication):
    def __init__(
        self,
        tenant_id: str,
        service_principal_id: str,
        service_principal_password: str,
        cloud: str = "AzureCloud",
        _enable_caching: bool = True,
    ) -> None:
        pass


class AzureCliAuthentication(AbstractAuthentication):
    def __init__(self, cloud: Optional[str] = None) -> None:
        pass


class MsiAuthentication(AbstractAuthentication):
    def __init__(self, identity_config: Optional[Dict[str, Any]] = None, cloud: str = "AzureCloud") -> None:
        pass


class TokenAuthentication(AbstractAuthentication):
    def __init__(self, get_token_for_audience: Any, cloud: str = "AzureCloud") -> None:
        pass
