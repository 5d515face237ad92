"""Experiments and runs.

experiment      Experiment: groups runs, submits and lists them
submission      `experiment.submit` and `run.rerun`
groups          `experiment.start_group`: a parent run that ends with its children
interactive     `experiment.start_logging` and child runs, which are executed by this process
heartbeat       heartbeats of interactive runs, for a server on another machine
run             Run and ScriptRun: the user's handle on a run
handle          RunHandle, its base: identity, status, tags, properties
logging_run     LoggingRun, its other base: the `log_*` methods
context         `Run.get_context()`: the run that this process belongs to
metrics         values that can be logged, and the shapes that `get_metrics` returns
recorder        the journal of a run that this process logs to
shipping        sends journals and logs to the server, also those that a killed process left behind
output_capture  copies stdout and stderr into `./logs` during `with run:`
files           uploads and downloads of a run's files
output_paths    outputs of a run as a path on a datastore
snapshots       copies of the source folder
streaming       `wait_for_completion`, silent or with the output
comparison      `run.diff`: everything that two runs do not have in common
details         dictionaries, tables and errors that describe a run
stacks          stack traces of a running job
filters         tags, properties and statuses as a query
status          the names of a run's states

`tests/e2e/test_sdk_*.py` cover experiment, submission, groups, run, handle, files, output_paths, snapshots, details and
stacks; `tests/e2e/test_cli_runs.py` covers comparison.
"""

from __future__ import annotations

from footplate.lazy import lazy_submodules

TYPE_CHECKING = False  # typing's own costs 8 ms
if TYPE_CHECKING:
    from footplate.sdk.runs import comparison as comparison
    from footplate.sdk.runs import details as details
    from footplate.sdk.runs import experiment as experiment
    from footplate.sdk.runs import files as files
    from footplate.sdk.runs import filters as filters
    from footplate.sdk.runs import groups as groups
    from footplate.sdk.runs import heartbeat as heartbeat
    from footplate.sdk.runs import interactive as interactive
    from footplate.sdk.runs import metrics as metrics
    from footplate.sdk.runs import output_capture as output_capture
    from footplate.sdk.runs import output_paths as output_paths
    from footplate.sdk.runs import recorder as recorder
    from footplate.sdk.runs import shipping as shipping
    from footplate.sdk.runs import snapshots as snapshots
    from footplate.sdk.runs import stacks as stacks
    from footplate.sdk.runs import status as status
    from footplate.sdk.runs import streaming as streaming
    from footplate.sdk.runs import submission as submission
else:
    # A script that only logs uses none of them; importing them all takes 60 ms.
    __getattr__ = lazy_submodules(__name__)
