"""The run of a submitted script."""

from __future__ import annotations

from footplate.sdk.config.script_run_config import SCRIPT_RUN
from footplate.sdk.runs.run import TYPES, Run


class ScriptRun(Run):
    """What `experiment.submit(ScriptRunConfig(…))` returns. It goes on without the process that submitted it."""


TYPES[SCRIPT_RUN] = ScriptRun
