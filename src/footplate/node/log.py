"""The agent's own log, which is its standard output."""

from __future__ import annotations

import time


def say(line: str) -> None:
    now = time.time()
    stamp = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(now))
    try:
        print(f"{stamp}.{int(now % 1 * 1000):03d}Z {line}", flush=True)  # noqa: T201
    except OSError:
        pass  # a full disk must not end the agent
