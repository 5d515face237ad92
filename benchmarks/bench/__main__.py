"""Run the benchmarks, print them as tables and store them as JSON in `results/`.

    uv run python -m bench                      all of them
    uv run python -m bench submit_latency       one of them
    uv run python -m bench --quick              all of them, small: to check that they work, not to quote

The exit code is 1 if a result was wrong. A missed target is printed and is not an error: a busy machine can miss any
target.
"""

from __future__ import annotations

import argparse
import importlib
import json
import os
import sys
import time
import traceback
from pathlib import Path

from bench.harness import Options, Report
from bench.machine import clean_environment, describe
from bench.table import render

BENCHMARKS = (
    "submit_latency",
    "slurm_latency",
    "ray_latency",
    "log_call",
    "ingest",
    "import_time",
    "resubmit",
    "search",
    "idle_server",
    "environments",
    "distributed",
    "throughput",
    "serving_latency",
    "serving_throughput",
    "data_transfer",
    "data_mount",
    "table_filter",
    "sweep_speed",
    "sweep_scale",
    "sweep_quality",
    "sweep_asha",
    "queue_scale",
)
RESULTS = Path(__file__).resolve().parent.parent / "results"


def main() -> int:
    arguments = _arguments()
    os.environ.clear()
    os.environ.update(arguments.environment)
    machine = describe()
    print("  ".join(f"{key} {value}" for key, value in machine.items()), flush=True)
    print(flush=True)
    reports: list[Report] = []
    broken: list[str] = []
    for name in arguments.names or BENCHMARKS:
        try:
            report = importlib.import_module(f"bench.{name}").run(Options(arguments.quick))
        except Exception:  # the others are still worth running
            traceback.print_exc()
            broken.append(name)
            continue
        reports.append(report)
        print(render(report), flush=True)
    path = _keep({"machine": machine, "quick": arguments.quick, "reports": [r.to_json() for r in reports]})
    print(f"stored in {path}")
    wrong = [f"{r.name}: {c.what}" for r in reports for c in r.checks if not c.ok]
    for line in [*wrong, *(f"{name} did not finish" for name in broken)]:
        print(f"error: {line}", file=sys.stderr)
    return 1 if wrong or broken else 0


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="bench", description="Footplate beside its peers, in one run.")
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"which ones, of: {', '.join(BENCHMARKS)}")
    parser.add_argument("--quick", action="store_true", help="small numbers: to see that it works, not to quote")
    arguments = parser.parse_args()
    unknown = [name for name in arguments.names if name not in BENCHMARKS]
    if unknown:
        parser.error(f"there is no benchmark {unknown[0]!r}\nhint: choose from {', '.join(BENCHMARKS)}")
    arguments.environment = clean_environment(dict(os.environ))
    return arguments


def _keep(results: dict[str, object]) -> Path:
    RESULTS.mkdir(exist_ok=True)
    path = RESULTS / time.strftime("%Y%m%dT%H%M%SZ.json", time.gmtime())
    path.write_text(json.dumps(results, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    return path


if __name__ == "__main__":
    sys.exit(main())
