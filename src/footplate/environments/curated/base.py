"""What a curated environment is."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Curated:
    """`requirements` are lines for pip; `nearest` is the tested one that stands in where they cannot be installed.

    `left_out` is what the original had besides and is not installed here. `source_only` are packages of which no wheel
    exists, and whose source is plain Python; of all others only wheels are taken. `with_mpi` is what a run over MPI
    gets besides.
    """

    name: str
    python: str
    requirements: tuple[str, ...]
    nearest: str | None = None
    left_out: tuple[str, ...] = ()
    source_only: tuple[str, ...] = ()
    with_mpi: tuple[str, ...] = ()
