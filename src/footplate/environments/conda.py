"""Conda files. Their packages come from PyPI, where the names can be mapped safely, and the run is told how they were.

`options["conda"]` of the spec: `{"channels": […], "dependencies": ["numpy=1.26", …], "pip": [lines]}`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from footplate.domain.records import Lock
from footplate.domain.specs import EnvironmentSpec
from footplate.environments import conda_names
from footplate.environments.base import Interpreter, Say, Workshop
from footplate.environments.requirements import is_ours
from footplate.environments.venv import VenvBuilder, lock_requirements


@dataclass
class Mapping:
    """What a conda file becomes: a Python, lines for pip, and what the user should know about it."""

    python: str | None = None
    requirements: list[str] = field(default_factory=list[str])
    mapped: list[str] = field(default_factory=list[str])
    dropped: list[str] = field(default_factory=list[str])

    def warnings(self) -> tuple[str, ...]:
        told = [f"conda packages are installed from PyPI: {', '.join(self.mapped)}"] if self.mapped else []
        return (*told, *self.dropped)


class CondaBuilder:
    name = "conda"

    def lock(self, spec: EnvironmentSpec, workshop: Workshop, say: Say) -> Lock:
        wanted: dict[str, Any] = spec.options.get("conda") or {}
        found = map_packages([str(line) for line in wanted.get("dependencies") or ()])
        for line in found.warnings():
            say(line)
        lines = [*spec.requirements, *found.requirements, *(str(line) for line in wanted.get("pip") or ())]
        chosen = replace(spec, python=found.python or spec.python)
        lock = lock_requirements(self.name, lines, chosen, workshop, say)
        return replace(lock, warnings=(*found.warnings(), *lock.warnings))

    def build(self, lock: Lock, root: Path, say: Say) -> Interpreter:
        return VenvBuilder().build(lock, root, say)


def map_packages(dependencies: Sequence[str]) -> Mapping:
    found = Mapping()
    for text in dependencies:
        spec = conda_names.parse(text)
        if spec.name == "python":
            found.python = spec.version or None
            continue
        line = spec.text if is_ours(spec.name) else conda_names.to_requirement(spec)
        if line is None:
            found.dropped.append(f"{spec.text} is left out: {conda_names.SELECTORS[spec.name]}")
            continue
        found.requirements.append(line)
        found.mapped.append(line if line == spec.text else f"{spec.text} → {line}")
        if spec.build is not None:
            found.dropped.append(f"the build {spec.build!r} of {spec.text} is not asked for: PyPI has no such builds")
    return found
