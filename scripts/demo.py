"""`make demo`: walk through the whole loop as a user, in a temporary home, and check every result.

It uses only what is installed in .venv. Everything it creates is under .demo/ and stays there for inspection.
"""

from __future__ import annotations

import itertools
import json
import math
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
DEMO = ROOT / ".demo"
HOME, PROJECT = DEMO / "home", DEMO / "project"
BIN = Path(sys.executable).parent
EPOCHS = 60


def environment() -> dict[str, str]:
    mine = {name: value for name, value in os.environ.items() if not name.startswith(("FOOTPLATE_", "AZUREML_"))}
    path = f"{BIN}{os.pathsep}{mine.get('PATH', '')}"
    return {**mine, "FOOTPLATE_HOME": str(HOME), "PATH": path, "PYTHONUNBUFFERED": "1"}


def do(*argv: str) -> str:
    """Print a command, run it, print its output as it arrives, and return the output."""
    print(f"\n\033[1m$ {' '.join(argv)}\033[0m" if sys.stdout.isatty() else f"\n$ {' '.join(argv)}", flush=True)
    process = subprocess.Popen(argv, cwd=PROJECT, env=environment(), stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    lines: list[str] = []
    for line in process.stdout:
        print(line, end="", flush=True)
        lines.append(line)
    check(process.wait() == 0, f"{argv[0]} ended with exit code {process.returncode}")
    return "".join(lines)


def ask(*argv: str) -> Any:
    """Return the JSON output of a command."""
    done = subprocess.run(
        [*argv, "--json"], cwd=PROJECT, env=environment(), capture_output=True, text=True, check=False
    )
    check(done.returncode == 0, f"{' '.join(argv)}: {done.stderr}")
    return json.loads(done.stdout)


class Wrong(Exception):
    """A result that the demo did not expect."""


def check(true: bool, otherwise: str) -> None:
    if not true:
        raise Wrong(otherwise)


def set_up() -> None:
    subprocess.run([str(BIN / "footplate"), "server", "stop"], env=environment(), capture_output=True, check=False)
    shutil.rmtree(DEMO, ignore_errors=True)
    HOME.mkdir(parents=True, mode=0o700)
    shutil.copytree(ROOT / "examples" / "03-register-model", PROJECT)


def train() -> None:
    do("footplate", "init", "--name", "demo")
    said = do("python", "submit.py", "--epochs", str(EPOCHS))
    check("epoch   0" in said and "epoch  50" in said, "the script's output did not arrive")
    check("registered cloud-classifier, version 1" in said, "no model was registered")


def look() -> None:
    do("footplate", "runs", "list")
    do("footplate", "runs", "metrics", "latest")
    do("footplate", "runs", "files", "latest")
    do("footplate", "runs", "story", "latest")
    do("footplate", "models", "list")
    do("footplate", "models", "download", "cloud-classifier", "--to", str(DEMO / "downloaded"))


def verify() -> None:
    """Check the results, not only that the run completed."""
    run = ask("footplate", "runs", "show", "latest")
    check(run["status"] == "Completed", f"the run ended {run['status']}")
    metrics = {
        each["name"]: [point[2] for point in each["points"]] for each in ask("footplate", "runs", "metrics", run["id"])
    }
    loss = metrics["loss"]
    check(len(loss) == EPOCHS, f"{len(loss)} of {EPOCHS} losses arrived")
    check(abs(loss[0] - math.log(2)) < 1e-9, f"the first loss is {loss[0]} instead of log 2")
    check(all(a > b for a, b in itertools.pairwise(loss)), "the loss did not go down at every step")
    check(
        metrics["final accuracy"][0] > 0.9,
        f"the model is correct in only {metrics['final accuracy'][0]:.0%} of the cases",
    )
    model = ask("footplate", "models", "show", "cloud-classifier")
    check(model["run"] == run["id"], "the model does not name its run")
    downloaded = (DEMO / "downloaded" / "model.json").read_bytes()
    ask("footplate", "runs", "download", run["id"], "outputs/model.json", "--to", str(DEMO / "from-run"))
    check(downloaded == (DEMO / "from-run" / "outputs" / "model.json").read_bytes(), "model and run differ")
    check(len(json.loads(downloaded)["weights"]) == 3, "the model has no weights")


def stop() -> None:
    do("footplate", "server", "stop")
    end = time.monotonic() + 10
    while left := living():
        check(time.monotonic() < end, f"processes were left behind: {left}")
        time.sleep(0.1)


def living() -> list[str]:
    """List processes with the demo's home in their environment, on systems with /proc."""
    wanted, found = f"FOOTPLATE_HOME={HOME}".encode(), list[str]()
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            if wanted in (entry / "environ").read_bytes().split(b"\0"):
                found.append(f"{entry.name}: {(entry / 'cmdline').read_bytes().decode(errors='replace')}")
        except OSError:
            continue
    return found


def main() -> int:
    start = time.monotonic()
    try:
        set_up()
        train()
        look()
        verify()
        stop()
    except (Wrong, OSError, ValueError, KeyError, IndexError) as error:
        print(f"\nthe demo failed: {error!r}", file=sys.stderr)
        print(f"look at {HOME / 'logs' / 'server.log'}", file=sys.stderr)
        subprocess.run([str(BIN / "footplate"), "server", "stop"], env=environment(), capture_output=True, check=False)
        return 1
    link = ask("footplate", "ui")["url"]
    print(f"\nthe demo succeeded in {time.monotonic() - start:.1f} s. Have a look around:")
    print(f"  {PROJECT.relative_to(ROOT)}/      the project: train.py, submit.py, .azureml/config.json")
    print(f"  {(DEMO / 'downloaded').relative_to(ROOT)}/   the model")
    print(f"  {HOME.relative_to(ROOT)}/         everything that was stored")
    print(f"  FOOTPLATE_HOME={HOME.relative_to(ROOT)} .venv/bin/footplate runs list")
    print(f"  {link}")
    print("The link opens the page, once, within ten minutes; the server behind it stops when it is idle.")
    return 0


if __name__ == "__main__":
    sys.exit(main())
