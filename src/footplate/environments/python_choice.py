"""Lock requirements for the requested Python, for one that admits them if we may choose, or for the nearest one."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from footplate.domain.locks import AZUREML, TENSORFLOW1
from footplate.domain.orders import Lock
from footplate.domain.specs import EnvironmentSpec
from footplate.environments import adaptations, azureml_dependencies, machine, pythons, uv_errors
from footplate.environments.adaptations import Adapted
from footplate.environments.base import OLDEST, ResolverSettings, Say, make_lock
from footplate.environments.pins import Pins, Target, pin
from footplate.environments.pythons import Python, Version
from footplate.environments.requirements import clean, is_option, local_content, name_of, without_azureml
from footplate.errors import InvalidInput

DAY = "released until"
"""Key of a spec's options: the day up to which releases are installed."""

_PINNED = re.compile(r"[^;=<>!~]+===?\s*[^,;\s]+\s*(;.*)?")
_NO_WHEEL = re.compile(r"([A-Za-z0-9._-]+)(?:[=<>]\S+(?:\s+\1[=<>]\S+)*)?\s+ha(?:s|ve) no (?:usable )?wheels")


def lock_requirements(
    builder: str, requirements: Sequence[str], spec: EnvironmentSpec, settings: ResolverSettings, say: Say
) -> Lock:
    """Lock requirements for the Python of `spec`. A conda file that is mapped to PyPI ends up here, too."""
    lines = clean(requirements)
    adapted = adaptations.adapt(
        without_azureml(lines, say), azureml_dependencies.find_dependencies(lines),
        mpi=adaptations.needs_mpi(spec.options, lines) and not machine.has_mpi(settings),
        settings=settings,
    )  # fmt: skip
    job = _Locking(builder, adapted, azureml_dependencies.versions(lines), settings, say, spec.options.get(DAY))
    if spec.interpreter is not None:
        return job.content(spec.interpreter, job.pin(machine.python_at(spec.interpreter, settings)))
    version_requested = (
        machine.default_version(settings)
        if spec.python is None
        else pythons.choose(spec.python, lambda: machine.installed(settings))
    )
    python = machine.find_python(version_requested, settings, say)
    if python is None:
        return job.lock_nearest(version_requested)
    if pythons.is_our_choice(spec.python) and settings.interpreters != "exact":
        return job.lock_freely(python)
    # As precise as requested: the node must not use another patch version than the one resolved for.
    version = pythons.dotted(python.version[: max(2, len(version_requested))])
    return job.content(version, job.pin(python))


@dataclass(frozen=True)
class _Locking:
    """One request: requirements, and versions of the azureml packages."""

    builder: str
    adapted: Adapted
    azureml: Mapping[str, str]
    settings: ResolverSettings
    say: Say
    day: str | None = None

    @property
    def wanted(self) -> Sequence[str]:
        return self.adapted.lines

    def pin(
        self, python: Python, day: str | None = None, options: Sequence[str] = (), limits: Sequence[str] = ()
    ) -> Pins:
        select = machine.uv_selection(python, self.settings)
        target = Target((*select, *limits), _label(python), self.settings, self.say)
        return pin([*options, *self.wanted], self.adapted.soft, target, day or self.day, self.adapted.undated)

    def content(self, python: str, pins: Pins, warnings: tuple[str, ...] = ()) -> Lock:
        options = [line for line in self.wanted if is_option(line)]
        platform = machine.platform_of(self.settings)
        content: dict[str, Any] = {
            "python": python, "platform": platform, "requirements": pins.text, "options": options
        }  # fmt: skip
        if local := local_content(self.wanted):
            content["local_content"] = local
        if pins.recipes:
            content["recipes"] = list(pins.recipes)
        if self.adapted.replaces_tensorflow1:
            content[TENSORFLOW1] = True
        if self.azureml:
            content[AZUREML] = dict(self.azureml)
        return make_lock(self.builder, content, (*warnings, *self.adapted.warnings, *pins.warnings))

    # ── A Python that we choose ──

    def lock_freely(self, preferred: Python) -> Lock:
        """Lock for the preferred Python, or for the nearest one that the pinned packages have wheels for.

        A package that has no wheels for any Python is built from source.
        """
        others = pythons.by_nearness(preferred.version, machine.installed(self.settings))
        order = [preferred, *(one for one in others if one.minor != preferred.minor)]
        pinned = [str(name_of(line)) for line in self.wanted if not is_option(line) and _PINNED.fullmatch(line)]
        only_source: set[str] = set()
        while True:
            names = [name for name in pinned if name not in only_source]
            choice, missing = self._first_with_wheels(order, names)
            if choice is not None:
                return choice
            if len(missing) != 1 or missing <= only_source | {""}:
                return self.content(preferred.minor, self.pin(preferred))
            only_source |= missing

    def _first_with_wheels(self, order: Sequence[Python], names: Sequence[str]) -> tuple[Lock | None, set[str]]:
        """Return the lock for the first Python with wheels of these packages; else the packages that lack wheels."""
        options = [f"--only-binary {name}" for name in names]
        first = ""
        missing: set[str] = set()
        for python in order:
            try:
                pins = self.pin(python, options=options)
            except InvalidInput as error:
                match = _NO_WHEEL.search(error.message)
                missing.add(match[1] if match else "")
                why = " ".join(match[0].split()) if match else ""
                first = first or why or "the requirements cannot be resolved"
                self.say(f"not for Python {pythons.dotted(python.version)}: {why or error.message}")
                continue
            return self.content(python.minor, pins, _other(order[0], python, first)), missing
        return None, missing

    # ── A Python that is missing ──

    def lock_nearest(self, requested: Version) -> Lock:
        """Lock for the nearest Python for which the requirements can be resolved.

        An old Python version implies packages released at that time. Later releases were never tested with it, and
        many of them break such packages, so versions of that time are tried first. Packages that dropped that Python
        earlier, and that no line bounds, are as old as their last release for it: scripts for Python 3.7 use np.float.
        """
        available = pythons.by_nearness(requested, machine.installed(self.settings))
        versions = ", ".join(
            pythons.dotted(python.version) for python in sorted(available, key=lambda one: one.version)
        )
        missing = _why_not(requested, machine.label(self.settings))
        if self.settings.interpreters == "exact":
            raise InvalidInput(
                f"{missing}, and the setting interpreters = exact allows no other",
                f"install it, or request one of the available versions: {versions}",
            )
        first: InvalidInput | None = None
        end = pythons.end_of_life(requested)
        limits = self._last_releases(requested)
        waiting = [*((one, end) for one in available if end), *((one, None) for one in available)]
        while waiting:
            python, day = waiting.pop(0)
            dated = f" with packages as of {day}" if day else ""
            self.say(f"{missing}; trying {pythons.dotted(python.version)}{dated}")
            try:
                pins = self.pin(python, day, limits=limits if day else ())
            except InvalidInput as error:
                first = first or error
                waiting = [
                    one for one in waiting if not uv_errors.rules_out(error.message, self.wanted, one[0].version)
                ]
                continue
            return self.content(python.minor, pins, (_nearest(missing, python, day),))
        raise first or InvalidInput(missing, "install Python 3.8 or newer")

    def _last_releases(self, requested: Version) -> list[str]:
        bounded = {name_of(line) for line in self.wanted if name_of(line) != line.strip().lower()}
        days = {name: day for name, day in pythons.last_releases(requested).items() if name not in bounded}
        return [word for name, day in days.items() for word in ("--exclude-newer-package", f"{name}={day}")]


def _other(preferred: Python, chosen: Python, why: str) -> tuple[str, ...]:
    if chosen is preferred:
        return ()
    version = pythons.dotted(chosen.version)
    return (f"no Python version was requested, and {why} for {preferred.minor}: the run uses Python {version}",)


def _nearest(missing: str, python: Python, day: str | None) -> str:
    words = f"{missing}: the run uses Python {pythons.dotted(python.version)}, the nearest that the packages support"
    return f"{words}, with packages as of {day}" if day else words


def _why_not(requested: Version, where: str) -> str:
    if requested < OLDEST:
        return f"Python {pythons.dotted(requested)} cannot run jobs, which need at least {pythons.dotted(OLDEST)}"
    return f"Python {pythons.dotted(requested)} is not on {where}"


def _label(python: Python) -> str:
    version = python.version or pythons.version_of(python.path)
    return f"Python {pythons.dotted(version)}" if version else python.path
