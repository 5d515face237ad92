"""Runs: their records, metrics, files and waits.

interactive     runs that this process executes: `experiment.start_logging` and child runs
heartbeat       heartbeats of interactive runs, for a server on another machine
handle          RunHandle: identity, status, tags, properties
logging_run     LoggingRun, on top of it: the `log_*` methods
stored_run      StoredRun, on top of that: metrics, files, details, snapshots, waiting
controlled_run  ControlledRun, the last of these bases: waiting, ending, starting again
metrics         values that can be logged, and the shapes that `get_metrics` returns
recorder        the journal of a run that this process logs to
shipping        sends journals and logs to the server, also those that a killed process left behind
output_capture  copies stdout and stderr into `./logs` during `with run:`
files           uploads and downloads of a run's files
snapshots       copies of the source folder
streaming       `wait_for_completion`, silent or with the output
comparison      `run.diff`: everything that two runs do not have in common
details         dictionaries, tables and errors that describe a run
stacks          stack traces of a running job
filters         tags, properties and statuses as a query
status          the names of a run's states

`footplate.sdk.run` has `Run` itself. `tests/e2e/test_sdk_*.py` cover handle, stored_run, files, snapshots, details and
stacks; `tests/e2e/test_cli_runs.py` covers comparison.
"""

from __future__ import annotations

from footplate.lazy import lazy_submodules

TYPE_CHECKING = False  # typing's own costs 8 ms
if TYPE_CHECKING:
    from footplate.sdk.runs import comparison as comparison
    from footplate.sdk.runs import details as details
    from footplate.sdk.runs import files as files
    from footplate.sdk.runs import filters as filters
    from footplate.sdk.runs import heartbeat as heartbeat
    from footplate.sdk.runs import interactive as interactive
    from footplate.sdk.runs import metrics as metrics
    from footplate.sdk.runs import output_capture as output_capture
    from footplate.sdk.runs import recorder as recorder
    from footplate.sdk.runs import shipping as shipping
    from footplate.sdk.runs import snapshots as snapshots
    from footplate.sdk.runs import stacks as stacks
    from footplate.sdk.runs import status as status
    from footplate.sdk.runs import streaming as streaming
else:
    # A script that only logs uses none of them; importing them all takes 60 ms.
    __getattr__ = lazy_submodules(__name__)
