"""Conda files without conda: packages come from PyPI where their names can be mapped safely; a warning lists them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from footplate.domain.orders import Lock
from footplate.domain.specs import EnvironmentSpec
from footplate.environments.base import ResolverSettings, Say
from footplate.environments.conda import package_names
from footplate.environments.python_choice import lock_requirements
from footplate.environments.requirements import conda_lines, is_azureml

BUILDER = "conda"
MAPPED_TO_PYPI = "conda packages are installed from PyPI: "


@dataclass
class Mapping:
    """The result for one conda file: a Python, lines for pip, and warnings."""

    python: str | None = None
    requirements: list[str] = field(default_factory=lambda: [])
    mapped: list[str] = field(default_factory=lambda: [])
    dropped: list[str] = field(default_factory=lambda: [])

    def warnings(self) -> tuple[str, ...]:
        mapped = [MAPPED_TO_PYPI + ", ".join(self.mapped)] if self.mapped else []
        return (*mapped, *self.dropped)


def lock(spec: EnvironmentSpec, settings: ResolverSettings, say: Say) -> Lock:
    mapping = map_packages(conda_lines(spec, "dependencies"))
    for line in mapping.warnings():
        say(line)
    lines = [*spec.requirements, *mapping.requirements, *conda_lines(spec, "pip")]
    chosen = replace(spec, python=mapping.python or spec.python)
    locked = lock_requirements(BUILDER, lines, chosen, settings, say)
    return replace(locked, warnings=(*mapping.warnings(), *locked.warnings))


def map_packages(dependencies: Sequence[str]) -> Mapping:
    mapping = Mapping()
    for text in dependencies:
        spec = package_names.parse(text)
        if spec.name == "python":
            mapping.python = spec.version or None
            continue
        line = spec.text if is_azureml(spec.name) else package_names.to_requirement(spec)
        if line is None:
            mapping.dropped.append(f"{spec.text} is left out: {package_names.LEFT_OUT[package_names.key(spec.name)]}")
            continue
        mapping.requirements.append(line)
        mapping.mapped.append(line if line == spec.text else f"{spec.text} → {line}")
        if spec.build is not None:
            mapping.dropped.append(f"the build {spec.build!r} of {spec.text} is ignored: PyPI has no such builds")
    return mapping
