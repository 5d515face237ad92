"""Output for notebooks and terminals: tables, progress bars, a line that changes.

`tests/unit/sdk` covers notebooks and status_line; `tests/e2e/test_cli_terminal.py` covers progress.
"""
