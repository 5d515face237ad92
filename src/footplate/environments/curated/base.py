"""The record of one curated environment."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True)
class Curated:
    """A curated environment.

    `requirements` are pip's lines, resolved to releases up to `day`. `nearest` is the tested environment of the same
    framework that is used if they cannot be installed; `similar` is one of another framework, which error messages
    name. `unavailable` is the reason why an environment cannot exist here. `deviations` tell how it differs from
    Azure's, and `left_out` lists packages of the original that are not installed. `source_only` lists pure Python
    packages without a wheel; all others must be wheels. `with_mpi` lists additional packages for runs over MPI, and
    `variables` environment variables.
    """

    name: str
    python: str
    requirements: tuple[str, ...]
    nearest: str | None = None
    left_out: tuple[str, ...] = ()
    source_only: tuple[str, ...] = ()
    with_mpi: tuple[str, ...] = ()
    day: str | None = None
    deviations: tuple[str, ...] = ()
    similar: str | None = None
    unavailable: str | None = None
    variables: dict[str, str] = field(default_factory=lambda: {})
