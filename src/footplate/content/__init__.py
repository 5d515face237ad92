"""Content addressing. Used inside jobs too: the standard library and Python 3.8 syntax alone."""
