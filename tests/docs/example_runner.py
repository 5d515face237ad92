"""Run the examples of the Python reference in the current directory, each with a workspace, an experiment and a run.

The first argument is the folder of `python_api`; the others are names of objects whose examples are only type-checked.
"""

from __future__ import annotations

import contextlib
import io
import os
import sys
import traceback
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

SCRIPT = """import pathlib
import sys

from azureml.core import Run

run = Run.get_context()
run.log("loss", 0.5)
pathlib.Path("outputs/model.txt").write_text("weights")
sys.exit("told to fail" if "--fail" in sys.argv else 0)
"""


def main(scripts: str, skipped: set[str]) -> int:
    sys.path.insert(0, scripts)
    import python_api  # noqa: PLC0415  # its folder is an argument

    names = {found.__name__: found for listed in python_api.public().values() for found in listed}
    names |= _context(names)
    failed = 0
    for label, example in _examples(python_api):
        if label not in skipped:
            failed += not _works(label, example, dict(names))
    print(f"{failed} failed")
    return 1 if failed else 0


def _context(names: dict[str, Any]) -> dict[str, Any]:
    """Return the names that examples assume; the run has completed."""
    os.makedirs("src", exist_ok=True)
    Path("src", "train.py").write_text(SCRIPT, encoding="utf-8")
    ws = names["Workspace"].create("examples", exist_ok=True, show_output=False)
    ws.write_config()
    experiment = names["Experiment"](ws, "demo")
    run = experiment.submit(names["ScriptRunConfig"]("src", "train.py", environment=_existing(names)))
    run.wait_for_completion()
    return {"ws": ws, "experiment": experiment, "run": run}


def _existing(names: dict[str, Any]) -> Any:
    made = names["Environment"]("existing")
    made.python.user_managed_dependencies = True
    made.python.interpreter_path = sys.executable
    return made


def _examples(python_api: Any) -> Iterator[tuple[str, str]]:
    listed = [found for names in python_api.public().values() for found in names]
    classes = {found for found in listed if isinstance(found, type)}
    for found in listed:
        yield found.__name__, python_api.Doc.of(found).example
        for member in python_api.members(found).values() if found in classes else ():
            if python_api.owner(found, member.name, classes) is found:
                yield f"{found.__name__}.{member.name}", python_api.Doc.of(member.target).example


def _works(label: str, example: str, names: dict[str, Any]) -> bool:
    said = io.StringIO()
    try:
        with contextlib.redirect_stdout(said), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            exec(compile(example, label, "exec"), names)
    except Exception:
        print(f"── {label} ──\n{said.getvalue()}\n{traceback.format_exc()}")
        return False
    return True


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], set(sys.argv[2:])))
