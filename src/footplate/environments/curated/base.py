"""The record of one curated environment."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Curated:
    """A curated environment.

    `requirements` are pip's lines; `nearest` is the tested one to use if they cannot be installed. `left_out` lists
    packages of the original that are not installed here. `source_only` lists pure Python packages without a wheel; all
    others must be wheels. `with_mpi` lists additional packages for runs over MPI.
    """

    name: str
    python: str
    requirements: tuple[str, ...]
    nearest: str | None = None
    left_out: tuple[str, ...] = ()
    source_only: tuple[str, ...] = ()
    with_mpi: tuple[str, ...] = ()
