"""Whether a run that asks for a container gets one, and the words for the run when it does not.

A container is asked for by `docker.enabled`, by an image, by a Dockerfile or by a build context. Where there is no
engine, the image's registry does not answer, or the home's settings say so, the packages are installed without a
container, and the run carries a warning that names what was not used.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from footplate.domain.specs import EnvironmentSpec
from footplate.environments.base import ResolverSettings
from footplate.environments.containers import container_engine
from footplate.errors import InvalidInput

_SOURCES = ("base_image", "base_dockerfile", "build_context")


def is_asked_for(spec: EnvironmentSpec) -> bool:
    asked: Mapping[str, Any] = spec.options.get("docker") or {}
    return bool(asked.get("enabled")) or names_image(spec)


def names_image(spec: EnvironmentSpec) -> bool:
    asked: Mapping[str, Any] = spec.options.get("docker") or {}
    return any(asked.get(key) for key in _SOURCES)


def why_not(spec: EnvironmentSpec, settings: ResolverSettings) -> str | None:
    """Why the run gets no container, in words; None when it gets one. Raises where one is required."""
    if settings.containers == "ignore":
        return "the setting containers = ignore says so"
    if spec.builder == "existing" and not names_image(spec):
        return refuse_or(settings, "no image is named, and no packages that could be installed in one")
    if container_engine.find() is None:
        return refuse_or(settings, "neither podman nor docker answers on this machine")
    return None


def can_do_without(spec: EnvironmentSpec, error: InvalidInput) -> bool:
    """Whether the packages alone may do, now that there is no image.

    Where nobody named an image, and where the registry of the one that was named is away: that is a machine without a
    network, or code that outlived its registry. A name that a registry does not know is more likely wrong.
    """
    return not names_image(spec) or (spec.builder != "existing" and isinstance(error, container_engine.RegistryAway))


def refuse_or(settings: ResolverSettings, why: str) -> str:
    """The reason, unless the home's settings require a container."""
    if settings.containers == "require":
        raise InvalidInput(
            f"the run asks for a container, and {why}; the setting containers = require admits no other way",
            "install podman or start docker, name an image, or set containers = use in settings.ini",
        )
    return why


def warning(spec: EnvironmentSpec, why: str) -> str:
    """For the run: what was asked for and not used."""
    unused = ", ".join(_unused(spec.options.get("docker") or {}))
    instead = "the interpreter of this machine" if spec.builder == "existing" else "a virtual environment"
    return f"the run uses {instead} and no container: {why}; not used: {unused}"


def _unused(asked: Mapping[str, Any]) -> list[str]:
    found = list[str]()
    if asked.get("base_image"):
        found.append(f"the image {asked['base_image']}")
    if asked.get("base_dockerfile"):
        lines = str(asked["base_dockerfile"]).strip().splitlines()
        found.append(f"the Dockerfile ({lines[0] if lines else ''}, {len(lines)} lines)")
    if asked.get("build_context"):
        found.append(f"the build context {asked['build_context'].get('location')}")
    if asked.get("arguments"):
        found.append(f"the arguments {' '.join(map(str, asked['arguments']))}")
    if asked.get("shm_size") not in (None, "2g"):
        found.append(f"shm_size {asked['shm_size']}")
    return found or ["docker.enabled"]
