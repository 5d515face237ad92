"""Runs that tests submit to clusters, and scripts for them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from azureml.core import Environment, Experiment, Run, ScriptRunConfig

GANG = """
import os, socket, sys, time
from azureml.core import Run
rank, size = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
address, port = os.environ["MASTER_ADDR"], int(os.environ["MASTER_PORT"])
if rank == 0:
    with socket.create_server((address, port)) as server:
        peer, where = server.accept()
        print(address, "met", where[0], peer.recv(64).decode(), flush=True)
    if len(sys.argv) > 1:
        Run.get_context().log("score", float(sys.argv[2]))
else:
    end = time.monotonic() + 60
    while True:
        try:
            with socket.create_connection((address, port), timeout=5) as peer:
                peer.sendall(f"rank {rank} of {size}".encode())
            break
        except OSError:
            assert time.monotonic() < end
            time.sleep(0.05)
"""
"""Two nodes meet over their network; rank 0 prints both addresses. As a trial it logs its second argument."""

SLEEP = "import os, sys, time\nopen(sys.argv[1], 'w').write(str(os.getpid()))\ntime.sleep(600)"
"""Write the process id to the first argument, and sleep."""


def describe(target: Any, environment: Environment, text: str, *arguments: Any, **settings: Any) -> ScriptRunConfig:
    """Return the configuration of a run of this script on a compute target."""
    Path("src").mkdir(exist_ok=True)
    Path("src/train.py").write_text(text)
    return ScriptRunConfig(
        "src", "train.py", list(arguments), compute_target=target, environment=environment, **settings
    )


def submit(target: Any, environment: Environment, text: str, *arguments: Any, **settings: Any) -> Run:
    config = describe(target, environment, text, *arguments, **settings)
    return Experiment(target.workspace, "cluster").submit(config)


def log_of(run: Run, name: str = "user_logs/std_log.txt") -> str:
    return run.get_details_with_logs()["logFiles"].get(name, "")


def log_of_rank(run: Run, rank: int) -> str:
    return log_of(run, f"user_logs/std_log_process_{rank:02}.txt")
