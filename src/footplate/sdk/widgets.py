"""`RunDetails(run).show()`: a table in a notebook, one line anywhere else."""

from __future__ import annotations

import sys
from typing import Any, Dict, Optional

from footplate.domain.runs.run_status import visible_status
from footplate.sdk.run import Run
from footplate.sdk.values.wrong_types import explained


@explained
class RunDetails:
    """The widget of a run: a table in a notebook, one line anywhere else.

    Args:
        run_instance: The run to show.

    Example:
        details = RunDetails(run)
        details.show()
        print(details.get_widget_data()["status"])
    """

    def __init__(self, run_instance: Run) -> None:
        self._run = run_instance

    def show(self, render_lib: Any = None, widget_settings: Optional[Dict[str, Any]] = None) -> None:
        """Show the run once: as a table in a notebook, otherwise as a line with the command that follows it.

        Args:
            render_lib: Accepted and ignored.
            widget_settings: Accepted and ignored.
        """
        self._run.get_status()
        if not _display(self._run):
            status = visible_status(self._run.view.status, self._run.view.waiting)
            print(f"Run {self._run.id}: {status}; follow it with: footplate runs logs -f {self._run.id}")

    def get_widget_data(self, widget_settings: Optional[Dict[str, Any]] = None) -> Dict[str, Any]:
        """Return the data of Azure's widget.

        Args:
            widget_settings: Accepted and ignored.

        Returns:
            A dict with `status`, `run_id`, `run_properties`, `run_metrics` and `workbench_run_details_uri`.
        """
        return {
            "status": self._run.get_status(),
            "run_properties": self._run.get_details(),
            "run_metrics": self._run.get_metrics(),
            "run_id": self._run.id,
            "workbench_run_details_uri": self._run.get_portal_url(),
        }


def _display(run: Run) -> bool:
    """Show the run's table if this code runs in a notebook. IPython is never imported: it may be absent."""
    shell: Any = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    if shell is None or not hasattr(shell, "kernel"):
        return False
    sys.modules["IPython"].display.display(run)  # type: ignore[attr-defined]
    return True
