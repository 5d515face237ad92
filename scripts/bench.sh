#!/bin/sh
# Run the benchmarks. They are a project of their own, with their own lock and environment, because their peers are large.
set -eu
cd "$(dirname "$0")/.."
.uv/bin/python scripts/uv_like_pip.py sync --frozen --quiet --compile-bytecode --project benchmarks
sh scripts/node_packages.sh
cd benchmarks
exec .venv/bin/python -m bench "$@"
