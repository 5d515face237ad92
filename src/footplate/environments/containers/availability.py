"""Whether a run that requests a container gets one, and the warning for the run if it does not.

`docker.enabled`, an image, a Dockerfile or a build context request a container. If there is no engine, if the image's
registry does not answer, or if the settings say so, the packages are installed without a container, and a warning on
the run lists what was not used. The Python is the one that was requested, or else that of the image.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from footplate.domain.locks import packages
from footplate.domain.orders import Lock
from footplate.domain.specs import EnvironmentSpec
from footplate.environments import machine, pythons
from footplate.environments.base import ResolverSettings
from footplate.environments.containers import container_engine, images
from footplate.errors import InvalidInput

_PYTHON_PACKAGE = re.compile(r"python\b(?!-)")
_FOR_PACKAGES = re.compile(r"mcr\.microsoft\.com/azureml/")
"""Azure's base images: their Python was never for jobs, because one was installed together with the packages."""

_SOURCES = ("base_image", "base_dockerfile", "build_context")


def is_asked_for(spec: EnvironmentSpec) -> bool:
    docker: Mapping[str, Any] = spec.options.get("docker") or {}
    return bool(docker.get("enabled")) or names_image(spec)


def names_image(spec: EnvironmentSpec) -> bool:
    docker: Mapping[str, Any] = spec.options.get("docker") or {}
    return any(docker.get(key) for key in _SOURCES)


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
    """Whether the run may do without an image.

    It may if no image was named, or if its registry cannot be reached: a machine without a network, or code that
    outlived its registry. A name that the registry does not know is more likely a mistake.
    """
    return not names_image(spec) or isinstance(error, container_engine.RegistryAway)


def without_image(spec: EnvironmentSpec, settings: ResolverSettings, why: str) -> EnvironmentSpec:
    """Return the request for a run without its image, with the image's Python if nobody chose another one.

    Raises InvalidInput if that Python is unknown, unless the settings ignore containers.
    """
    chose_python = spec.builder != "existing" and not pythons.is_our_choice(spec.python)
    if not names_image(spec) or "curated" in spec.options or chose_python:
        return spec
    docker = spec.options["docker"]
    python = images.named_python(docker)
    if python is not None:
        conda = spec.options.get("conda")
        options = {**spec.options, "conda": _with_python(conda, python)} if conda else spec.options
        builder = "venv" if spec.builder == "existing" else spec.builder
        return replace(spec, builder=builder, interpreter=None, python=python, options=options)
    comes_with_packages = spec.builder != "existing" and _FOR_PACKAGES.match(images.named_base(docker))
    if settings.containers == "ignore" or comes_with_packages:
        return spec
    image = images.label(docker.get("base_image"))
    raise InvalidInput(
        f"the run cannot do without a container, because nothing names the Python version of {image}: {why}",
        "name the version and the packages in a conda file (python=3.11); make the image available "
        "(podman load, docker load); or set containers = ignore in settings.ini",
    )


def check_python(spec: EnvironmentSpec, instead: EnvironmentSpec, lock: Lock) -> None:
    """Raise InvalidInput if the lock of the request `instead` has another Python than the image of `spec`."""
    has = str(lock.content.get("python") or packages(lock).get("python"))
    if instead is not spec and not f"{has}.".startswith(f"{instead.python}."):
        image = images.label(spec.options["docker"].get("base_image"))
        raise InvalidInput(
            f"Python {instead.python} of {image} cannot be used here without a container: "
            f"{lock.warnings[0] if lock.warnings else f'the packages need Python {has}'}",
            f"install Python {instead.python}, make the image available, or name another version in a conda file",
        )


def _with_python(conda: Mapping[str, Any], python: str) -> dict[str, Any]:
    lines = [str(line) for line in conda.get("dependencies") or ()]
    others = [line for line in lines if not _PYTHON_PACKAGE.match(line)]
    return {**conda, "dependencies": [f"python={python}", *others]}


def refuse_or(settings: ResolverSettings, why: str) -> str:
    """Return the reason, unless the settings require a container."""
    if settings.containers == "require":
        raise InvalidInput(
            f"the run requests a container, and {why}; the setting containers = require allows nothing else",
            "install podman or start docker, name an image, or set containers = use in settings.ini",
        )
    return why


def warning(spec: EnvironmentSpec, instead: EnvironmentSpec, why: str) -> str:
    """Return the warning for the run, with everything that was requested and not used."""
    unused = ", ".join(_list_unused(spec.options.get("docker") or {}))
    words = "the interpreter of this machine" if instead.builder == "existing" else "a virtual environment"
    words += f" with Python {instead.python} of the image" if instead is not spec else ""
    return f"the run uses {words} and no container: {why}; not used: {unused}"


def _list_unused(docker: Mapping[str, Any]) -> list[str]:
    parts: list[str] = []
    if docker.get("base_image"):
        parts.append(f"the image {docker['base_image']}")
    if docker.get("base_dockerfile"):
        lines = str(docker["base_dockerfile"]).strip().splitlines()
        parts.append(f"the Dockerfile ({lines[0] if lines else ''}, {len(lines)} lines)")
    if docker.get("build_context"):
        parts.append(f"the build context {docker['build_context'].get('location')}")
    if docker.get("arguments"):
        parts.append(f"the arguments {' '.join(map(str, docker['arguments']))}")
    if docker.get("shm_size") not in (None, "2g"):
        parts.append(f"shm_size {docker['shm_size']}")
    return parts or ["docker.enabled"]
