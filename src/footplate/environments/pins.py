"""Resolve requirements into exact pins with hashes, for the requested Python or the nearest one that works."""

from __future__ import annotations

import sysconfig
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from footplate.domain.records import Lock
from footplate.domain.specs import EnvironmentSpec
from footplate.environments import pythons, recipes, uv_errors
from footplate.environments.base import ResolverSettings, Say, make_lock
from footplate.environments.existing import OLDEST
from footplate.environments.pythons import Python, Version
from footplate.environments.requirements import (
    AZUREML_PACKAGES,
    clean,
    is_option,
    local_content,
    name_of,
    uv_arguments,
    without_azureml,
)
from footplate.environments.uv import run_uv
from footplate.errors import InvalidInput

_COMPILE = ("--generate-hashes", "--no-header", "--no-annotate")
_ALWAYS = "2999-01-01"
INSTALLERS = ("pip", "setuptools<81", "wheel")
"""setuptools 81 announces the removal of pkg_resources, which many older packages import."""
_NOTHING: Mapping[str, str] = {}


def lock_requirements(
    builder: str, requirements: Sequence[str], spec: EnvironmentSpec, settings: ResolverSettings, say: Say
) -> Lock:
    """Lock requirements for the Python of `spec`. A conda file that is mapped to PyPI ends up here, too."""
    wanted = without_azureml(clean(requirements), say)
    if spec.interpreter is not None:
        return _content(builder, spec.interpreter, wanted, _pin(wanted, spec.interpreter, settings, say))
    asked = pythons.choose(spec.python, settings.root)
    python = pythons.find(asked, settings.root) or pythons.download(asked, settings.root, say)
    if python is not None:
        # As precise as requested: the node must not use another patch version than the one resolved for.
        version = pythons.dotted(python.version[: max(2, len(asked))])
        return _content(builder, version, wanted, _pin(wanted, python.path, settings, say))
    return _lock_nearest(builder, wanted, asked, settings, say)


def _lock_nearest(builder: str, wanted: Sequence[str], asked: Version, settings: ResolverSettings, say: Say) -> Lock:
    """Lock for the nearest Python for which the requirements can be resolved.

    An old Python version implies packages released at that time. Later releases were never tested with it, and many of
    them break such packages, so versions of that time are tried first.
    """
    available = pythons.by_nearness(asked, pythons.installed(settings.root))
    known = ", ".join(pythons.dotted(python.version) for python in sorted(available, key=lambda one: one.version))
    missing = _why_not(asked)
    if settings.interpreters == "exact":
        raise InvalidInput(
            f"{missing}, and the setting interpreters = exact allows no other",
            f"install it, or request one of the available versions: {known}",
        )
    first: InvalidInput | None = None
    end = pythons.end_of_life(asked)
    waiting = [*((one, end) for one in available if end), *((one, None) for one in available)]
    while waiting:
        python, day = waiting.pop(0)
        say(f"{missing}; trying {pythons.dotted(python.version)}{f' with packages as of {day}' if day else ''}")
        try:
            pins = _pin(wanted, python.path, settings, say, day)
        except InvalidInput as error:
            first = first or error
            waiting = [one for one in waiting if not uv_errors.rules_out(error.message, wanted, one[0].version)]
            continue
        return _content(builder, python.minor, wanted, pins, (_nearest(missing, python, day),))
    raise first or InvalidInput(missing, "install Python 3.8 or newer")


def _nearest(missing: str, python: Python, day: str | None) -> str:
    taken = f"{missing}: the run uses Python {pythons.dotted(python.version)}, the nearest that the packages support"
    return f"{taken}, with packages as of {day}" if day else taken


def _why_not(asked: Version) -> str:
    if asked < OLDEST:
        return f"Python {pythons.dotted(asked)} cannot run jobs, which need at least {pythons.dotted(OLDEST)}"
    return f"Python {pythons.dotted(asked)} is not on this machine"


@dataclass(frozen=True)
class Target:
    """The Python that requirements are pinned for: uv's arguments that select it, and its name in messages."""

    arguments: tuple[str, ...]
    label: str
    settings: ResolverSettings
    say: Say


@dataclass(frozen=True)
class Pins:
    """Exact requirements with hashes, and the packages that recipes build from source."""

    text: str
    recipes: tuple[dict[str, Any], ...] = ()
    warnings: tuple[str, ...] = ()


def _content(builder: str, python: str, wanted: Sequence[str], pins: Pins, warnings: tuple[str, ...] = ()) -> Lock:
    options = [line for line in wanted if is_option(line)]
    platform = sysconfig.get_platform()
    content: dict[str, Any] = {"python": python, "platform": platform, "requirements": pins.text, "options": options}
    if local := local_content(wanted):
        content["local_content"] = local
    if pins.recipes:
        content["recipes"] = list(pins.recipes)
    return make_lock(builder, content, (*warnings, *pins.warnings))


def _pin(wanted: Sequence[str], python: str, settings: ResolverSettings, say: Say, day: str | None = None) -> Pins:
    """Pin the requirements, with `day` to releases up to that day, except for packages that a recipe itself needs."""
    parts = recipes.plan(wanted)
    target = Target(("--python", python), _label(python), settings, say)
    limits = list[str]()
    if day is not None:
        limits = ["--exclude-newer", day]
        limits += [word for name in parts.added for word in ("--exclude-newer-package", f"{name}={_ALWAYS}")]
    pins = pin_with_installers(parts.lines, replace(target, arguments=(*target.arguments, *limits)))
    return _with_recipes(parts, pins, target)


def pin_on_top(wanted: Sequence[str], brought: Mapping[str, str], target: Target) -> Pins:
    """Pin requirements on top of packages that the environment already has: `brought`, name → the build of it."""
    parts = recipes.plan(wanted, brought)
    asked = [line for line in parts.lines if (name_of(line) or "") not in brought]
    pins = _compile(asked, target, [*AZUREML_PACKAGES, *sorted(brought)])
    return _with_recipes(parts, pins, target, brought)


def _with_recipes(parts: recipes.RecipePlan, pins: str, target: Target, brought: Mapping[str, str] = _NOTHING) -> Pins:
    options = [line for line in parts.lines if is_option(line)]
    made = list[dict[str, Any]]()
    for recipe in parts.recipes:
        target.say(f"{recipe.name} {recipe.version} has no wheels: Footplate's recipe builds it from source")
        tools = _compile([*options, *recipe.tools], target)
        made.append(recipes.describe(recipe, pins, tools, brought))
    return Pins(pins, tuple(made), tuple(parts.warnings))


def pin_with_installers(wanted: Sequence[str], target: Target) -> str:
    """Pin the requirements together with pip, setuptools and wheel, which Azure's and conda's environments contain.

    They yield to the requirements: a newer setuptools is taken where one is needed, and an index that lacks them is no
    reason to fail.
    """
    named = set(map(name_of, wanted))
    installers = [line for line in INSTALLERS if name_of(line) not in named]
    alone = all(is_option(line) for line in wanted)
    for lines in (installers, [str(name_of(line)) for line in installers]):
        try:
            return _compile([*wanted, *lines], target)
        except InvalidInput as error:
            conflict = isinstance(error, uv_errors.Unresolvable) and error.mentions(installers)
            if not conflict and not alone:
                raise
            if "setuptools" not in error.message:
                break
    target.say("the environment has no pip, setuptools and wheel: the index does not have them for these requirements")
    return _compile(wanted, target)


def _compile(wanted: Sequence[str], target: Target, left_out: Sequence[str] = AZUREML_PACKAGES) -> str:
    """Return exact pins with hashes; `left_out` packages count as installed."""
    if all(is_option(line) for line in wanted):
        return ""
    settings = target.settings
    settings.root.mkdir(parents=True, exist_ok=True)
    with tempfile.NamedTemporaryFile("w", dir=settings.root, prefix=".left-out-", suffix=".txt") as names:
        names.write("\n".join(left_out) + "\n")
        names.flush()
        arguments = ["pip", "compile", "-", *_COMPILE, "--excludes", names.name, *target.arguments]
        arguments += [*uv_arguments(wanted), *(["--refresh"] if local_content(wanted) else [])]
        text = "\n".join(wanted) + "\n"
        code, pins, messages = run_uv(arguments, target.say, settings.root, text, logins=settings.logins)
    if code != 0:
        raise uv_errors.not_resolved(wanted, target.label, messages)
    return pins


def _label(python: str) -> str:
    version = pythons.version_of(python)
    return f"Python {pythons.dotted(version)}" if version else python
