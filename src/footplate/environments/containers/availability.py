"""Whether a run that requests a container gets one, and the warning for the run if it does not.

`docker.enabled`, an image, a Dockerfile or a build context request a container. If there is no engine, if the image's
registry does not answer, or if the settings say so, the packages are installed without a container, and a warning on
the run lists what was not used.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from footplate.domain.specs import EnvironmentSpec
from footplate.environments import machine
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
    """Return why the run gets no container; None if it gets one. Raises InvalidInput where one is required."""
    if settings.containers == "ignore":
        return "the setting containers = ignore excludes them"
    if spec.builder == "existing" and not names_image(spec):
        return refuse_or(settings, "neither an image nor packages to install in one are named")
    if settings.node is not None and not settings.node.containers:
        return refuse_or(settings, f"neither podman nor docker answers on {machine.label(settings)}")
    if container_engine.find() is None:
        where = "this machine" if settings.node is None else "the server, which looks up the image"
        return refuse_or(settings, f"neither podman nor docker answers on {where}")
    return None


def can_do_without(spec: EnvironmentSpec, error: InvalidInput) -> bool:
    """Whether the packages are enough without an image.

    They are if no image was named, or if its registry cannot be reached: a machine without a network, or code that
    outlived its registry. A name that the registry does not know is more likely a mistake.
    """
    return not names_image(spec) or (spec.builder != "existing" and isinstance(error, container_engine.RegistryAway))


def refuse_or(settings: ResolverSettings, why: str) -> str:
    """Return the reason, unless the settings require a container."""
    if settings.containers == "require":
        raise InvalidInput(
            f"the run requests a container, and {why}; the setting containers = require allows nothing else",
            "install podman or start docker, name an image, or set containers = use in settings.ini",
        )
    return why


def warning(spec: EnvironmentSpec, why: str) -> str:
    """Return the warning for the run, with everything that was requested and not used."""
    unused = ", ".join(_unused(spec.options.get("docker") or {}))
    instead = "the interpreter of this machine" if spec.builder == "existing" else "a virtual environment"
    return f"the run uses {instead} and no container: {why}; not used: {unused}"


def _unused(asked: Mapping[str, Any]) -> list[str]:
    found: list[str] = []
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
