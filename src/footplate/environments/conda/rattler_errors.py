"""rattler's exceptions with types: they are defined in Rust, and the type checker cannot see them."""

from __future__ import annotations

from rattler import exceptions as _theirs

GatewayError: type[Exception] = _theirs.GatewayError  # pyright: ignore[reportUnknownMemberType]
InvalidMatchSpecError: type[Exception] = _theirs.InvalidMatchSpecError  # pyright: ignore[reportUnknownMemberType]
SolverError: type[Exception] = _theirs.SolverError  # pyright: ignore[reportUnknownMemberType]
INSTALLING: tuple[type[Exception], ...] = (
    _theirs.InstallerError,  # pyright: ignore[reportUnknownMemberType]
    _theirs.LinkError,  # pyright: ignore[reportUnknownMemberType]
    _theirs.TransactionError,  # pyright: ignore[reportUnknownMemberType]
    _theirs.IoError,  # pyright: ignore[reportUnknownMemberType]
    OSError,
)
