"""Conda files: solved from their channels, or mapped to PyPI where the channels are unavailable.

    channels        names of channels → addresses, and whether they can be reached
    package_names   conda packages → pip requirements
    solving         a conda file → a lock, with py-rattler
    prefixes        a lock → a conda prefix
    package_records a conda package in a lock
    channel_logins  channel configuration and logins for rattler; types of its exceptions

`options["conda"]` of the spec is `{"channels": […], "dependencies": ["numpy=1.26", …], "pip": [lines]}`. The setting
`conda` is `solve`, `map`, or `auto`, which solves when py-rattler is installed and every channel can be reached.

A solved lock has `packages` (url, hash, build and platform of each) and `requirements` for the packages that pip adds;
a mapped lock is that of a virtual environment.
"""

from __future__ import annotations

import importlib.util
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from footplate.domain.orders import Lock
from footplate.domain.specs import EnvironmentSpec
from footplate.environments.base import Interpreter, ResolverSettings, Say
from footplate.environments.built_environments import remove_unlinked
from footplate.environments.url_credentials import NO_LOGINS, Logins
from footplate.environments.venv import VenvBuilder
from footplate.errors import InvalidInput
from footplate.lazy import Deferred

if TYPE_CHECKING:
    from footplate.environments.conda import channels, package_names, prefixes, solving
else:
    # Only locking needs these: agents, which only build, do not load an HTTP client.
    channels = Deferred("footplate.environments.conda.channels")
    package_names = Deferred("footplate.environments.conda.package_names")
    # These need the extra `conda`.
    prefixes = Deferred("footplate.environments.conda.prefixes")
    solving = Deferred("footplate.environments.conda.solving")

STORE = ".conda"
PACKAGES = f"{STORE}/packages"


class CondaBuilder:
    name = "conda"

    def lock(self, spec: EnvironmentSpec, settings: ResolverSettings, say: Say) -> Lock:
        reason = why_mapped(spec, settings)
        if reason is None:
            return solve(spec, settings, say)
        if reason:
            say(f"the conda packages are mapped to PyPI: {reason}")
        lock = package_names.lock(spec, settings, say)
        return replace(lock, warnings=explain_mapping(lock.warnings, reason))

    def build(self, lock: Lock, root: Path, say: Say, logins: Logins = NO_LOGINS) -> Interpreter:
        if "packages" not in lock.content:
            return VenvBuilder().build(lock, root, say, logins)
        if not _has_rattler():
            raise InvalidInput(
                f"the environment {lock.digest[:12]} contains conda packages, and this machine has no py-rattler",
                "install it beside Footplate: pip install 'footplate[conda]'",
            )
        return prefixes.build(lock, root, say, logins)


def why_mapped(spec: EnvironmentSpec, settings: ResolverSettings) -> str | None:
    """Return why the packages come from PyPI: None if they are solved instead, "" if the settings request the mapping.

    Raises InvalidInput where the settings require solving and it is not possible.
    """
    if settings.conda == "map":
        return ""
    reason = _why_not(spec)
    if reason is not None and settings.conda == "solve":
        raise InvalidInput(
            f"the conda packages cannot be solved, and the setting conda = solve allows nothing else: {reason}",
            "pip install 'footplate[conda]', make the channels reachable, or set conda = auto",
        )
    return reason


def solve(spec: EnvironmentSpec, settings: ResolverSettings, say: Say, libc: str | None = None) -> Lock:
    """Lock packages from their channels, for this version of the GNU C library if `libc` is given."""
    return solving.lock(spec, settings, say, libc)


def _why_not(spec: EnvironmentSpec) -> str | None:
    """Return why the channels cannot be used; None if they can."""
    if not _has_rattler():
        return "py-rattler (the extra 'conda') is not installed"
    away = channels.unreachable(channels.addresses_of(spec))
    words = [f"the channel {address} cannot be reached ({why})" for address, why in away]
    return "; ".join(words) or None


def _has_rattler() -> bool:
    return importlib.util.find_spec("rattler") is not None


def explain_mapping(warnings: tuple[str, ...], reason: str) -> tuple[str, ...]:
    """Add the reason to the warning that lists the mapped packages; without a mapped package there is nothing to
    explain."""
    if not reason or not warnings or not warnings[0].startswith(package_names.MAPPED_TO_PYPI):
        return warnings
    return (f"{warnings[0]} ({reason})", *warnings[1:])


def settings_key(spec: EnvironmentSpec, settings: ResolverSettings) -> dict[str, Any]:
    """Return everything besides the spec that decides about a resolution (see `lock_cache.key`)."""
    addresses = channels.addresses_of(spec) if _has_rattler() and settings.conda != "map" else []
    return {"conda": settings.conda, "rattler": _has_rattler(), "channels": addresses, "machine": channels.overrides()}


def clear_packages(root: Path, before: float) -> int:
    """Remove packages unpacked before this time that no environment links to; return the bytes that this freed."""
    return remove_unlinked((root / PACKAGES).glob("*/"), before)
