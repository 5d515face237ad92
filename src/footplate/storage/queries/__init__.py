"""Finding runs.

run_query       which runs, in which order, page by page
run_order       orders of a list, and positions in them
run_fields      names and values of fields, and groups of runs
run_filter      the users' filter language as conditions of the database
run_statements  statements of `storage.runs` that are built once
"""
