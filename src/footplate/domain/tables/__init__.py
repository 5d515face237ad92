"""Tables as plain data; covered by `tests/unit/data/tabular`.

tabular       where the rows of a table come from, and the steps that they go through
expressions   filters that a definition can keep and any process can evaluate
"""
