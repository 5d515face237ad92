"""The runs of the torture: their kinds, and the script that all of them run."""

from __future__ import annotations

from dataclasses import dataclass, field

from footplate import Run

STEPS = 40
KINDS = ["plain"] * 6 + ["fails", "canceled", "gang", "rank_killed", "client_killed"]
SCRIPT = f"""
import errno, os, sys, time
from azureml.core import Run
def insist(act):
    while True:
        try:
            return act()
        except OSError as error:
            if error.errno != errno.ENOSPC:
                raise
            time.sleep(0.05)
def say(data):
    while data:
        data = data[insist(lambda: os.write(1, data)):]
def keep(name, data):
    with open(name, "wb", buffering=0) as file:
        insist(lambda: file.write(data))
run, rank = Run.get_context(), os.environ.get("RANK", "0")
os.makedirs("outputs", exist_ok=True)
for i in range({STEPS}):
    say(b"line %d\\n" % i)
    insist(lambda: run.log(f"value_{{rank}}", float(i)))
    insist(lambda: keep(f"outputs/{{rank}}_{{i}}.txt", b"%d" % i * 50))
    time.sleep(0.03)
sys.exit(3 if sys.argv[1:] == ["fails"] else 0)
"""


@dataclass
class Job:
    """One planned run, and what happened to it."""

    number: int
    kind: str
    run: Run | None = None
    agent_kills: int = 0
    harmed: set[str] = field(default_factory=set[str])  # mishaps that may change the outcome
    problems: list[str] = field(default_factory=list[str])
