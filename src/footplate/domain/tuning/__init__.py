"""Sweeps as plain data, checked by the SDK before anything is sent.

sweeps           specifications and trials
search_space     spaces that samplers draw parameters from
early_stopping   rules that end bad trials early
"""
