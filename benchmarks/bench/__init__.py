"""Footplate beside its peers, in one run. See `python -m bench --help` and README.md."""

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).parents[2] / "tests"))  # for `support`: clusters and servers of the tests
