"""Azure's telemetry switch. Footplate collects nothing, so it has no effect."""

from __future__ import annotations

from typing import Any, Optional

from footplate.sdk.values.wrong_types import explained


@explained
def set_diagnostics_collection(
    send_diagnostics: bool = True, verbosity: Any = None, reason: str = "", path: Optional[str] = None
) -> None:
    """Do nothing: Footplate collects no telemetry.

    Args:
        send_diagnostics, verbosity, reason, path: Accepted and ignored.

    Example:
        set_diagnostics_collection(send_diagnostics=False)
    """
