"""Lets the tests here share `ops_tools`: pytest's importlib mode puts no test folder on the path by itself."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
