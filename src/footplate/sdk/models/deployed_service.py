"""A deployed service: its attributes, its keys and tokens, its logs, and requests to it."""

from __future__ import annotations

import json
import ssl
import urllib.error
import urllib.request
from datetime import datetime
from typing import Any, Dict, List, Mapping, Optional, Tuple, Union, cast
from urllib.parse import urlsplit

from footplate.api.endpoints import EndpointsApi
from footplate.domain.serving.endpoints import READY, EndpointView, VersionSpec, VersionView
from footplate.sdk.exceptions import WebserviceException
from footplate.sdk.handles import WorkspaceHandle as Workspace
from footplate.sdk.models.registration import KINDS
from footplate.sdk.values.timestamps import utc_time
from footplate.sdk.values.wrong_types import explained

_PARTIAL_CHAIN = 0x80000
"""OpenSSL's flag that trusts a certificate itself and not only its issuer; Python 3.10 names it."""


def send(
    name: str,
    address: str,
    data: Union[str, bytes],
    headers: Mapping[str, str],
    seconds: float,
    trusted: Optional[str] = None,
) -> Any:
    """Return the decoded answer: JSON, or text if it is not. Other statuses than 200 are a WebserviceException.

    `trusted` is the certificate of the service, as the server knows it, which also may be signed by nobody.
    """
    body = data.encode() if isinstance(data, str) else data
    request = urllib.request.Request(address, body, {"Content-Type": "application/json", **headers})
    try:
        with _opener(address, trusted).open(request, timeout=seconds) as response:
            content = response.read()
    except urllib.error.HTTPError as error:
        text = error.read().decode("utf-8", "replace")
        raise WebserviceException(
            f"service {name} answered with status {error.code}: {_message(text)}",
            status_code=error.code,
            hint=see_logs(name),
        ) from None
    except OSError as error:
        raise WebserviceException(
            f"service {name} cannot be reached at {address}: {error}",
            hint=f"see service.state, or: footplate endpoints show {name}",
        ) from None
    try:
        return json.loads(content)
    except ValueError:
        return content.decode("utf-8", "replace")


def see_logs(name: str) -> str:
    """Return the hint that names the logs of a service."""
    return f"see service.get_logs(), or: footplate endpoints logs {name}"


def _opener(address: str, trusted: Optional[str]) -> urllib.request.OpenerDirector:
    """Return an opener that uses the proxy of the environment, but not for a service on this machine."""
    local = urlsplit(address).hostname in ("127.0.0.1", "::1", "localhost")
    handlers: List[urllib.request.BaseHandler] = [urllib.request.ProxyHandler({})] if local else []
    if trusted is not None:
        context = ssl.create_default_context()
        context.load_verify_locations(cadata=trusted)
        context.verify_flags |= _PARTIAL_CHAIN
        handlers.append(urllib.request.HTTPSHandler(context=context))
    return urllib.request.build_opener(*handlers)


def _message(text: str) -> str:
    try:
        answer = json.loads(text)
    except ValueError:
        return text[:2000]
    return str(cast("Dict[str, Any]", answer).get("message", text) if isinstance(answer, dict) else text)[:2000]


@explained
class DeployedService:
    workspace: Workspace
    view: EndpointView  # the server's record, as last read

    def update_deployment_state(self) -> None:
        """Read the service from the server again.

        Raises:
            WebserviceException: It does not exist any more.
        """
        self._refresh()

    def _refresh(self, wait: Optional[float] = None) -> EndpointView:
        revision = None if wait is None else self.view.revision
        self.view = self._api.get(self.workspace.id, self.name, revision=revision, wait=wait)
        return self.view

    @property
    def _api(self) -> EndpointsApi:
        return self.workspace.session.api_for(KINDS).endpoints

    @property
    def name(self) -> str:
        """The name, unique in the workspace."""
        return self.view.name

    @property
    def state(self) -> str:
        """The state now: `Transitioning`, `Healthy`, `Unhealthy` or `Failed`."""
        return self._refresh().state

    @property
    def error(self) -> Optional[Dict[str, Any]]:
        """Why the last change did not succeed; None if it did."""
        cause = self._refresh().cause
        if cause is None:
            return None
        return {"code": cause.code, "message": cause.message, "details": list(cause.last_lines)}

    @property
    def swagger_uri(self) -> Optional[str]:
        """The address of the service's OpenAPI document."""
        return self._address("swagger.json")

    def _address(self, tail: str) -> Optional[str]:
        url = self.view.url or self._refresh().url
        return None if url is None else url + tail

    @property
    def compute_type(self) -> str:
        """`ACI`, `AKS`, `AKSENDPOINT` or `Local`."""
        return self.view.settings.kind

    @property
    def auth_enabled(self) -> bool:
        """Whether requests need a key."""
        return self.view.settings.auth == "key"

    @property
    def token_auth_enabled(self) -> bool:
        """Whether requests need a token."""
        return self.view.settings.auth == "token"

    @property
    def description(self) -> Optional[str]:
        """The description."""
        return self.view.settings.description

    @property
    def tags(self) -> Dict[str, Optional[str]]:
        """The tags, as last read from the server."""
        return dict(self.view.settings.tags)

    @property
    def properties(self) -> Dict[str, str]:
        """The properties, as last read from the server."""
        return dict(self.view.settings.properties)

    @property
    def created_time(self) -> datetime:
        """The time of the first deployment."""
        return utc_time(self.view.created)

    @property
    def updated_time(self) -> datetime:
        """The time of the last change."""
        return utc_time(self.view.modified)

    @property
    def cpu_cores(self) -> Optional[float]:
        """The CPUs of a replica; None without a limit."""
        return self._spec.cpu_cores

    @property
    def memory_gb(self) -> Optional[float]:
        """The memory of a replica in GB; None without a limit."""
        return self._spec.memory_gb

    @property
    def num_replicas(self) -> int:
        """The number of replicas."""
        return self._version.replicas

    @property
    def environment(self) -> Any:
        """The environment of the newest version, as the server knows it."""
        return self._spec.environment

    @property
    def versions(self) -> List[VersionView]:
        """Every version, with its share of the requests and the figures of the last minute."""
        return list(self._refresh().versions)

    @property
    def _version(self) -> VersionView:
        """The newest version that takes requests, or the newest."""
        ready = [version for version in self.view.versions if version.state == READY and not version.shadow]
        return (ready or list(self.view.versions))[-1]

    @property
    def _spec(self) -> VersionSpec:
        return self._version.spec

    def _authorization(self) -> Dict[str, str]:
        if self.auth_enabled:
            return {"Authorization": f"Bearer {self.get_keys()[0]}"}
        return {"Authorization": f"Bearer {self.get_access_token().access_token}"} if self.token_auth_enabled else {}

    def get_logs(self, num_lines: int = 5000, init: bool = False) -> str:
        """Return the last lines that the replicas of the newest version wrote.

        A first line says how much was cut from a log that was too large.

        Args:
            num_lines: How many lines.
            init: Accepted and ignored.

        Returns:
            The text.
        """
        return self._api.logs(self.workspace.id, self.name, lines=num_lines).complete()

    def get_keys(self) -> Tuple[str, str]:
        """Return the two keys of the service.

        Returns:
            The primary and the secondary key.

        Raises:
            WebserviceException: The service does not use keys.

        Example:
            def headers(service: AksWebservice) -> None:
                print({"Authorization": f"Bearer {service.get_keys()[0]}"})
        """
        keys = self._api.keys(self.workspace.id, self.name)
        return keys.primary, keys.secondary

    def regen_key(self, key: str, set_key: Optional[str] = None) -> None:
        """Replace a key.

        Args:
            key: `Primary` or `Secondary`.
            set_key: The new key; a random one by default.

        Raises:
            WebserviceException: `key` is something else, or the service does not use keys.

        Example:
            def rotate(service: AksWebservice) -> None:
                service.regen_key("Primary")
        """
        which = str(key).lower()
        if which not in ("primary", "secondary"):
            raise WebserviceException(f"key is {key!r}", hint="use 'Primary' or 'Secondary'")
        self._api.keys(self.workspace.id, self.name, renew=which, value=set_key)

    def get_token(self) -> Tuple[str, datetime]:
        """Return a token for requests.

        Returns:
            The token, and the time after which to get another.

        Raises:
            WebserviceException: The service does not use tokens.

        Example:
            def token(service: AksWebservice) -> None:
                token, refresh_after = service.get_token()
        """
        token = self.get_access_token()
        return token.access_token, token.refresh_after

    def get_access_token(self) -> AksServiceAccessToken:
        """Return a token for requests, as an object.

        Returns:
            The token, with `access_token`, `refresh_after`, `expiry_on` and `token_type`.

        Raises:
            WebserviceException: The service does not use tokens.

        Example:
            def token(service: AksWebservice) -> None:
                print(service.get_access_token().expiry_on)
        """
        token = self._api.token(self.workspace.id, self.name)
        return AksServiceAccessToken(token.token, utc_time(token.refresh_after), utc_time(token.expires))


class AksServiceAccessToken:
    """A token of a service, and when to renew it."""

    def __init__(self, access_token: str, refresh_after: datetime, expiry_on: datetime) -> None:
        self.access_token = access_token
        self.refresh_after = refresh_after
        self.expiry_on = expiry_on
        self.token_type = "Bearer"


def show(show_output: bool, text: str, end: str = "\n") -> None:
    """Print for a caller that wants to see progress."""
    if show_output:
        print(text, end=end, flush=True)
