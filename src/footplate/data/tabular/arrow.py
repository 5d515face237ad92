"""Arrow's modules. They have no type stubs, so they are Any here, in one place, on purpose."""

from __future__ import annotations

from typing import Any

import pyarrow  # pyright: ignore[reportMissingTypeStubs]
import pyarrow.compute  # pyright: ignore[reportMissingTypeStubs]
import pyarrow.csv  # pyright: ignore[reportMissingTypeStubs]
import pyarrow.json  # pyright: ignore[reportMissingTypeStubs]

pa: Any = pyarrow
pc: Any = pyarrow.compute
arrow_csv: Any = pyarrow.csv
arrow_json: Any = pyarrow.json
