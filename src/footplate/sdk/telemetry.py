"""Azure's telemetry switch. Footplate collects nothing, so it has no effect."""

from __future__ import annotations

from typing import Any, Optional


def set_diagnostics_collection(
    send_diagnostics: bool = True, verbosity: Any = None, reason: str = "", path: Optional[str] = None
) -> None:
    """Accept the call; nothing is ever sent."""
