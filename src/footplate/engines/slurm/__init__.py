"""The engine of Slurm clusters.

engine     agents in batch jobs; covered by `tests/conformance/test_slurm_engine.py`
batch      the text of such a job, and the meaning of Slurm's answers
commands   calls of Slurm's commands, here or over ssh; covered by `tests/conformance/test_slurm_engine.py`
"""
