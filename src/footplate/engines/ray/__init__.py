"""The engine of Ray clusters.

engine    agents as jobs of Ray
api       requests to the head of the cluster
waiting   why a run waits, in plain words
program   the text that runs in the cluster
"""
