"""Filtering and rewriting a file that is larger than the process's memory limit."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

MEGABYTE = 1024 * 1024
SIZE = 320 * MEGABYTE
ALLOWED = 256 * MEGABYTE
"""Memory beyond that of the libraries and thread stacks: less than the file, and far less than its columns."""

SCRIPT = """
import os, resource, sys
from pathlib import Path
from footplate.data.tabular.engine import Table
from footplate.data.tabular.files import SourceFile
from footplate.data.tabular import parquet, writers

kind, source, target, allowed = sys.argv[1:]
in_use = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (in_use + int(allowed),) * 2)
try:
    bytearray(os.path.getsize(source))
    sys.exit("the file would fit into memory")
except MemoryError:
    pass
where = {"op": ">=", "args": [{"field": "n"}, {"value": 990}]}
file = SourceFile(source, lambda: Path(source))
table = Table({"format": {"kind": kind}, "steps": [{"do": "filter", "expression": where}]}, [file])
writers.write_parquet(table.schema, table.batches(), Path(target))
"""
ROW = "{},some text that is not short {},{}.25,2020-01-31 10:00:00\n"


@pytest.fixture(scope="module")
def block() -> str:
    return "".join(ROW.format(i % 1000, i, i) for i in range(100_000))


def filtered(kind: str, source: Path, target: Path) -> int:
    """Return the number of rows kept, by a process that cannot hold the whole file in memory."""
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, kind, str(source), str(target), str(ALLOWED)],
        capture_output=True,
        text=True,
        env={"PATH": "/usr/bin:/bin", "ARROW_DEFAULT_MEMORY_POOL": "system", "MALLOC_ARENA_MAX": "1"},
    )
    assert (done.returncode, done.stderr) == (0, "")
    return pq.ParquetFile(target / "part-00000.parquet").metadata.num_rows


@pytest.mark.slow
def test_a_delimited_file(tmp_path: Path, block: str) -> None:
    source, blocks = tmp_path / "big.csv", SIZE // len(block) + 1
    with open(source, "w") as out:
        out.write("n,text,x,when\n")
        for _ in range(blocks):
            out.write(block)
    assert source.stat().st_size > SIZE > ALLOWED
    assert filtered("delimited", source, tmp_path / "out") == blocks * 1000
    source.unlink()


@pytest.mark.slow
def test_a_parquet_file(tmp_path: Path) -> None:
    rows = 100_000
    table = pa.table(
        {"n": [i % 1000 for i in range(rows)], "text": [f"{i * 2654435761:032x}" * 2 for i in range(rows)]}
    )
    source, groups = tmp_path / "big.parquet", SIZE // table.nbytes + 1
    with pq.ParquetWriter(source, table.schema, compression="none", use_dictionary=False) as writer:
        for _ in range(groups):
            writer.write_table(table)
    assert source.stat().st_size > SIZE > ALLOWED
    assert filtered("parquet", source, tmp_path / "out") == groups * 1000
    source.unlink()
