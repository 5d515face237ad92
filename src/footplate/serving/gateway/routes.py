"""Services as the server describes them in `routes.json`."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

MEGABYTE = 1 << 20
OLDER = ".1"
"""The ending of the file of samples before the present one."""


@dataclass(frozen=True)
class Limits:
    """Bounds of one service."""

    body_bytes: int = 100 * MEGABYTE
    timeout_seconds: float = 60.0
    queue: int = 1000
    max_batch: int = 32


@dataclass(frozen=True)
class Version:
    """One version of a service. `weight` is its share of the requests; a shadow gets copies of all of them.

    `sockets` are paths of workers on this machine, `tunnels` the runs of workers on others, which connect to us.
    `model_data` is the directory for rows that the latter collect. A version that may be rolled back has `rivals`, the
    versions from before it, and fails if it is `slower_times` slower than they are.
    """

    name: str
    weight: float = 100.0
    shadow: bool = False
    sockets: tuple[str, ...] = ()
    tunnels: tuple[str, ...] = ()
    model_data: str | None = None
    rivals: tuple[str, ...] = ()
    slower_times: float = 5.0


@dataclass(frozen=True)
class Service:
    """One service. `port` is a port of its own; every service is also reached by its name at the gateway's."""

    name: str
    workspace: str = ""
    port: int | None = None
    auth: str = "none"
    key_hashes: tuple[str, ...] = ()
    token_key: str | None = None
    limits: Limits = Limits()
    cors: tuple[str, ...] = ()
    tls: str | None = None  # a file with a certificate and its key: requests come only to its own port, encrypted
    versions: tuple[Version, ...] = ()
    collect: str | None = None  # a file that requests and responses are appended to
    collect_share: float = 0.0
    description: dict[str, Any] = field(default_factory=dict[str, Any])


def read_routes(path: Path) -> tuple[dict[str, Service], int | None, int | None]:
    """Return the services of a file, its revision, and the memory for bodies and answers.

    Raises ValueError for a file that is damaged.
    """
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        return {}, None, None
    document = json.loads(text)
    return parse_routes(document), document.get("revision"), document.get("memory")


def parse_routes(document: dict[str, Any]) -> dict[str, Service]:
    """Return the services of a document."""
    return {name: _service(name, dict(given)) for name, given in document.get("services", {}).items()}


def _service(name: str, given: dict[str, Any]) -> Service:
    versions = tuple(
        Version(
            key,
            float(v.get("weight", 100)),
            bool(v.get("shadow")),
            tuple(v.get("sockets", ())),
            tuple(v.get("tunnels", ())),
            v.get("model_data"),
            tuple(v.get("rivals", ())),
            float(v.get("slower_times", 5)),
        )
        for key, v in given.pop("versions", {}).items()
    )
    return Service(
        name,
        limits=Limits(**given.pop("limits", {})),
        versions=versions,
        key_hashes=tuple(given.pop("key_hashes", ())),
        cors=tuple(given.pop("cors", ())),
        **given,
    )
