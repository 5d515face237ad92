"""What people look at while a run works.

moment    what happened at a time
run_logs  pages of logs, and searches in them
"""
