"""Conda files: solved from their channels, or, where those are not to be had, mapped to PyPI.

`options["conda"]` of the spec: `{"channels": […], "dependencies": ["numpy=1.26", …], "pip": [lines]}`. The setting
`conda` decides: `solve` and `map` say which, `auto` solves when py-rattler is there and every channel can be reached.

A solved lock has `packages` (url, hash, build and platform of each) and, as any other, `requirements` for what pip's
section adds on top; a mapped lock is that of a virtual environment.
"""

from __future__ import annotations

import importlib.util
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from footplate.domain.records import Lock
from footplate.domain.specs import EnvironmentSpec
from footplate.environments.base import Interpreter, ResolverSettings, Say
from footplate.environments.disk_usage import remove_unlinked
from footplate.environments.url_credentials import NO_LOGINS, Logins
from footplate.environments.venv import VenvBuilder
from footplate.errors import InvalidInput
from footplate.lazy import Deferred

if TYPE_CHECKING:
    from footplate.environments.conda import channels, mapping
else:
    # Only who locks needs them: agents, which build, do not load what speaks HTTP.
    channels, mapping = (Deferred(f"footplate.environments.conda.{name}") for name in ("channels", "mapping"))

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
        lock = mapping.lock(spec, settings, say)
        return replace(lock, warnings=explained(lock.warnings, reason))

    def build(self, lock: Lock, root: Path, say: Say, logins: Logins = NO_LOGINS) -> Interpreter:
        if "packages" not in lock.content:
            return VenvBuilder().build(lock, root, say, logins)
        if not _has_rattler():
            raise InvalidInput(
                f"the environment {lock.digest[:12]} holds conda packages, and this machine has no py-rattler",
                "install it beside Footplate: pip install 'footplate[conda]'",
            )
        from footplate.environments.conda import prefixes  # lazy: it needs the extra `conda`

        return prefixes.build(lock, root, say, logins)


def why_mapped(spec: EnvironmentSpec, settings: ResolverSettings) -> str | None:
    """Why the packages come from PyPI; None when they are solved, no words when the
    settings say so. Raises where the settings admit no other way than to solve them.
    """
    if settings.conda == "map":
        return ""
    reason = _why_not(spec)
    if reason is not None and settings.conda == "solve":
        raise InvalidInput(
            f"the conda packages cannot be solved, and the setting conda = solve admits nothing else: {reason}",
            "pip install 'footplate[conda]', make the channels reachable, or set conda = auto",
        )
    return reason


def solve(spec: EnvironmentSpec, settings: ResolverSettings, say: Say, libc: str | None = None) -> Lock:
    """The lock of packages from their channels; `libc`: for this version of the GNU C library, not the machine's."""
    from footplate.environments.conda import solving  # lazy: it needs the extra `conda`

    return solving.lock(spec, settings, say, libc)


def _why_not(spec: EnvironmentSpec) -> str | None:
    """Why the channels cannot be asked; None when they can."""
    if not _has_rattler():
        return "py-rattler, of the extra 'conda', is not installed"
    away = channels.unreachable(channels.addresses_of(spec))
    words = [f"the channel {address} cannot be reached ({why})" for address, why in away]
    return "; ".join(words) or None


def _has_rattler() -> bool:
    return importlib.util.find_spec("rattler") is not None


def explained(warnings: tuple[str, ...], reason: str) -> tuple[str, ...]:
    """The reason belongs to the line that lists the mapping; without a mapped package there is nothing to explain."""
    if not reason or not warnings or not warnings[0].startswith(mapping.MAPPED_TO_PYPI):
        return warnings
    return (f"{warnings[0]} ({reason})", *warnings[1:])


def settings_key(spec: EnvironmentSpec, settings: ResolverSettings) -> dict[str, Any]:
    """What decides about a resolution besides the spec (see `locks.key`)."""
    addresses = channels.addresses_of(spec) if _has_rattler() and settings.conda != "map" else []
    return {"conda": settings.conda, "rattler": _has_rattler(), "channels": addresses, "machine": channels.overrides()}


def clear_packages(root: Path, before: float) -> int:
    """Remove unpacked packages that no environment links to, if older than this; return the bytes that this freed."""
    return remove_unlinked((root / PACKAGES).glob("*/"), before)
