"""Footplate beside its peers, in one run. `python -m bench --help` says how; README.md says what is measured."""
