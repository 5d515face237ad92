"""Reading logs of any size without loading them.

line_index      line number ↔ offset, in a side file
log_pages       lines as a terminal shows them, page by page
log_reader      both, with line numbers and times of arrival
log_search      lines that match, within a time limit
pattern_search  the program that runs a regular expression, which may be ended at any time
"""
