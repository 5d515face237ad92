"""Every row of the error table, and real errors of the real drivers."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path


def test_a_normal_start_loads_neither_alembic_nor_psycopg(tmp_path: Path) -> None:
    code = (
        "import sys; from pathlib import Path; from footplate.storage import Storage;"
        f"home = Path({str(tmp_path)!r}); Storage.open(home).close(); Storage.open(home).close();"
        "print([m for m in ('alembic', 'psycopg', 'sqlalchemy.dialects.postgresql') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
