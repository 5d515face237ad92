"""Azure's telemetry switch. Footplate collects nothing, so there is nothing to switch."""

from __future__ import annotations

from typing import Any, Optional


def set_diagnostics_collection(
    send_diagnostics: bool = True, verbosity: Any = None, reason: str = "", path: Optional[str] = None
) -> None:
    """Accepted; nothing is ever sent."""
