"""Metrics on disk: journals as their writers wrote them, and summaries in the database.

append_files   files that only grow, written by byte offset
arrival_times  when the bytes of a growing file arrived
attempts       one curve of several attempts of a run
curves         curves of runs that somebody looks at, extended by what arrives
grid           points on one grid, or summaries of buckets
journals       how far each writer was ingested, and decoders
metrics        journals in, series out
number_columns numbers of a journal, many at once
smoothing      moving averages of curves
summaries      count, last, minimum and maximum of a series
"""
