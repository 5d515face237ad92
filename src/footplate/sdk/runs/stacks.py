"""Stack traces of a running job."""

from __future__ import annotations

import logging
import os
import time
from typing import List

from footplate.domain.stacks import ProcessStacks
from footplate.sdk.exceptions import AzureMLException, UserErrorException
from footplate.sdk.session import Session

_WAIT = 10.0
_log = logging.getLogger(__name__)


def ask(session: Session, run_id: str, timeout: float) -> List[ProcessStacks]:
    """Return the answers of all nodes, or after `timeout` those that arrived; raise if there are none."""
    if not 0 <= timeout < float("inf"):
        raise UserErrorException(f"the timeout is {timeout:g}", hint="give a number of seconds, 0 or more")
    key = os.urandom(8).hex()
    deadline = time.monotonic() + timeout
    while True:
        wait = max(0.0, min(_WAIT, deadline - time.monotonic()))
        stacks = session.api.runs.stacks(run_id, key, wait)
        if not stacks.missing:
            return list(stacks.processes)
        if time.monotonic() >= deadline:
            break
    nodes = ", ".join(str(node) for node in stacks.missing)
    if not stacks.processes:
        raise AzureMLException(
            f"no node of run {run_id} answered within {timeout:g} seconds (nodes: {nodes})",
            hint="a swapping node may need longer: increase timeout_seconds",
        )
    _log.warning("nodes %s of run %s did not answer within %g seconds", nodes, run_id, timeout)
    return list(stacks.processes)
