"""The files between the server and the gateway, as values: `routes.json`, `status.json` and `gateway.json`.

The server writes the routes, and the gateway the others. Either may be older than the other: a missing key takes the
default and an unknown one is ignored. Gateways of 0.1.0 refuse unknown keys of a service.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Dict, List, Optional, Tuple

from footplate.domain.serving.endpoints import RequestLimits
from footplate.domain.serving.rollouts import VersionFigures

OLDER = ".1"
"""The ending of the file of samples before the present one."""


@dataclass(frozen=True)
class VersionRoute:
    """One version of a service. `weight` is its share of the requests; a shadow gets copies of all of them.

    `sockets` are paths of workers on this machine, `tunnels` the runs of workers on others, which connect to the
    gateway. `model_data` is the directory for rows that the latter collect. A version that may be rolled back has
    `rivals`, the versions from before it, and fails if it is `slower_times` slower than they are.
    """

    weight: float = 100.0
    shadow: bool = False
    sockets: Tuple[str, ...] = ()
    tunnels: Tuple[str, ...] = ()
    model_data: Optional[str] = None
    rivals: Tuple[str, ...] = ()
    slower_times: float = 5.0


@dataclass(frozen=True)
class ServiceRoute:
    """One service. `port` is a port of its own; every service is also reached by its name at the gateway's.

    `tls` is a file with a certificate and its key: requests come only to its own port, encrypted. `collect` is a file
    that samples of requests and responses are appended to.
    """

    workspace: str = ""
    port: Optional[int] = None
    auth: str = "none"
    key_hashes: Tuple[str, ...] = ()
    token_key: Optional[str] = None
    limits: RequestLimits = field(default_factory=RequestLimits)
    cors: Tuple[str, ...] = ()
    tls: Optional[str] = None
    collect: Optional[str] = None
    collect_share: float = 0.0
    versions: Dict[str, VersionRoute] = field(default_factory=lambda: {})


@dataclass(frozen=True)
class Routes:
    """`routes.json`: the services by name. `memory` bounds the bodies and unread answers of all of them."""

    revision: Optional[int] = None
    memory: Optional[int] = None
    services: Dict[str, ServiceRoute] = field(default_factory=lambda: {})


@dataclass(frozen=True)
class GatewayStatus:
    """`status.json`: figures of each version by service, and the revision of the routes that the gateway follows."""

    time: float = 0.0
    pid: int = 0
    revision: Optional[int] = None
    services: Dict[str, Dict[str, VersionFigures]] = field(default_factory=lambda: {})
    ports: List[int] = field(default_factory=lambda: [])

    def figures(self, service: str, version: int) -> Optional[VersionFigures]:
        """Return the figures of a version; None if the gateway has none."""
        return self.services.get(service, {}).get(str(version))


@dataclass(frozen=True)
class GatewayAddress:
    """`gateway.json`: where the gateway listens."""

    pid: int
    port: int
    url: str
