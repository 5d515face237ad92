"""Tables on Arrow: a tabular definition (`domain/tabular`) carried out as a stream of record batches.

Nothing here holds a whole table unless it was asked for one: rows come in batches, go through the steps, and leave. The
room needs pyarrow (`pip install 'footplate[data]'`); whoever imports it has made sure that it is there.
"""
