"""Sweeps: which values the next trial gets, and when a sweep ends.

    sweep       the controller of a sweep: covered by `tests/e2e/test_sweeps.py`
    samplers    ask/tell: random, grid, Optuna's, or a class of the user's own

Search spaces and early termination (`domain/tuning`) are pure, because the SDK checks them before anything is sent.
"""
