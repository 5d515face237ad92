"""Footplate beside its peers, in one run. See `python -m bench --help` and README.md."""
