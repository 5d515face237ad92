"""Runs that the server executes: from a configuration to a submitted run.

scripts     `experiment.submit` of a ScriptRunConfig, and `run.rerun`
groups      `experiment.start_group`: a parent run that ends with its children
run_outputs outputs of a run as a path on a datastore
on_demand   runs that name a VM size instead of a cluster

Functions return the view of the new run; `footplate.sdk.experiment` makes the object for users.
"""
