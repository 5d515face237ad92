"""Resolve requirements into exact pins with hashes. `python_choice` selects the Python that they are resolved for."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from footplate.environments import recipes, torch_builds, uv_errors
from footplate.environments.base import ResolverSettings, Say
from footplate.environments.requirements import AZUREML_PACKAGES, is_option, local_content, name_of, uv_arguments
from footplate.environments.uv import run_uv
from footplate.errors import InvalidInput

_COMPILE = ("--generate-hashes", "--no-header", "--no-annotate")
_ALWAYS = "2999-01-01"
INSTALLERS = ("pip", "setuptools<81", "wheel")
"""setuptools 81 announces the removal of pkg_resources, which many older packages import."""
_ROUNDS = 20
"""Attempts with fewer soft requirements; after them, all are dropped."""

_NOTHING: Mapping[str, str] = {}


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


def pin(
    lines: Sequence[str], soft: Sequence[str], target: Target, day: str | None = None, undated: Sequence[str] = ()
) -> Pins:
    """Pin the requirements, with `day` to releases up to that day, except for packages that a recipe itself needs and
    the `undated` ones."""
    parts = recipes.plan(lines)
    limits: list[str] = []
    if day is not None:
        limits = ["--exclude-newer", day]
        limits += [
            word for name in (*parts.added, *undated) for word in ("--exclude-newer-package", f"{name}={_ALWAYS}")
        ]
        limits += torch_builds.without_dates(parts.lines, target.settings.torch_cpu_index)
    dated = replace(target, arguments=(*target.arguments, *limits))
    text, warnings = pin_softly(parts.lines, [*_installers(parts.lines), *soft], dated)
    return _with_recipes(parts, Pins(text, warnings=warnings), target)


def pin_on_top(lines: Sequence[str], soft: Sequence[str], brought: Mapping[str, str], target: Target) -> Pins:
    """Pin requirements on top of packages that the environment already has: `brought`, name → the build of it."""
    parts = recipes.plan(lines, brought)
    own_lines = [line for line in parts.lines if (name_of(line) or "") not in brought]
    yielding = [line for line in soft if (name_of(line) or "") not in brought]
    text, warnings = pin_softly(own_lines, yielding, target, [*AZUREML_PACKAGES, *sorted(brought)])
    return _with_recipes(parts, Pins(text, warnings=warnings), target, brought)


def _with_recipes(parts: recipes.RecipePlan, pins: Pins, target: Target, brought: Mapping[str, str] = _NOTHING) -> Pins:
    options = [line for line in parts.lines if is_option(line)]
    builds: list[dict[str, Any]] = []
    for recipe in parts.recipes:
        target.say(f"{recipe.name} {recipe.version} has no wheels: Footplate's recipe builds it from source")
        tools = _compile([*options, *recipe.tools], target)
        builds.append(recipes.describe(recipe, pins.text, tools, brought))
    return Pins(pins.text, tuple(builds), (*parts.warnings, *pins.warnings))


# ── Soft requirements ─────────────────────────────────────────────────────────────────────────────────────────────────


def pin_with_installers(lines: Sequence[str], soft: Sequence[str], target: Target) -> tuple[str, tuple[str, ...]]:
    """Pin the requirements together with soft ones and the installers; return the pins, and warnings."""
    return pin_softly(lines, [*_installers(lines), *soft], target)


def _installers(lines: Sequence[str]) -> list[str]:
    """Return pip, setuptools and wheel, which Azure's and conda's environments contain, unless a line names them."""
    named = set(map(name_of, lines))
    return [line for line in INSTALLERS if name_of(line) not in named]


def pin_softly(
    firm: Sequence[str], soft: Sequence[str], target: Target, left_out: Sequence[str] = AZUREML_PACKAGES
) -> tuple[str, tuple[str, ...]]:
    """Pin the requirements together with soft ones, which yield to them; return the pins, and warnings.

    A soft line that no solution admits loses its bounds, and then its place. It never builds a package from source.
    """
    lines = list(soft)
    dropped: list[str] = []
    excluded: list[str] = []
    for _ in range(_ROUNDS):
        messages: list[str] = []
        try:
            pins = _compile([*firm, *_only_wheels(lines), *lines], replace(target, say=messages.append), left_out)
            break
        except InvalidInput as error:
            blamed = _find_blamed(error, firm, lines)
            if not blamed:
                raise
            messages.clear()  # a failure of soft lines is not one
            lost = [line for line in blamed if _bare(line) == line or f"{name_of(line)} was not found" in error.message]
            dropped += lost
            excluded += [line for line in blamed if line not in (*lost, *INSTALLERS)]
            lines = [_bare(line) if line in blamed else line for line in lines if line not in lost]
        finally:
            for words in messages:
                target.say(words)
    else:
        dropped += lines
        pins = _compile(firm, target, left_out)
    if dropped:
        target.say(f"left out, because the index has none for these requirements: {', '.join(dropped)}")
    return pins, _about_excluded(excluded, dropped)


def _only_wheels(soft: Sequence[str]) -> list[str]:
    return [f"--only-binary {name_of(line)}" for line in soft if line not in INSTALLERS]


def _bare(line: str) -> str:
    """Return the line without its bounds; its marker stays."""
    name = name_of(line)
    marker = line.partition(";")[2].strip()
    return f"{name} ; {marker}" if marker else str(name)


def _find_blamed(error: InvalidInput, firm: Sequence[str], soft: Sequence[str]) -> list[str]:
    """Return the soft lines that a failure is about; without any other line, that is all of them."""
    culprits = uv_errors.find_blamed(soft, error.message) if isinstance(error, uv_errors.Unresolvable) else []
    alone = all(is_option(line) for line in firm)
    return culprits or (list(soft) if alone else [])


def _about_excluded(excluded: Sequence[str], dropped: Sequence[str]) -> tuple[str, ...]:
    lost = {name_of(line) for line in dropped}
    bounds = [line for line in excluded if name_of(line) not in lost]
    if not bounds:
        return ()
    return (f"Azure's packages limited these, and the other requirements exclude that: {', '.join(bounds)}",)


def _compile(lines: Sequence[str], target: Target, left_out: Sequence[str] = AZUREML_PACKAGES) -> str:
    """Return exact pins with hashes; `left_out` packages count as installed."""
    if all(is_option(line) for line in lines):
        return ""
    settings = target.settings
    settings.root.mkdir(parents=True, exist_ok=True)
    with tempfile.NamedTemporaryFile("w", dir=settings.root, prefix=".left-out-", suffix=".txt") as names:
        names.write("\n".join(left_out) + "\n")
        names.flush()
        arguments = ["pip", "compile", "-", *_COMPILE, "--excludes", names.name, *target.arguments]
        arguments += [*uv_arguments(lines), *(["--refresh"] if local_content(lines) else [])]
        text = "\n".join(lines) + "\n"
        code, pins, messages = run_uv(arguments, target.say, settings.root, text, logins=settings.logins)
    if code != 0:
        raise uv_errors.not_resolved(lines, target.label, messages)
    return pins
