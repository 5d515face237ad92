"""The settings of a home, `settings.ini`: few, and read on each use, so that a change applies at once.

[environments]
interpreters = nearest      or exact: a Python that is not available is an error instead of the nearest one
conda = auto                or solve: conda packages only from their channels; or map: only from PyPI
containers = use            or require: a run that requests one fails without an engine; or ignore: no run gets one
image = docker.io/library/python:{python}-slim      for runs that request a container and name no image
builds = auto               or gpu: packages for GPUs also on machines without one; or cpu: never
torch_cpu_index = auto      or an index of torch for machines without a GPU; or off
indexes = any               or own: only indexes of the machine's configuration; or addresses that runs may name

[computes]
shapes = nearest            or exact: a run on a cluster whose vm_size this machine does not have is refused

[jobs]
pass_environment =          names or patterns of further variables of the server that jobs and builds get
full_disk_seconds = 3600    how long files of ended ranks wait for disk space until the run fails; or none
direct_outputs = 64 MiB     from this size on, nodes upload files to the object store of [store]; or none

[services]
gateway_memory = 256 MiB    for bodies of requests and unread answers of all web services together
log_size = 100 MiB          of a replica; a log that grows larger loses its beginning; or none

[engines]                   engines that do not come with Footplate
lsf = our_package.lsf:LsfEngine

[samplers]                  samplers of sweeps that do not come with Footplate; they run inside the server
around = our_package.samplers:AroundTheBest

[data]
cache = 100 GiB             how much remote data stays on this machine for later runs

[notifications]             messages when runs end; `services.notifications` lists the settings

[store]                     the built-in datastores of all workspaces, instead of directories of the home: the
kind = s3                   fields of a StoreSpec. With credentials, only the owner may read the file
bucket = team-data
"""

from __future__ import annotations

import configparser
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple, cast

from footplate import environ
from footplate.data import cache_limit
from footplate.domain.data import ADLS_GEN2, AZURE_BLOB, FOLDER, GCS, S3, StoreSpec, credential_fields
from footplate.domain.node_kinds import NodeKind
from footplate.environments import torch_builds
from footplate.environments.base import ResolverSettings
from footplate.environments.machine import machine_has_gpu
from footplate.environments.url_credentials import Logins
from footplate.errors import InvalidInput, NotAllowed

NAME = "settings.ini"
STORE = "store"
ENGINES = "engines"
SAMPLERS = "samplers"
NOTIFICATIONS = "notifications"
LEAST_GATEWAY_MEMORY = 1 << 20
LEAST_LOG_SIZE = 1 << 20
DEFAULT_LOG_SIZE = 100 << 20
DEFAULT_FULL_DISK_SECONDS = 3600.0
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\*?")
STORES = (FOLDER, S3, GCS, AZURE_BLOB, ADLS_GEN2)
KNOWN: dict[str, dict[str, tuple[str, ...]]] = {
    "environments": {
        "interpreters": ("nearest", "exact"),
        "conda": ("auto", "solve", "map"),
        "containers": ("use", "require", "ignore"),
        "image": (),
        "builds": ("auto", "gpu", "cpu"),
        "indexes": (),
        "torch_cpu_index": (),
    },
    "computes": {"shapes": ("nearest", "exact")},
    "jobs": {"pass_environment": (), "full_disk_seconds": (), "direct_outputs": ()},
    "services": {"gateway_memory": (), "log_size": ()},
}
"""The values of each setting; none if every value is allowed."""


@dataclass(frozen=True)
class Settings:
    interpreters: str = "nearest"
    conda: str = "auto"
    containers: str = "use"
    image: str = ResolverSettings.image
    builds: str = "auto"
    indexes: str = "any"
    torch_cpu_index: str = "auto"
    shapes: str = "nearest"
    pass_environment: str = ""
    full_disk_seconds: str = f"{DEFAULT_FULL_DISK_SECONDS:g}"
    direct_outputs: str = "64 MiB"
    gateway_memory: str = "256 MiB"
    log_size: str = f"{DEFAULT_LOG_SIZE >> 20} MiB"


def read_settings(home: Path) -> Settings:
    """Return the settings of the file, or the defaults without one. An unknown value is refused with the known ones."""
    path = home / NAME
    parser = _parse(path)
    values: dict[str, str] = {}
    for section in parser.sections():
        if section == cache_limit.SECTION:  # read by processes that move data on this machine; only checked here
            cache_limit.read_limit(str(path), dict(parser.items(section)))
        elif section not in (STORE, ENGINES, SAMPLERS, NOTIFICATIONS):
            for name, value in parser.items(section):
                values[name] = _check(path, section, name, value.strip())
    _full_disk_seconds(path, values.get("full_disk_seconds"))
    for name in _SIZES:
        _size(path, name, values.get(name))
    return Settings(**values)


def read_engines(home: Path) -> dict[str, str]:
    """Return the engines that `[engines]` adds: name → `module:Class`."""
    return read_section(home, ENGINES)


def read_samplers(home: Path) -> dict[str, str]:
    """Return the samplers that `[samplers]` adds: name → `module:Class`, or `/path/of/a/file.py:Class`."""
    return read_section(home, SAMPLERS)


def read_section(home: Path, section: str) -> dict[str, str]:
    """Return the lines of one section; none if it is missing."""
    parser = _parse(home / NAME)
    return {name: value.strip() for name, value in parser.items(section)} if parser.has_section(section) else {}


def read_passed_variables(home: Path) -> str:
    """Return the patterns of variables that jobs and builds get, separated by spaces."""
    patterns = read_section(home, "jobs").get("pass_environment", "").replace(",", " ").split()
    for pattern in patterns:
        if not _VARIABLE.fullmatch(pattern) or pattern.startswith(environ.PREFIX):
            raise InvalidInput(
                f"{home / NAME} says pass_environment = {pattern}",
                "name variables such as HF_HOME, or patterns such as AWS_*, separated by spaces",
            )
    return " ".join(patterns)


def read_full_disk_seconds(home: Path) -> float | None:
    """Return how long the files of a run wait for disk space before it fails; None: for ever."""
    return _full_disk_seconds(home / NAME, read_section(home, "jobs").get("full_disk_seconds"))


class _SizeRule(NamedTuple):
    section: str
    least: int
    hint: str


_SIZES = {
    "direct_outputs": _SizeRule("jobs", 0, "use a size such as 64 MiB, or none"),
    "gateway_memory": _SizeRule("services", LEAST_GATEWAY_MEMORY, "use a size of 1 MiB or more, such as 256 MiB"),
    "log_size": _SizeRule("services", LEAST_LOG_SIZE, "use a size of 1 MiB or more, such as 100 MiB, or none"),
}


def read_direct_outputs(home: Path) -> int | None:
    """Return the size from which on nodes upload files directly to the object store; None: never."""
    return _read_size(home, "direct_outputs")


def read_gateway_memory(home: Path) -> int:
    """Return the bytes that bodies and unread answers of web services may take."""
    return cast("int", _read_size(home, "gateway_memory"))


def read_log_size(home: Path) -> int | None:
    """Return the bytes that the log of a replica of a web service may have; None: any number."""
    return _read_size(home, "log_size")


def _read_size(home: Path, name: str) -> int | None:
    return _size(home / NAME, name, read_section(home, _SIZES[name].section).get(name))


def _size(path: Path, name: str, value: str | None) -> int | None:
    """Return a size in bytes, that of the default settings if there is no value; None for `none`, where allowed."""
    rule = _SIZES[name]
    text: str = getattr(Settings, name) if value is None else value
    if rule.hint.endswith("or none") and text.lower() == "none":
        return None
    size = cache_limit.read_size(text)
    if size is None or size < rule.least:
        raise InvalidInput(f"{path} says {name} = {value}", rule.hint)
    return size


def _full_disk_seconds(path: Path, value: str | None) -> float | None:
    if value is None:
        return DEFAULT_FULL_DISK_SECONDS
    if value.lower() == "none":
        return None
    try:
        seconds = float(value)
    except ValueError:
        seconds = 0.0
    if not 0 < seconds < float("inf"):
        raise InvalidInput(
            f"{path} says full_disk_seconds = {value}", "use a positive number, or none to wait for ever"
        )
    return seconds


def read_store(home: Path) -> StoreSpec | None:
    """Return the store that `[store]` describes, for the built-in datastores of all workspaces."""
    path = home / NAME
    parser = _parse(path)
    if not parser.has_section(STORE):
        return None
    fields = {name: value.strip() for name, value in parser.items(STORE)}
    kind = fields.pop("kind", "")
    if kind not in STORES:
        raise InvalidInput(f"{path} has a [store] of the kind {kind!r}", f"use one of {', '.join(STORES)}")
    secrets = credential_fields(kind)
    spec = StoreSpec(
        kind,
        {name: value for name, value in fields.items() if name not in secrets},
        {name: value for name, value in fields.items() if name in secrets},
    ).check()
    if spec.credentials and path.stat().st_mode & 0o077:
        raise NotAllowed(f"{path} holds credentials and is open to other users", f"close it with: chmod 600 {path}")
    return spec


def _parse(path: Path) -> configparser.ConfigParser:
    parser = configparser.ConfigParser(interpolation=None)
    if not path.exists():
        return parser
    try:
        parser.read(path, encoding="utf-8")
    except (configparser.Error, UnicodeDecodeError) as error:
        raise InvalidInput(
            f"{path} cannot be read: {error}", "write it as:\n[environments]\ninterpreters = exact"
        ) from None
    return parser


def read_resolver_settings(home: Path, logins: Mapping[str, str], node: NodeKind | None = None) -> ResolverSettings:
    """Return where and by which rules environments of this home are built: for nodes of a kind, or for this machine."""
    settings = read_settings(home)
    rules = (settings.interpreters, settings.conda, settings.containers, settings.image)
    no_gpu = not (machine_has_gpu() if node is None else node.gpu)
    cpu_builds = no_gpu if settings.builds == "auto" else settings.builds == "cpu"
    indexes = _indexes(home / NAME, settings.indexes)
    torch_index = _torch_index(home / NAME, settings.torch_cpu_index, indexes)
    return ResolverSettings(home / "environments", *rules, Logins(logins), cpu_builds, indexes, torch_index, node)


def _indexes(path: Path, value: str) -> tuple[str, ...]:
    """Return the addresses that environments may name: any, none but those of the machine (own), or a list."""
    addresses = tuple(value.replace(",", " ").split())
    if addresses not in (("any",), ("own",)) and not (addresses and all("://" in each for each in addresses)):
        raise InvalidInput(
            f"{path} says indexes = {value}", "use any, own, or addresses such as https://pypi.org/simple"
        )
    return addresses


def _torch_index(path: Path, value: str, indexes: tuple[str, ...]) -> str:
    """Return the index of torch's CPU builds; empty for none. A server with few indexes only uses one that it names."""
    if value == "auto":
        return torch_builds.CPU_INDEX if indexes == ("any",) else ""
    if value != "off" and "://" not in value:
        raise InvalidInput(
            f"{path} says torch_cpu_index = {value}", f"use auto, off, or an address such as {torch_builds.CPU_INDEX}"
        )
    return "" if value == "off" else value


def _check(path: Path, section: str, name: str, value: str) -> str:
    names = KNOWN.get(section, {})
    if name not in names:
        choices = [f"[{each}] {name}" for each, settings in KNOWN.items() for name in settings]
        choices.append(f"[{cache_limit.SECTION}] {cache_limit.NAME}")
        hint = f"the settings are: {', '.join(choices)}"
        raise InvalidInput(f"{path} has a setting [{section}] {name}, which is unknown", hint)
    if not names[name]:
        return value
    if value.lower() not in names[name]:
        raise InvalidInput(f"{path} says {name} = {value}", f"use one of {', '.join(names[name])}")
    return value.lower()
