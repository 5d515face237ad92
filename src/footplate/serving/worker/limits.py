"""The limits of one replica, which the worker sets for itself before it loads anything.

`cpu_cores` becomes a set of CPUs that this process and its threads may use, and the number of threads that numerical
libraries start. `memory_gb` is compared twice a second with the memory that belongs to the worker alone, without the
code of libraries, which replicas share and the kernel can drop (TensorFlow's has 0.3 GB): a worker that uses more says
so and exits, and the server starts it again.
"""

from __future__ import annotations

import hashlib
import math
import os
import sys
import threading
from typing import Any, Iterable, List, Mapping, Optional

TOO_MUCH_MEMORY = 4
"""The exit code of a worker that uses more memory than it may."""

CHECK_SECONDS = 0.5
_THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMEXPR_NUM_THREADS")


def apply_limits(options: Mapping[str, Any], who: str) -> None:
    """Set the limits that the options name; `who` spreads replicas over the CPUs."""
    cores, memory = options.get("cpu_cores"), options.get("memory_gb")
    if cores is not None:
        chosen = choose_cpus(os.sched_getaffinity(0), float(cores), who)
        os.sched_setaffinity(0, chosen)
        for name in _THREADS:
            os.environ.setdefault(name, str(len(chosen)))
    if memory is not None:
        threading.Thread(target=_watch_memory, args=[float(memory)], name="memory", daemon=True).start()


def choose_cpus(available: Iterable[int], cores: float, who: str) -> List[int]:
    """Return as many CPUs as the cores need; different replicas begin at different ones."""
    cpus = sorted(available)
    count = min(len(cpus), max(1, math.ceil(cores)))
    first = int(hashlib.sha256(who.encode()).hexdigest(), 16) % len(cpus)
    return [cpus[(first + number) % len(cpus)] for number in range(count)]


def excess_message(used: int, limit_gb: float) -> Optional[str]:
    """Return what to report if so many bytes are more than the limit; None if they are not."""
    if used / 1e9 <= limit_gb:
        return None
    return f"this worker uses {used / 1e9:.2f} GB of memory, more than memory_gb={limit_gb:g} allows"


def _watch_memory(limit_gb: float) -> None:
    """End this process as soon as it uses more than the limit."""
    pause = threading.Event()
    while (message := excess_message(measure_memory(), limit_gb)) is None:
        pause.wait(CHECK_SECONDS)
    sys.stderr.write(f"{message}\nhint: deploy with a larger memory_gb\n")
    sys.stderr.flush()
    os._exit(TOO_MUCH_MEMORY)


def measure_memory() -> int:
    """Return the resident memory that is not backed by files."""
    with open("/proc/self/status", encoding="ascii") as file:
        lines = dict(line.split(":", 1) for line in file if ":" in line)
    return sum(int(lines[name].split()[0]) * 1024 for name in ("RssAnon", "RssShmem"))
