"""Tables as plain data; covered by `tests/unit/data/tabular`.

tabular       where the rows of a table come from, and the steps that they go through
frames        the columns of a table as buffers, which become a pandas DataFrame without Arrow
expressions   filters that a definition can keep and any process can evaluate
"""
