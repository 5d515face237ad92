"""Finding runs.

run_query   which runs, in which order, page by page
run_filter  the users' filter language as conditions of the database

The conformance suites cover both on every database.
"""
