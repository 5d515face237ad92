"""Pipelines: steps that hand data to each other, as plain data and pure decisions.

graph       a pipeline as the client sends it, and the checks of its graph
controller  the controller of a pipeline: which steps start, and when it ends
reuse       the parts that decide whether a step's earlier result can be used again
"""
