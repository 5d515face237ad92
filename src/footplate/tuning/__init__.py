"""Sweeps: which values the next trial gets, and when a sweep ends.

    samplers    ask/tell: random, grid, Optuna's, or a class of the user's own

Search spaces (`domain/search_space`) and early termination (`domain/early_stopping`) are pure, because the SDK checks
them before anything is sent.
"""
