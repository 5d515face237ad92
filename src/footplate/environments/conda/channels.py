"""Channels: from names in a conda file to addresses, by conda's configuration on this machine."""

from __future__ import annotations

import os
import re
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, cast

import yaml

from footplate.domain.specs import EnvironmentSpec
from footplate.environments.requirements import conda_lines
from footplate.errors import InvalidInput

_ALIAS = "https://conda.anaconda.org"
_DEFAULTS = ("https://repo.anaconda.com/pkgs/main", "https://repo.anaconda.com/pkgs/r")
_USUAL = "conda-forge"
_PATIENCE_SECONDS = 10.0
_FILES = (
    "/etc/conda/.condarc",
    "/etc/conda/condarc",
    "~/.config/conda/.condarc",
    "~/.conda/.condarc",
    "~/.condarc",
    "~/.mambarc",
)


def addresses_of(spec: EnvironmentSpec) -> list[str]:
    """Return the addresses of the channels that a spec names, in order; channels before `::` in a package line come
    last."""
    settings = read_settings()
    names = conda_lines(spec, "channels") or settings.channels
    names += [line.split("::", 1)[0].strip() for line in conda_lines(spec, "dependencies") if "::" in line]
    addresses = [address for name in names for address in settings.addresses(name)]
    return list(dict.fromkeys(addresses))


def overrides() -> dict[str, str]:
    """Return what the user declares about the machine, such as `CONDA_OVERRIDE_CUDA=12.4`."""
    return {name: value for name, value in os.environ.items() if name.startswith("CONDA_OVERRIDE_")}


# ── Reachable or not ──────────────────────────────────────────────────────────────────────────────────────────────────


def unreachable(addresses: Sequence[str]) -> list[tuple[str, str]]:
    """Return the channels that do not answer, with the reason. One that denies access answers: the solver explains it
    better."""
    if not addresses:
        return []
    with ThreadPoolExecutor(len(addresses)) as pool:
        reasons = list(pool.map(_ask, addresses))
    return [(address, why) for address, why in zip(addresses, reasons) if why is not None]


def _ask(address: str) -> str | None:
    if address.startswith("file:"):
        folder = urllib.request.url2pathname(urllib.parse.urlsplit(address).path)
        return None if os.path.isdir(folder) else "there is no such directory"
    request = urllib.request.Request(f"{address.rstrip('/')}/noarch/repodata.json.zst", method="HEAD")
    try:
        urllib.request.urlopen(request, timeout=_PATIENCE_SECONDS).close()
    except urllib.error.HTTPError:
        return None
    except urllib.error.URLError as error:
        return str(error.reason)
    except (TimeoutError, OSError) as error:
        return str(error)
    return None


# ── conda's settings ──────────────────────────────────────────────────────────────────────────────────────────────────


class CondaSettings:
    """The part of conda's configuration that locates channels. Later files take precedence, then CONDA_* variables."""

    def __init__(self, data: dict[str, Any]) -> None:
        alias = os.environ.get("CONDA_CHANNEL_ALIAS") or data.get("channel_alias") or _ALIAS
        self._alias = str(alias).rstrip("/")
        self._custom: dict[str, Any] = data.get("custom_channels") or {}
        self._groups: dict[str, Any] = data.get("custom_multichannels") or {}
        self._defaults: list[Any] = data.get("default_channels") or list(_DEFAULTS)
        self.channels = [str(name) for name in data.get("channels") or [_USUAL]]
        self.priority = str(data.get("channel_priority", "flexible")).lower()

    def addresses(self, name: str) -> list[str]:
        if name == "nodefaults":
            return []
        if name == "defaults":
            return [one for each in self._defaults for one in self.addresses(str(each))]
        if name in self._groups:
            return [one for each in self._groups[name] for one in self.addresses(str(each))]
        if re.match(r"[a-z0-9+]+://", name):
            return [name.rstrip("/")]
        if name.startswith(("/", "./", "../", "~")):
            return [Path(name).expanduser().absolute().as_uri()]
        first = name.split("/", 1)[0]
        place = self._custom.get(name) or self._custom.get(first)
        return [f"{str(place).rstrip('/')}/{name}" if place else f"{self._alias}/{name}"]


def read_settings() -> CondaSettings:
    merged: dict[str, Any] = {}
    named = os.environ.get("CONDARC")
    for place in [*_FILES, *([named] if named else [])]:
        merged.update(_read(Path(place).expanduser()))
    return CondaSettings(merged)


def _read(path: Path) -> dict[str, Any]:
    try:
        text = path.read_text(encoding="utf-8")
    except OSError:
        return {}
    try:
        data: Any = yaml.safe_load(text)
    except yaml.YAMLError as error:
        raise InvalidInput(f"{path} cannot be read: {error}", "correct it, or remove it") from None
    return cast("dict[str, Any]", data) if isinstance(data, dict) else {}
