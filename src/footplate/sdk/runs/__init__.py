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
details         dictionaries, tables, errors and stack traces that describe a run
filters         tags, properties and statuses as a query
status          the names of a run's states

`footplate.sdk.run` has `Run` itself.
"""
