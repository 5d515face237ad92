"""Azure's ways to log in: accepted wherever Azure code hands one over, and not looked at.

On one machine the server trusts whoever may open its socket; a team server reads FOOTPLATE_TOKEN.
"""

from __future__ import annotations

from typing import Any


class AbstractAuthentication:
    def __init__(self, *arguments: Any, **keywords: Any) -> None:
        """Takes whatever the class of Azure takes and keeps none of it: there may be secrets in it."""


class InteractiveLoginAuthentication(AbstractAuthentication):
    pass


class ServicePrincipalAuthentication(AbstractAuthentication):
    pass


class AzureCliAuthentication(AbstractAuthentication):
    pass


class MsiAuthentication(AbstractAuthentication):
    pass
