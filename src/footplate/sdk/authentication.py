"""Azure's authentication classes. They are accepted wherever Azure code passes one, and ignored.

On one machine the server trusts every process that may open its socket; for a team server, set FOOTPLATE_TOKEN.
No class keeps its arguments: they may be secrets.
"""

from __future__ import annotations

import os
from typing import Any, Dict, Optional

from footplate import environ
from footplate.sdk.values.wrong_types import explained


class AbstractAuthentication:
    """The base of Azure's authentication classes. Footplate accepts them wherever Azure code passes one.

    None of them is used: on one machine the server trusts every process that may open its socket; for a
    team server, set FOOTPLATE_TOKEN.

    Example:
        print(InteractiveLoginAuthentication().get_authentication_header())
    """

    def get_authentication_header(self) -> Dict[str, str]:
        """Return the headers of a request to a team server; on one machine there are none.

        Returns:
            The `Authorization` header with the token of FOOTPLATE_TOKEN, or an empty dict.
        """
        token = os.environ.get(environ.TOKEN)
        return {"Authorization": f"Bearer {token}"} if token else {}


@explained
class InteractiveLoginAuthentication(AbstractAuthentication):
    """Azure's login in a browser. It is accepted and does nothing.

    Args:
        force, tenant_id, cloud: Accepted and ignored.

    Example:
        ws = Workspace.from_config(auth=InteractiveLoginAuthentication(tenant_id="contoso"))
    """

    def __init__(self, force: bool = False, tenant_id: Optional[str] = None, cloud: Optional[str] = None) -> None:
        pass


@explained
class ServicePrincipalAuthentication(AbstractAuthentication):
    """Azure's login of a program. It is accepted and does nothing; the password is not kept.

    Args:
        tenant_id, service_principal_id, service_principal_password, cloud: Accepted and ignored.

    Example:
        auth = ServicePrincipalAuthentication("tenant", "client", "password")
        ws = Workspace.from_config(auth=auth)
    """

    def __init__(
        self,
        tenant_id: str,
        service_principal_id: str,
        service_principal_password: str,
        cloud: str = "AzureCloud",
        _enable_caching: bool = True,
    ) -> None:
        pass


@explained
class AzureCliAuthentication(AbstractAuthentication):
    """Azure's login with the `az` command. It is accepted and does nothing.

    Args:
        cloud: Accepted and ignored.

    Example:
        ws = Workspace.from_config(auth=AzureCliAuthentication())
    """

    def __init__(self, cloud: Optional[str] = None) -> None:
        pass


@explained
class MsiAuthentication(AbstractAuthentication):
    """Azure's login with a managed identity. It is accepted and does nothing.

    Args:
        identity_config, cloud: Accepted and ignored.

    Example:
        ws = Workspace.from_config(auth=MsiAuthentication())
    """

    def __init__(self, identity_config: Optional[Dict[str, Any]] = None, cloud: str = "AzureCloud") -> None:
        pass


@explained
class ArmTokenAuthentication(AbstractAuthentication):
    """Azure's login with a token of its resource manager. It is accepted and does nothing; the token is not kept.

    Args:
        arm_access_token, cloud: Accepted and ignored.

    Example:
        auth = ArmTokenAuthentication("token")
        auth.update_arm_access_token("a newer token")
        ws = Workspace.from_config(auth=auth)
    """

    def __init__(self, arm_access_token: str, cloud: Optional[str] = None) -> None:
        pass

    def update_arm_access_token(self, arm_access_token: str) -> None:
        """Accept a new token, and ignore it.

        Args:
            arm_access_token: Accepted and ignored.
        """


@explained
class TokenAuthentication(AbstractAuthentication):
    """Azure's login with a token. It is accepted and does nothing; the function is never called.

    Args:
        get_token_for_audience, cloud: Accepted and ignored.

    Example:
        ws = Workspace.from_config(auth=TokenAuthentication(lambda audience: "token"))
    """

    def __init__(self, get_token_for_audience: Any, cloud: str = "AzureCloud") -> None:
        pass
