"""Sweeps on the server: which trials there are, and when they end. `domain/tuning` has the plain data.

samplers      sources of parameter values, behind ask and tell
sweep         the controller: submit, stop and pause trials
sweep_notes   the past of a sweep, as the controller notes it
promotion     paused trials that go on from their checkpoints
analysis      importance of parameters, and data for plots
sweep_end     the outcome, and signs that no trial can succeed
"""
