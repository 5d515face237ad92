"""Runs that tests submit to clusters, and scripts for them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from azureml.core import Dataset, Environment, Experiment, Run, ScriptRunConfig
from azureml.train.hyperdrive import GridParameterSampling, HyperDriveConfig, PrimaryMetricGoal, choice
from footplate.testing.waiting import wait_until

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

READS = """
import os, sys
from azureml.core import Run
run = Run.get_context()
fetched, mounted, *_, scale = sys.argv[1:]
values = [float(open(os.path.join(folder, "value.txt")).read()) for folder in (fetched, mounted)]
table = run.input_datasets["table"].to_pandas_dataframe()
run.log("score", float(scale) * (sum(values) + table["x"].sum()))
"""
"""A trial that reads a downloaded file, a mounted one and a table; see `sweep_with_data`."""

BUILT = """
import os, sys, needed
print("version", needed.version, "in", sys.prefix, flush=True)
os.makedirs("outputs", exist_ok=True)
with open("outputs/rank_" + os.environ["RANK"], "wb") as file:
    file.write(os.environ["RANK"].encode() * (9 << 20))
"""
"""Print the version of the package of the fixture `built`, and write a large output."""

IN_A_BOX = """
import os
assert os.environ["FROM_IMAGE"] == "yes"
print("boxed rank", os.environ["RANK"], "of", os.environ["WORLD_SIZE"])
"""

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


def sweep_with_data(target: Any, environment: Environment, folder: Path, scales: Sequence[int]) -> HyperDriveConfig:
    """Return a sweep of READS. The score of a trial is eight times its scale."""
    (folder / "data").mkdir()
    (folder / "data" / "value.txt").write_text("2.5")
    (folder / "data" / "table.csv").write_text("x,y\n1,a\n2,b\n")
    store = target.workspace.get_default_datastore()
    files = Dataset.File.upload_directory(str(folder / "data"), (store, "data"))
    table = Dataset.Tabular.from_delimited_files((store, "data/table.csv"))
    given = [files.as_named_input("fetched").as_download(), files.as_named_input("mounted").as_mount()]
    script = describe(target, environment, READS, *given, table.as_named_input("table"))
    space = GridParameterSampling({"--scale": choice(*scales)})
    goal = PrimaryMetricGoal.MAXIMIZE
    return HyperDriveConfig(space, "score", goal, len(scales), max_concurrent_runs=2, run_config=script)


def check_observed(run: Run) -> None:
    """Check that the stacks of a script at its gate can be read, and that its machine is sampled."""
    (stacks,) = run.get_stacks()
    assert stacks.threads[0].frames[-1].function == "<module>", stacks
    api = run.experiment.workspace.session.api
    wait_until(
        lambda: any(series.name.endswith("cpu_percent") for series in api.metrics.read(run.id, system=True)[run.id])
    )


def log_of(run: Run, name: str = "user_logs/std_log.txt") -> str:
    return run.get_details_with_logs()["logFiles"].get(name, "")


def log_of_rank(run: Run, rank: int) -> str:
    return log_of(run, f"user_logs/std_log_process_{rank:02}.txt")


# ── Steps without end ─────────────────────────────────────────────────────────────────────────────────────────────────

STEPS = """
import os, sys, time
from azureml.core import Run
folder, attempt, saved = sys.argv[1], int(os.environ["FOOTPLATE_ATTEMPT"]), "checkpoints/step"
run, step = Run.get_context(), int(open(saved).read()) if os.path.exists(saved) else 0
with open(os.path.join(folder, "starts"), "a") as file:
    file.write(f"{attempt} {os.getpid()} {os.uname().nodename}\\n")
os.makedirs("checkpoints", exist_ok=True)
while not os.path.exists(os.path.join(folder, "go")):
    run.log("loss", attempt, step=step)
    print("attempt", attempt, "step", step, flush=True)
    step += 1
    with open(os.path.join(folder, "steps"), "w") as file:
        file.write(str(step))
    if step == 5 * attempt:
        with open(saved, "w") as file:
            file.write(str(step))
    time.sleep(0.05)
"""
"""Logs and prints steps without end, also when nobody listens. Each attempt saves once, five steps after the last."""


class Walk:
    """A run of STEPS."""

    def __init__(self, target: Any, environment: Environment, folder: Path) -> None:
        self._folder = folder
        config = describe(target, environment, STEPS, str(folder))
        config.run_config.max_attempts = 3
        self.run: Run = Experiment(target.workspace, "cluster").submit(config)

    def starts(self) -> list[tuple[int, int, str]]:
        """Return attempt, process and host of each start of the script."""
        path = self._folder / "starts"
        rows = [line.split() for line in path.read_text().splitlines()] if path.exists() else []
        return [(int(attempt), int(pid), host) for attempt, pid, host in rows]

    def wait_for_steps(self, count: int) -> None:
        """Wait until the script has made so many steps more, whether anybody hears of them or not."""
        path = self._folder / "steps"
        last = int(path.read_text()) + count
        wait_until(lambda: int(path.read_text() or 0) >= last)

    def wait_for(self, attempt: int) -> Path:
        """Wait until lines and the checkpoint of this attempt have arrived; return the directory of its process."""
        wait_until(lambda: f"attempt {attempt} step {5 * attempt + 2}\n" in log_of(self.run))
        wait_until(lambda: self._saved() == str(5 * attempt))
        return Path(f"/proc/{self.starts()[-1][1]}")

    def _saved(self) -> str:
        if "checkpoints/step" not in self.run.get_file_names():
            return ""
        self.run.download_file("checkpoints/step", str(self._folder / "step"))
        return (self._folder / "step").read_text()

    def finish(self) -> None:
        """Let the script end, and check that every line and every step has arrived once."""
        (self._folder / "go").touch()
        self.run.wait_for_completion()
        last = self.run.attempt
        assert [attempt for attempt, _, _ in self.starts()] == [*range(1, last + 1)]
        parts = re.split(r"──── attempt \d · .* ────\n", log_of(self.run))
        ends = [0]
        for attempt, part in enumerate(parts, start=1):
            ends.append(5 * (attempt - 1) + len(part.splitlines()))
            steps = range(5 * (attempt - 1), ends[-1])
            assert part == "".join(f"attempt {attempt} step {step}\n" for step in steps)
        values = [attempt for attempt in range(1, last) for _ in range(5)]
        assert self.run.get_metrics()["loss"] == values + [last] * (ends[-1] - 5 * (last - 1))
