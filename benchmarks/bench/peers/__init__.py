"""The others: how each is started, used and ended."""
