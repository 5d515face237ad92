"""The life of a run, decided without doing.

run_kinds          table of run kinds: admitted events, children, who ends the run
run_status         the status that users see, derived from the record
events             events, effects, and their sentences in the story
lifecycle          `apply(record, event, now)`: the new record and the effects
node_transitions   the lifecycle's functions for events of nodes
group_transitions  the lifecycle's functions for events of groups
outcomes           how a run ends, and which failure is the cause
root_cause         failures that are consequences of other failures
restarts           restart policy, backoff and further attempts
run_diff           the differences between two runs
parameters         the parameters of a run, read from the arguments of its script
tracking           what clients of other trackers log and search
run_filter         the language in which users select runs: its words, `parse` and `render`
controllers        the seam between a group and its controller
child_groups       the controller of groups that complete with their children
"""
