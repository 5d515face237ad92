"""Environments in containers: an image by name or from a Dockerfile, with packages installed in it.

`options["docker"]` of the spec is the request. The packages are resolved on this machine for the image's Python, and
installed by our uv in a container of the image, which becomes a new image: no address, password or file of this machine
ends up in it. Without packages the image is used as it is; conda packages are mounted (`conda_prefix`).

The directory of such an environment holds `image.json` and `bin/python`, which runs the image's Python in a container.
"""

from __future__ import annotations

import json
import re
import shlex
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, cast

from footplate.domain.locks import AZUREML, TENSORFLOW1, image_name, packages
from footplate.domain.orders import Lock
from footplate.domain.specs import EnvironmentSpec
from footplate.environments import adaptations, azureml_dependencies, built_environments, conda, pythons, recipes
from footplate.environments.base import (
    OLDEST,
    BuildContext,
    Container,
    Interpreter,
    ResolverSettings,
    Say,
    make_lock,
    without_prefix,
)
from footplate.environments.conda import package_names
from footplate.environments.containers import container_engine, images, install
from footplate.environments.containers.container_engine import ContainerEngine, Image
from footplate.environments.pins import Target, pin_with_installers
from footplate.environments.requirements import clean, conda_lines, is_option, local_content, without_azureml
from footplate.environments.url_credentials import NO_LOGINS, Logins
from footplate.environments.uv import uv_platform
from footplate.errors import InvalidInput

_PROBE = """
import json, os, platform, sys
libc = os.confstr("CS_GNU_LIBC_VERSION") if "CS_GNU_LIBC_VERSION" in os.confstr_names else None
about = {"version": sys.version_info[:3], "path": sys.executable, "machine": platform.machine(), "libc": libc}
print(json.dumps(about))
"""
_OURS_TO_SET = ("-d", "--detach", "--name", "--cidfile", "--entrypoint", "--rm", "-w", "--workdir", "--pid")


class ContainerBuilder:
    name = "container"

    def lock(self, spec: EnvironmentSpec, settings: ResolverSettings, say: Say) -> Lock:
        engine = container_engine.find_or_refuse()
        docker: dict[str, Any] = spec.options.get("docker") or {}
        start = _start(docker)
        asked_python = _python_asked_for(spec)
        version = pythons.dotted(pythons.choose(asked_python, lambda: pythons.installed(settings.root))[:2])
        otherwise = settings.image.replace("{python}", version)
        base = images.lock_base(engine, docker, otherwise, settings, say)
        here = images.fetch_base(engine, base, settings.root, say)
        reason = None
        if spec.builder != "existing" and spec.options.get("conda") is not None:
            conda_lock, reason = install.lock(spec, engine, here, settings, say)
            if conda_lock is not None:
                return make_lock(self.name, {**conda_lock.content, "base": base, "start": start}, conda_lock.warnings)
        cleaned, warnings = _packages(spec, reason)
        mpi = spec.builder != "existing" and adaptations.needs_mpi(spec.options, cleaned) and not _has_mpi(engine, here)
        adapted = adaptations.adapt(
            without_azureml(cleaned, say), azureml_dependencies.find_dependencies(cleaned), mpi, settings
        )
        lines = adapted.lines
        _refuse_recipes(lines)
        python = _look_inside(engine, here, str(docker.get("interpreter") or "python"), images.label(base.get("image")))
        pins, excluded = _resolve(lines, adapted.soft, python, settings, say)
        content = {
            "base": base,
            "python": ".".join(map(str, python["version"][:2])),
            "interpreter": python["path"],
            "platform": f"linux-{python['machine']}",
            "requirements": pins,
            "options": [line for line in lines if is_option(line)],
            "start": start,
        }
        if pinned := azureml_dependencies.versions(cleaned):
            content[AZUREML] = pinned
        if adapted.replaces_tensorflow1:
            content[TENSORFLOW1] = True
        other_python = _other_python(asked_python, python, images.label(base.get("image")), settings) if lines else ()
        return make_lock(self.name, content, (*warnings, *adapted.warnings, *other_python, *excluded))

    def build(self, lock: Lock, root: Path, say: Say, logins: Logins = NO_LOGINS) -> Interpreter:
        say = logins.listen(say)
        prefix = install.build(lock, root, say, logins)

        def use() -> tuple[Path, dict[str, Any]]:
            folder = built_environments.use(
                root, lock, say, logins, lambda place, context: _build(lock, place, prefix, context)
            )
            return folder, _read(folder)

        folder, built = use()
        image = container_engine.ContainerEngine(built["engine"], built["program"]).image(built["id"])
        if image is None or built.get("mounts") != _mounts(prefix):
            say("the image is gone from this machine" if image is None else "its conda packages have moved")
            built_environments.remove(folder)
            folder, built = use()
        start: dict[str, Any] = lock.content["start"]
        container = Container(
            built["engine"], built["program"], built["id"], built["python"], start["shm_size"],
            tuple(start["arguments"]), tuple(built["mounts"]),
        )  # fmt: skip
        return Interpreter((str(folder / "bin" / "python"),), built.get("variables") or {}, container)


def forget(folder: Path) -> None:
    """Remove the image of an environment that is about to be removed, unless another image is based on it."""
    try:
        built = _read(folder)
    except (OSError, ValueError):
        return
    engine = container_engine.ContainerEngine(built["engine"], built["program"])
    for name in filter(None, (built["image"], built["base"])):
        engine.ask("rmi", name)


# ── Locking ───────────────────────────────────────────────────────────────────────────────────────────────────────────


def _start(docker: Mapping[str, Any]) -> dict[str, Any]:
    """Return how containers are started. Arguments that Footplate depends on cannot be overridden."""
    arguments = [str(word) for word in docker.get("arguments") or ()]
    for word in arguments:
        if word.split("=")[0] in _OURS_TO_SET:
            raise InvalidInput(
                f"docker.arguments has {word!r}, which Footplate sets itself",
                "leave it out; mounts, limits, devices and capabilities are allowed",
            )
    return {"arguments": arguments, "shm_size": str(docker.get("shm_size") or "2g")}


def _python_asked_for(spec: EnvironmentSpec) -> str | None:
    if spec.builder == "existing":
        return None
    lines_of_python = [line for line in conda_lines(spec, "dependencies") if re.match(r"python\b(?!-)", line)]
    return package_names.map_packages(lines_of_python).python or spec.python


def _packages(spec: EnvironmentSpec, reason: str | None) -> tuple[list[str], tuple[str, ...]]:
    """Return lines of requirements, and warnings; `reason` tells why conda packages do not come from conda."""
    if spec.builder == "existing":
        return [], ()
    mapped = package_names.map_packages(conda_lines(spec, "dependencies"))
    cleaned = clean([*spec.requirements, *mapped.requirements, *conda_lines(spec, "pip")])
    if local := [*local_content(cleaned)]:
        raise InvalidInput(
            f"{local[0]} is on this machine and cannot be installed in an image",
            "build a wheel and serve it from an index, or install it in the Dockerfile",
        )
    return cleaned, conda.explain_mapping(mapped.warnings(), reason or "")


def _refuse_recipes(lines: Sequence[str]) -> None:
    names = [recipe.name for recipe in recipes.plan(lines).recipes]
    if names:
        raise InvalidInput(
            f"{names[0]} is built from source, which does not work for images",
            f"use an image that contains {names[0]} and remove it from the packages; or name no image: the run then "
            "gets a virtual environment that contains it",
        )


def _look_inside(engine: ContainerEngine, image: Image, interpreter: str, label: str) -> dict[str, Any]:
    """Ask the image's Python for its version, its path and its C library."""
    names = [interpreter, "python3"] if interpreter == "python" else [interpreter]
    for name in names:
        answer = engine.ask("run", "--rm", "--network", "host", "--entrypoint", "", image.id, name, "-c", _PROBE)
        if answer is None:
            continue
        python = cast("dict[str, Any]", json.loads(answer.splitlines()[-1]))
        if tuple(python["version"]) < OLDEST:
            raise InvalidInput(
                f"{label} has Python {'.'.join(map(str, python['version']))}, and jobs need at least 3.8",
                "choose an image with a newer Python",
            )
        return python
    raise InvalidInput(
        f"{label} has no Python that starts as {interpreter!r}",
        "choose an image with Python, or set environment.python.interpreter_path to its path inside the image",
    )


def _has_mpi(engine: ContainerEngine, image: Image) -> bool:
    inside = ["run", "--rm", "--network", "host", "--entrypoint", "", image.id]
    return bool(engine.ask(*inside, "/bin/sh", "-c", "command -v mpirun || command -v mpiexec"))


def _resolve(
    lines: Sequence[str], soft: Sequence[str], python: Mapping[str, Any], settings: ResolverSettings, say: Say
) -> tuple[str, tuple[str, ...]]:
    if not lines and not soft:
        return "", ()
    libc = without_prefix(str(python["libc"] or ""), "glibc ")
    version = ".".join(map(str, python["version"]))
    platform = uv_platform(python["machine"], libc)
    select = ("--python", sys.executable, "--python-version", version, "--python-platform", platform)
    return pin_with_installers(lines, soft, Target(select, f"Python {version} of the image", settings, say))


def _other_python(
    requested: str | None, python: Mapping[str, Any], label: str, settings: ResolverSettings
) -> tuple[str, ...]:
    has = ".".join(map(str, python["version"]))
    exact = pythons.exact_version(requested)
    if exact is None or (has + ".").startswith(exact + "."):
        return ()
    if settings.interpreters == "exact":
        raise InvalidInput(
            f"{label} has Python {has}, not {exact}, and the setting interpreters = exact allows no other",
            f"choose an image with Python {exact}",
        )
    return (f"Python {exact} was requested and {label} has {has}: the run uses that",)


# ── Building ──────────────────────────────────────────────────────────────────────────────────────────────────────────


def _mounts(prefix: Interpreter | None) -> list[str]:
    return [] if prefix is None else [str(Path(prefix.argv[0]).parent.parent)]


def _build(lock: Lock, folder: Path, prefix: Interpreter | None, context: BuildContext) -> dict[str, Any]:
    engine = container_engine.find_or_refuse()
    name = image_name(lock)
    base = images.fetch_base(engine, lock.content["base"], context.root, context.say, context.logins)
    installs = prefix is None and bool(lock.content["requirements"])
    image = engine.image(name)
    if image is None:
        context.say(f"building the image {name[-64:][:12]} with {engine.name}")
        if installs:
            install.install(engine, base, lock, name, context)
        else:
            engine.call(["tag", base.id, name], context.say)
        image = engine.image(name) or base
    built: dict[str, Any] = {
        "engine": engine.name, "program": engine.program, "image": name, "id": image.id,
        "base": images.base_name(lock.content["base"]), "mounts": _mounts(prefix), "variables": {},
    }  # fmt: skip
    if prefix is not None:
        python = prefix.argv[0]
        install.check(engine, image, python)
        built["variables"] = {**prefix.variables, "PATH": install.path_inside(image, built["mounts"][0])}
    else:
        python = install.PYTHON if installs else str(lock.content["interpreter"])
    _write(folder, {**built, "python": python})
    return {"size": max(0, image.size - base.size), "packages": len(packages(lock))}


def _write(folder: Path, built: Mapping[str, Any]) -> None:
    (folder / "bin").mkdir(parents=True)
    (folder / "image.json").write_text(json.dumps(built, indent=1), encoding="utf-8")
    run = [built["program"], "run", "--rm", "--interactive", "--network", "host", "--entrypoint", ""]
    run += [word for path in built["mounts"] for word in install.options(path)]
    run += [word for name, value in built["variables"].items() for word in ("--env", f"{name}={value}")]
    run += [built["id"], built["python"]]
    wrapper = folder / "bin" / "python"
    wrapper.write_text(f'#!/bin/sh\nexec {shlex.join(run)} "$@"\n', encoding="utf-8")
    wrapper.chmod(0o755)


def _read(folder: Path) -> dict[str, Any]:
    return cast("dict[str, Any]", json.loads((folder / "image.json").read_text(encoding="utf-8")))
