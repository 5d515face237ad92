"""What people look at while a run works.

run_logs  pages of logs, and searches in them
"""
