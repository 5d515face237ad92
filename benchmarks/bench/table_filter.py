"""One row in a hundred of a large CSV file as a DataFrame: a tabular dataset beside pandas, in time and memory."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

from bench.harness import Options, Report, Row, Target, interleave
from bench.machine import temporary_folder

OURS = "footplate, tabular dataset"
WHOLE = "pandas.read_csv, then filter"
CHUNKS = "pandas.read_csv in chunks"
CAVEATS = """
Four columns: a whole number, text, a number, a time. Each contestant is a process of its own that reads the file from
the page cache, keeps the rows with n >= 990 and has them as a DataFrame; importing its libraries is not counted in its
time, and is in its memory. Memory is the largest resident size.

pandas is asked to parse the time, because a tabular dataset does. We look at the first 8 MiB for the types, and read
them again; pandas decides when it has read everything (or, in chunks, for each chunk).
"""
ROW = "{},some text that is not short {},{}.25,2020-01-31 10:00:00\n"
COMMON = """
import json, resource, sys, time
path, rows = sys.argv[1], int(sys.argv[2])
{imports}
begin = time.perf_counter()
{read}
seconds = time.perf_counter() - begin
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
print(json.dumps([seconds, peak, len(df), int(df["n"].sum()), str(df["when"].max())[:19]]))
"""
PROGRAMS = {
    OURS: (
        "import os, pandas\nfrom footplate.data.tabular import operations\n"
        "from footplate.sdk.data.dataframe import to_pandas",
        """
where = {"op": ">=", "args": [{"field": "n"}, {"value": 990}]}
definition = {
    "sources": [{"datastore": "here", "path": os.path.basename(path)}],
    "format": {"kind": "delimited"}, "steps": [{"do": "filter", "expression": where}],
}
here = {"kind": "folder", "location": {"path": os.path.dirname(path)}, "credentials": {}}
df = to_pandas(operations.read(definition, {"here": here}, strict=True, cache=os.path.dirname(path) + "/cache").frame)
""",
    ),
    WHOLE: ("import pandas", "df = pandas.read_csv(path, parse_dates=['when'])\ndf = df[df['n'] >= 990]"),
    CHUNKS: (
        "import pandas",
        "parts = pandas.read_csv(path, parse_dates=['when'], chunksize=100_000)\n"
        "df = pandas.concat([part[part['n'] >= 990] for part in parts])",
    ),
}


def run(options: Options) -> Report:
    report = Report("table_filter", "1 % of a large CSV file as a DataFrame", "s", OURS, CAVEATS)
    answers: dict[str, list[list[object]]] = {who: [] for who in PROGRAMS}
    with temporary_folder() as folder:
        path, rows = _make_file(folder / "big.csv", options.pick(60, 6))

        def contestant(who: str) -> float:
            imports, read = PROGRAMS[who]
            program = COMMON.format(imports=imports, read=read)
            done = subprocess.run(
                [sys.executable, "-c", program, str(path), str(rows)], check=True, capture_output=True, text=True
            )
            answers[who].append(json.loads(done.stdout))
            return float(answers[who][-1][0])  # type: ignore[arg-type]

        contestants = {who: lambda who=who: contestant(who) for who in PROGRAMS}
        samples = interleave(options.pick(5, 1), contestants)
        size = path.stat().st_size / 1e6
    memory = {who: max(float(answer[1]) for answer in answers[who]) for who in PROGRAMS}  # type: ignore[arg-type]
    report.rows = [Row(who, values, f"{memory[who]:,.0f} MB at most") for who, values in samples.items()]
    results = {json.dumps(answer[2:]) for told in answers.values() for answer in told}
    report.check(f"all have the same rows of {size:,.0f} MB", len(results) == 1, " | ".join(sorted(results)))
    report.check("the rows that were written", json.loads(min(results))[0] == rows // 100, rows // 100)
    report.targets = [
        Target("beside pandas, time", report.ratio(WHOLE), "×", at_least=1),
        Target("beside pandas in chunks, time", report.ratio(CHUNKS), "×", at_least=1),
        Target("memory beside pandas", memory[OURS] / memory[WHOLE], "×", at_most=0.5),
    ]
    return report


def _make_file(path: Path, blocks: int) -> tuple[Path, int]:
    block = "".join(ROW.format(i % 1000, i, i) for i in range(100_000))
    with open(path, "w") as out:
        out.write("n,text,x,when\n")
        for _ in range(blocks):
            out.write(block)
    return path, blocks * 100_000
