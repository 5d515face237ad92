"""A web service as a client describes it, as the server keeps it, and as people see it.

A service has settings, which apply at once, and versions. A version is frozen: its models, its code, its environment
and its resources. Each version is a run of the kind group, and each of its replicas is a child of that run.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, field
from typing import Any, Dict, Optional, Tuple

from footplate.domain.orders import Cause
from footplate.domain.specs import EnvironmentSpec
from footplate.errors import InvalidInput, NotFound

NAME = re.compile(r"[a-z]([-a-z0-9]*[a-z0-9])?")
ORIGIN = re.compile(r"\*|[a-z][-+.a-z0-9]*://[^/?#@\s]+")
KINDS = ("ACI", "AKS", "AKSENDPOINT", "Local")
AUTHENTICATION = ("none", "key", "token")
MAX_REPLICAS = 100

STARTING, READY, DRAINING, STOPPED, FAILED = "starting", "ready", "draining", "stopped", "failed"
"""States of a version. Only a version that is ready takes requests."""

TRANSITIONING, HEALTHY, UNHEALTHY, BROKEN, DELETING = "Transitioning", "Healthy", "Unhealthy", "Failed", "Deleting"
"""States of a service, in Azure's words."""


@dataclass(frozen=True)
class Replicas:
    """How many workers a version has: `minimum`, or up to `maximum` by the number of requests that wait for each.

    With a minimum of 0 the last worker stops after `idle_seconds` without a request; the next request waits for a new
    one.
    """

    minimum: int = 1
    maximum: int = 1
    queue_per_replica: float = 4.0
    idle_seconds: float = 300.0


@dataclass(frozen=True)
class VersionSpec:
    """The contents of one version. `models` are ids, `name:version`.

    Without an entry script the one model is served without code. `environment` None: that of the run which trained
    the model. A version with a `name` stays beside those of other names, and replaces the one of its own.
    `cpu_cores` and `memory_gb` are limits of one replica; None: no limit. `target` is the compute target whose nodes
    the replicas run on; None, or one on the server's own machine: that machine. `definition` is the version in the
    words of the client's own API, which the server does not read.
    """

    models: Tuple[str, ...] = ()
    entry_script: Optional[str] = None
    snapshot: Optional[str] = None
    environment: Optional[EnvironmentSpec] = None
    lock: Optional[str] = None
    environment_variables: Dict[str, str] = field(default_factory=lambda: {})
    cpu_cores: Optional[float] = None
    memory_gb: Optional[float] = None
    gpus: int = 0
    replicas: Replicas = Replicas()
    description: Optional[str] = None
    definition: Dict[str, Any] = field(default_factory=lambda: {})
    name: Optional[str] = None
    target: Optional[str] = None


@dataclass(frozen=True)
class RequestLimits:
    """Bounds of the gateway for one service."""

    body_bytes: int = 100 << 20
    timeout_seconds: float = 60.0
    queue: int = 1000
    max_batch: int = 32


@dataclass(frozen=True)
class Rollback:
    """When a new version gives its share of the requests back: too many errors, or too slow, compared with the old one.

    The old version stays for `seconds` after a new one has taken over. With 0 it stops at once.
    """

    seconds: float = 0.0
    error_share: float = 0.05
    slower_times: float = 5.0
    least_requests: int = 20


@dataclass(frozen=True)
class CertificateFiles:
    """A certificate with its chain and its key, both as PEM; `cname` is the name by which clients reach the service."""

    certificate: str
    key: str = field(repr=False)
    cname: Optional[str] = None


@dataclass(frozen=True)
class ServiceTls:
    """The certificate that a service has, without its key. Only the server makes one."""

    certificate: str
    cname: Optional[str]
    fingerprint: str
    expires: float


@dataclass(frozen=True)
class ServiceSettings:
    """Settings of a service. `kind`: the client API's name for its type; `port`: a port of its own.

    `tls` can be kept or removed by a client; the server sets it when the client sends a certificate. Where versions
    have names, the one named `default_version` gets the requests that the shares of the others leave.
    """

    kind: str = "ACI"
    auth: str = "none"
    port: Optional[int] = None
    limits: RequestLimits = RequestLimits()
    cors: Tuple[str, ...] = ()
    collect_share: float = 0.0
    start_seconds: float = 600.0
    rollback: Rollback = Rollback()
    tls: Optional[ServiceTls] = None
    default_version: Optional[str] = None
    description: Optional[str] = None
    tags: Dict[str, Optional[str]] = field(default_factory=lambda: {})
    properties: Dict[str, str] = field(default_factory=lambda: {})


@dataclass(frozen=True)
class VersionShare:
    """The share of the requests that a version had at some time."""

    number: int
    weight: float
    shadow: bool = False


@dataclass(frozen=True)
class VersionRecord:
    """One version as the server keeps it. `run` is its group.

    `weight` is its share of the requests once it is ready; `goal` is the share that it gets when it becomes ready, and
    that a version with a name keeps unless it is the default one. `before` has the shares of the others from before it
    took requests, which a rollback restores.
    """

    number: int
    run: str
    spec: VersionSpec
    created: float
    state: str = STARTING
    weight: float = 0.0
    goal: float = 100.0
    shadow: bool = False
    replicas: int = 1
    since: float = 0.0  # when it entered this state
    busy: float = 0.0  # when it last had requests
    cause: Optional[Cause] = None
    before: Tuple[VersionShare, ...] = ()


@dataclass(frozen=True)
class EndpointRecord:
    """A service as the server keeps it. `route` is its name at the gateway, which is unique among all workspaces."""

    workspace: str
    name: str
    route: str
    created: float
    modified: float
    settings: ServiceSettings = ServiceSettings()
    versions: Tuple[VersionRecord, ...] = ()
    revision: int = 0
    deleting: bool = False
    cause: Optional[Cause] = None  # why the last change did not succeed
    created_by: str = ""
    person: Optional[str] = None  # owns it; None is the owner of the server

    @property
    def next_number(self) -> int:
        return 1 + max((version.number for version in self.versions), default=0)


@dataclass(frozen=True)
class VersionView:
    """One version as people see it, with the figures of the last minute."""

    number: int
    run: str
    state: str
    weight: float
    shadow: bool
    created: float
    spec: VersionSpec
    replicas: int = 0
    healthy: int = 0
    requests: int = 0
    errors: int = 0
    queue: int = 0
    retries: int = 0
    shadow_differences: int = 0
    p50_seconds: Optional[float] = None
    p99_seconds: Optional[float] = None
    cause: Optional[Cause] = None
    goal: float = 100.0
    waiting: Optional[str] = None  # why replicas have not started


@dataclass(frozen=True)
class EndpointView:
    """A service as people see it."""

    workspace: str
    name: str
    state: str
    created: float
    modified: float
    revision: int
    settings: ServiceSettings = ServiceSettings()
    versions: Tuple[VersionView, ...] = ()
    cause: Optional[Cause] = None
    url: Optional[str] = None  # without the final "score"; None until the gateway has a port
    created_by: str = ""


@dataclass(frozen=True)
class ServiceKeys:
    """The keys of a service. Either opens it, so that one can be replaced while clients use the other."""

    primary: str = field(repr=False)
    secondary: str = field(repr=False)


@dataclass(frozen=True)
class ServiceToken:
    """A token that opens a service. Times are seconds since the epoch."""

    token: str = field(repr=False)
    expires: float
    refresh_after: float


@dataclass(frozen=True)
class ServiceLog:
    """The last lines of the replicas' logs, and lines about what was cut from the logs before them."""

    text: str
    cut: Tuple[str, ...] = ()

    def complete(self) -> str:
        """Return the text, after the lines about cuts that it does not have itself."""
        lines = set(self.text.splitlines())
        return "\n".join([*(line for line in self.cut if line not in lines), self.text])


def check_service_name(name: str) -> None:
    if not NAME.fullmatch(name) or not 3 <= len(name) <= 32:
        raise InvalidInput(
            f"{name!r} is not a service name",
            "use 3 to 32 lower-case letters, digits and '-', starting with a letter and ending with a letter or digit",
        )


def check_settings(settings: ServiceSettings) -> None:
    """Raise InvalidInput for settings that the gateway cannot follow."""
    if settings.kind not in KINDS:
        raise InvalidInput(f"service kind {settings.kind!r} is unknown", f"use one of {', '.join(KINDS)}")
    if settings.auth not in AUTHENTICATION:
        raise InvalidInput(f"authentication {settings.auth!r} is unknown", f"use one of {', '.join(AUTHENTICATION)}")
    if settings.port is not None and not 0 < settings.port < 65536:
        raise InvalidInput(f"port is {settings.port}", "give a number between 1 and 65535, or none")
    limits = settings.limits
    bounds = {
        "body_bytes": limits.body_bytes, "timeout_seconds": limits.timeout_seconds, "queue": limits.queue,
        "max_batch": limits.max_batch, "start_seconds": settings.start_seconds,
    }  # fmt: skip
    for name, value in bounds.items():
        if not 0 < value < math.inf:
            raise InvalidInput(f"{name} is {value:g}", "give a positive number")
    if not 0 <= settings.rollback.seconds < math.inf:
        raise InvalidInput(f"rollback seconds is {settings.rollback.seconds:g}", "give 0 or more")
    if not 0 <= settings.collect_share <= 1:
        raise InvalidInput(f"collect_share is {settings.collect_share:g}", "give a share between 0 and 1")
    for origin in settings.cors:
        check_origin(origin)


def check_origin(origin: str) -> None:
    if not ORIGIN.fullmatch(origin):
        raise InvalidInput(f"{origin!r} is not the origin of a web page", "write https://app.example.com; * is any")


def check_version(spec: VersionSpec) -> None:
    """Raise InvalidInput for a version that cannot be started."""
    if spec.entry_script is None and len(spec.models) != 1:
        raise InvalidInput(
            f"{len(spec.models)} models were given and no entry script",
            "give exactly one model, or an entry script that loads them: InferenceConfig(entry_script=…)",
        )
    if spec.entry_script is not None and spec.snapshot is None:
        raise InvalidInput(f"the entry script {spec.entry_script!r} has no source folder", "send its snapshot first")
    for name, value in (("cpu_cores", spec.cpu_cores), ("memory_gb", spec.memory_gb)):
        if value is not None and not 0 < value < math.inf:
            raise InvalidInput(f"{name} is {value:g}", "give a positive number, or none for no limit")
    if spec.gpus < 0:
        raise InvalidInput(f"gpus is {spec.gpus}", "give 0 or more")
    if spec.name is not None and (not NAME.fullmatch(spec.name) or len(spec.name) > 32):
        raise InvalidInput(
            f"{spec.name!r} is not the name of a version",
            "use at most 32 lower-case letters, digits and '-', starting with a letter",
        )
    check_replicas(spec.replicas)


def check_goal(goal: float) -> None:
    if not 0 <= goal <= 100:
        raise InvalidInput(f"the share of the version is {goal:g}", "give a percentage from 0 to 100")


def check_new_version(record: EndpointRecord, new: VersionRecord) -> None:
    """Raise InvalidInput if a version, new or changed, cannot stand beside the others of its service."""
    others = [v for v in record.versions if v.state in (STARTING, READY) and v.number != new.number]
    if others and {v.spec.name is None for v in others} != {new.spec.name is None}:
        raise InvalidInput(
            f"some versions of {record.name!r} would have a name and others none",
            "AksEndpoint.create_version and update_version name them; services of other kinds have no names",
        )
    if new.spec.name is None:
        return
    goals = {v.spec.name: v.goal for v in others if v.spec.name != new.spec.name}
    if sum(goals.values()) + new.goal > 100:
        shares = ", ".join(f"{name} {goal:g}" for name, goal in goals.items())
        raise InvalidInput(
            f"version {new.spec.name!r} cannot have {new.goal:g} percent: the others have {shares}",
            "together they have at most 100; lower one of the others first",
        )


def check_default(record: EndpointRecord) -> None:
    """Raise InvalidInput if the default version is none of those that start or serve."""
    names = [v.spec.name for v in record.versions if v.state in (STARTING, READY)]
    default = record.settings.default_version
    if default is not None and default not in names:
        choices = ", ".join(str(name) for name in names if name) or "none"
        raise InvalidInput(f"service {record.name!r} has no version {default!r}", f"its versions are: {choices}")


def find_version(record: EndpointRecord, number: int) -> VersionRecord:
    """Return a version that starts, serves or has failed; raise NotFound for others."""
    versions = {v.number: v for v in record.versions if v.state in (STARTING, READY, FAILED)}
    if number not in versions:
        numbers = ", ".join(map(str, versions)) or "none"
        raise NotFound(f"service {record.name!r} has no version {number} to change", f"its versions are: {numbers}")
    return versions[number]


def check_replicas(replicas: Replicas) -> None:
    low, high = replicas.minimum, replicas.maximum
    if not 0 <= low <= high or not 1 <= high <= MAX_REPLICAS:
        raise InvalidInput(
            f"replicas are {low} to {high}", f"give 0 ≤ minimum ≤ maximum, and 1 to {MAX_REPLICAS} as the maximum"
        )
    if not replicas.queue_per_replica > 0 or not replicas.idle_seconds >= 0:
        raise InvalidInput(
            f"queue_per_replica is {replicas.queue_per_replica:g} and idle_seconds is {replicas.idle_seconds:g}",
            "give positive numbers",
        )


def model_id(text: str) -> Tuple[str, int]:
    """Return name and version of a model's id."""
    name, _, version = text.rpartition(":")
    if not name or not version.isdigit():
        raise InvalidInput(f"{text!r} is not the id of a model", "write it as NAME:VERSION")
    return name, int(version)
