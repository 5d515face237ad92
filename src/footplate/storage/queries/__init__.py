"""Finding runs.

run_query       which runs, in which order, page by page
run_filter      the users' filter language as conditions of the database
run_statements  statements of `storage.runs` that are built once
"""
