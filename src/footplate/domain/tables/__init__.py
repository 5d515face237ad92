"""Tables as plain data.

tabular       where the rows of a table come from, and the steps that they go through
expressions   filters that a definition can keep and any process can evaluate
"""
