"""The engine of Slurm clusters.

engine     agents in batch jobs
batch      the text of such a job, and the meaning of Slurm's answers
commands   calls of Slurm's commands, here or over ssh
"""
