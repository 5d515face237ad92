"""Azure's authentication classes. They are accepted wherever Azure code passes one, and ignored.

On one machine the server trusts every process that may open its socket; for a team server, set FOOTPLATE_TOKEN.
"""

from __future__ import annotations

import os
from typing import Any, Dict

from footplate import environ


class AbstractAuthentication:
    def __init__(self, *arguments: Any, **keywords: Any) -> None:
        """Accept any arguments and keep none of them: they may be secrets."""

    def get_authentication_header(self) -> Dict[str, str]:
        """Return the headers of a request to a team server; on one machine there are none."""
        token = os.environ.get(environ.TOKEN)
        return {"Authorization": f"Bearer {token}"} if token else {}


class InteractiveLoginAuthentication(AbstractAuthentication):
    pass


class ServicePrincipalAuthentication(AbstractAuthentication):
    pass


class AzureCliAuthentication(AbstractAuthentication):
    pass


class MsiAuthentication(AbstractAuthentication):
    pass
