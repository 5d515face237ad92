"""Output: `notebooks` has tables, `progress` bars, `status_line` a line that changes, on terminals and in notebooks."""
