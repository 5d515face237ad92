"""Lock a conda file with py-rattler: exact packages of its channels, and pip's section resolved on top."""

from __future__ import annotations

import asyncio
import contextlib
import platform
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from rattler import (
    ChannelPriority,
    Gateway,
    MatchSpec,
    Override,
    RepoDataRecord,
    Subdir,
    VirtualPackage,
    VirtualPackageOverrides,
    solve,
)

from footplate.domain.locks import AZUREML, TENSORFLOW1
from footplate.domain.orders import Lock
from footplate.domain.specs import EnvironmentSpec
from footplate.environments import adaptations, azureml_dependencies, machine, pythons, recipes
from footplate.environments.adaptations import Adapted
from footplate.environments.base import OLDEST, ResolverSettings, Say, make_lock, without_prefix
from footplate.environments.conda import STORE, channels, package_names, package_records
from footplate.environments.conda.channel_logins import GatewayError, InvalidMatchSpecError, SolverError, config
from footplate.environments.pins import INSTALLERS, Pins, Target, pin_on_top
from footplate.environments.requirements import (
    conda_lines,
    is_option,
    local_content,
    name_of,
    pip_lines,
    without_azureml,
)
from footplate.environments.uv import uv_platform
from footplate.environments.uv_errors import clashing
from footplate.errors import InvalidInput, Unavailable

BUILDER = "conda"
_NEWEST = (3, 15)
_PLAIN = re.compile(r"\s*(\d+(?:\.\d+)*)(?:\.\*)?\s*")


@dataclass(frozen=True)
class CondaRequest:
    """The request to the channels. `python` is the line about Python, which may be replaced; `libc` is the version of
    the C library to solve for, if not the machine's.
    """

    lines: tuple[str, ...]
    python: str
    channels: tuple[str, ...]
    pip: tuple[str, ...]
    libc: str | None = None


def lock(spec: EnvironmentSpec, settings: ResolverSettings, say: Say, libc: str | None = None) -> Lock:
    request = replace(_read_request(spec, say), libc=libc)
    say(f"solving {len(request.lines) + 1} packages from {', '.join(request.channels)}")
    solution, warnings = _solve_for_jobs(request, settings, say)
    say(f"{len(solution)} packages, Python {_python_of(solution)}")
    adapted = _adapt(request, spec, solution, settings, say)
    pins = _pin_pip(request, adapted, solution, settings, say)
    options = [line for line in request.pip if is_option(line)]
    content: dict[str, Any] = {
        "python": pythons.dotted(_version_of(solution)[:2]),
        "platform": str(_subdir(settings)),
        "packages": sorted((package_records.describe(record) for record in solution), key=lambda one: one["name"]),
        "requirements": pins.text,
        "options": options,
    }
    if local := local_content(request.pip):
        content["local_content"] = local
    if pins.recipes:
        content["recipes"] = list(pins.recipes)
    if pinned := azureml_dependencies.versions(request.pip):
        content[AZUREML] = pinned
    if adapted.replaces_tensorflow1:
        content[TENSORFLOW1] = True
    if libc is not None:
        content["wheels_for"] = uv_platform(platform.machine(), libc)
    return make_lock(BUILDER, content, (*warnings, *adapted.warnings, *pins.warnings))


# ── What is asked ─────────────────────────────────────────────────────────────────────────────────────────────────────


def _read_request(spec: EnvironmentSpec, say: Say) -> CondaRequest:
    lines = without_azureml([line.strip() for line in conda_lines(spec, "dependencies")], say)
    own = f"python={spec.python}" if spec.python and _PLAIN.fullmatch(spec.python) else f"python {spec.python or ''}"
    python = next((line for line in lines if _name(line) == "python"), own.strip())
    rest = tuple(line for line in lines if _name(line) != "python")
    return CondaRequest(rest, python, tuple(channels.addresses_of(spec)), tuple(pip_lines(spec)))


def _name(line: str) -> str:
    match = re.match(r"(?:[^\s\[\]]+::)?([A-Za-z0-9_][A-Za-z0-9._+-]*)", line.strip())
    return match[1].lower() if match else line


def _match_spec(line: str) -> MatchSpec:
    """Parse a package line; `channel::package` may use any name of the channel, but the solver needs its address."""
    if "::" in line:
        name, rest = line.split("::", 1)
        addresses = channels.read_settings().addresses(name.strip())
        line = f"{addresses[0]}::{rest.strip()}" if len(addresses) == 1 else rest
    try:
        return MatchSpec(line, strict=False)
    except InvalidMatchSpecError as error:
        raise InvalidInput(f"{line!r} is not a conda package: {error}", "write it as in: numpy=1.26") from None


# ── Solving ───────────────────────────────────────────────────────────────────────────────────────────────────────────


def _solve_for_jobs(
    request: CondaRequest, settings: ResolverSettings, say: Say
) -> tuple[list[RepoDataRecord], tuple[str, ...]]:
    """Solve with the requested Python, or with the oldest one that can run jobs if that is too old."""
    try:
        solution = _solve(request, settings, say, request.python)
        if _version_of(solution)[:2] >= OLDEST:
            return solution, ()
        first = InvalidInput(
            f"{request.python!r} gives Python {_python_of(solution)}, and jobs need at least {pythons.dotted(OLDEST)}",
            f"request python={pythons.dotted(OLDEST)} or newer",
        )
    except InvalidInput as error:
        if not _asks_for_an_old_one(request.python) and not _is_our_choice(request.python):
            raise
        first = error
    if settings.interpreters == "exact":
        raise first
    for minor in range(OLDEST[1], _NEWEST[1] + 1):
        try:
            solution = _solve(request, settings, say, f"python=3.{minor}")
        except InvalidInput:
            continue
        why = "does not fit the packages" if _is_our_choice(request.python) else "cannot run jobs"
        warning = f"{request.python} {why}: the run uses Python {_python_of(solution)}, the nearest that does"
        return solution, (warning,)
    raise first


def _is_our_choice(line: str) -> bool:
    return pythons.is_our_choice(without_prefix(line.strip(), "python"))


def _asks_for_an_old_one(line: str) -> bool:
    match = re.search(r"=\s*(\d+)\.(\d+)", line)
    return match is not None and (int(match[1]), int(match[2])) < OLDEST


def _solve(request: CondaRequest, settings: ResolverSettings, say: Say, python: str) -> list[RepoDataRecord]:
    lines = [python, *request.lines]
    priority = channels.read_settings().priority
    first = ChannelPriority.Disabled if priority in ("disabled", "false") else ChannelPriority.Strict
    named = set(map(_name, lines))
    try:
        with contextlib.suppress(SolverError):
            return _ask([*lines, *(line for line in INSTALLERS if _name(line) not in named)], request, settings, first)
        return _ask(lines, request, settings, first)
    except SolverError as error:
        words = str(error).strip()
    if first is ChannelPriority.Strict and priority != "strict" and len(request.channels) > 1:
        # Like conda: a later channel may help where the first one that has a package does not suffice.
        try:
            solution = _ask(lines, request, settings, ChannelPriority.Disabled)
            say("packages of several channels are mixed, because the first channel that has them does not suffice")
            return solution
        except SolverError:
            pass
    raise InvalidInput(
        f"the conda packages cannot be solved:\n{words}{clashing(lines, words, _name)}",
        "loosen or correct one of the lines above, or add the channel that has the package",
    )


def _ask(
    lines: Sequence[str], request: CondaRequest, settings: ResolverSettings, priority: ChannelPriority
) -> list[RepoDataRecord]:
    specs = [_match_spec(line) for line in lines]
    virtual = VirtualPackage.detect(_overrides(request, settings))
    sources = list(request.channels)
    platforms = [_subdir(settings), Subdir("noarch")]
    try:
        with config(settings.logins) as rattler_config:
            gateway = Gateway.from_config(rattler_config, cache_dir=settings.root / STORE / "repodata")
            return asyncio.run(
                solve(
                    sources, specs, gateway=gateway, platforms=platforms, virtual_packages=virtual,
                    channel_priority=priority,
                )
            )  # fmt: skip
    except GatewayError as error:
        raise Unavailable(
            f"the package index of a conda channel cannot be read: {settings.logins.conceal(str(error))}",
            "check the channel's name and your permission to read it; then submit again",
        ) from None


def _overrides(request: CondaRequest, settings: ResolverSettings) -> VirtualPackageOverrides:
    """Return what to assume instead of what this machine has; CONDA_OVERRIDE_* of the user come first."""
    overrides = VirtualPackageOverrides.from_env()
    node = settings.node
    if node is not None:
        versions = {"cuda": node.cuda if node.gpu else "", "archspec": node.machine}
        for name, value in versions.items():
            if f"CONDA_OVERRIDE_{name.upper()}" not in channels.overrides():
                setattr(overrides, name, Override.string(value))
    libc = request.libc or (node.libc if node is not None else None)
    if libc:
        overrides.libc = Override.string(libc)
    return overrides


def _subdir(settings: ResolverSettings) -> Subdir:
    """Return conda's name for the platform of the machine that will run the environment."""
    own = platform.machine()
    if settings.node is None or settings.node.machine == own:
        return Subdir.current()
    return Subdir("linux-64" if settings.node.machine == "x86_64" else f"linux-{settings.node.machine}")


def _version_of(solution: Sequence[RepoDataRecord]) -> tuple[int, ...]:
    parts = re.findall(r"\d+", _python_of(solution))
    return tuple(int(part) for part in parts[:3])


def _python_of(solution: Sequence[RepoDataRecord]) -> str:
    for record in solution:
        if record.name.normalized == "python":
            return str(record.version)
    raise InvalidInput(
        "the conda packages do not include python", "add one to the dependencies, for example: python=3.11"
    )


# ── pip's section ─────────────────────────────────────────────────────────────────────────────────────────────────────


def _adapt(
    request: CondaRequest,
    spec: EnvironmentSpec,
    solution: Sequence[RepoDataRecord],
    settings: ResolverSettings,
    say: Say,
) -> Adapted:
    """Adapt pip's section to this machine; an MPI of the channels serves as well as one of the machine. A container
    sees nothing of the machine's."""
    has_mpi = any(record.name.normalized in adaptations.MPIS for record in solution)
    has_mpi |= machine.has_mpi(settings) and not spec.options.get("docker")
    return adaptations.adapt(
        without_azureml(request.pip, say), azureml_dependencies.find_dependencies(request.pip),
        mpi=adaptations.needs_mpi(spec.options, request.pip) and not has_mpi, settings=settings,
    )  # fmt: skip


def _pin_pip(
    request: CondaRequest, adapted: Adapted, solution: Sequence[RepoDataRecord], settings: ResolverSettings, say: Say
) -> Pins:
    """Resolve pip's section like pip does in such an environment: conda's packages stay unless a line needs another
    version."""
    lines = adapted.lines
    brought = _packages_for_pip(solution)
    for line in lines:
        name = name_of(line)
        if name in brought and not package_names.admits(line, str(brought[name].version)):
            say(f"{line}: pip replaces conda's {name} {brought[name].version}")
            del brought[name]
    own_lines = [line for line in lines if (name_of(line) or "") not in brought]
    builds = {
        name: f"{name}=={record.version} of {record.file_name} {(record.sha256 or b'').hex()}"
        for name, record in brought.items()
    }
    select = ["--python-version", _python_of(solution)]
    if request.libc is not None:
        select += ["--python-platform", uv_platform(platform.machine(), request.libc)]
    elif settings.node is not None:
        select += ["--python-platform", machine.node_platform(settings.node)]
    return pin_on_top(
        own_lines, adapted.soft, builds, Target(tuple(select), f"Python {_python_of(solution)}", settings, say)
    )


def _packages_for_pip(solution: Sequence[RepoDataRecord]) -> dict[str, RepoDataRecord]:
    """Return the conda packages that contain Python, and the libraries that recipes link against, by their PyPI
    names."""
    by_name: dict[str, RepoDataRecord] = {}
    for record in solution:
        name = package_names.on_pypi(record.name.normalized)
        if name in recipes.linkable() or any(re.match(r"python(_abi)?\b", need) for need in record.depends):
            by_name[name] = record
    return by_name
