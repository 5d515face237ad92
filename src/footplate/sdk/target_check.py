"""`footplate compute check`: a run that tests every node of a compute target.

Its nodes tell the server what can be installed on them, too: environments are resolved for that.
"""

from __future__ import annotations

import json
import os
import shutil
import tempfile
import time
from dataclasses import dataclass, field, replace
from typing import Any, Dict, List, Optional

from footplate import environ
from footplate.domain.records import RunView
from footplate.sdk.compute import node_probe
from footplate.sdk.config.script_run_config import ScriptRunConfig
from footplate.sdk.environments.environment import Environment
from footplate.sdk.experiment import Experiment
from footplate.sdk.run import Run, make_run
from footplate.sdk.session import user_name
from footplate.sdk.submission import new_run_id, prepare_script
from footplate.sdk.values.run_configuration_sections import PyTorchConfiguration
from footplate.sdk.workspace import Workspace

EXPERIMENT = "compute-check"
_EARLY = ("Starting", "Preparing", "Queued", "Provisioning")
_PAUSE = 0.5


@dataclass(frozen=True)
class TargetReport:
    """Findings about a compute target. `nodes`: one report per node that answered. `problem`: why some did not."""

    target: str
    run: str
    requested: int
    nodes: List[Dict[str, Any]] = field(default_factory=lambda: [])
    problem: Optional[str] = None

    @property
    def is_usable(self) -> bool:
        """Whether every node has answered and nothing essential fails there."""
        states = [finding["state"] for node in self.nodes for finding in node["findings"]]
        return self.problem is None and len(self.nodes) == self.requested and "fail" not in states

    def serialize(self) -> Dict[str, Any]:
        return {
            "target": self.target, "run": self.run, "asked": self.requested, "nodes": self.nodes,
            "problem": self.problem, "usable": self.is_usable,
        }  # fmt: skip


def check_target(workspace: Workspace, name: str, nodes: Optional[int] = None, timeout: float = 60.0) -> TargetReport:
    """Run the probe on the nodes of a target, by default on all that its cluster has, and return its findings.

    A probe that has not started within `timeout` seconds, or not ended as many seconds later, is canceled.
    """
    computes = workspace.session.api.computes
    target = computes.get(workspace.id, name)
    count = nodes or min(target.max_nodes, computes.cluster(workspace.id, name).machines or 1)
    run = _submit(workspace, name, count, target.options)
    view, problem = _wait(workspace, run, timeout)
    if problem is None and view.outcome is not None and view.outcome.cause is not None:
        problem = view.outcome.cause.message
    return TargetReport(target.name, run.id, count, _reports(run), problem)


def _submit(workspace: Workspace, name: str, nodes: int, options: Dict[str, Any]) -> Run:
    environment = Environment("node-python")
    environment.python.user_managed_dependencies = True
    environment.python.interpreter_path = str(options.get("python") or "python3")
    arguments = ["--endpoint", "$" + environ.ENDPOINT, "--home", workspace.session.api.server.get().home]
    if options.get("shared"):
        arguments += ["--shared", str(options["shared"])]
    with tempfile.TemporaryDirectory() as folder:
        shutil.copy(node_probe.__file__, os.path.join(folder, "node_probe.py"))
        config = ScriptRunConfig(
            folder, "node_probe.py", arguments, compute_target=name, environment=environment,
            distributed_job_config=PyTorchConfiguration("Gloo", nodes, nodes),
        )  # fmt: skip
        experiment = Experiment(workspace, EXPERIMENT)
        script = prepare_script(experiment, config)
        spec = replace(script.spec, describe_nodes=True)
        view = workspace.session.api.runs.submit(workspace.id, new_run_id(EXPERIMENT), spec, user_name())
        return make_run(experiment, view)


def _wait(workspace: Workspace, run: Run, timeout: float) -> Any:
    """Wait until the run has ended, or has been canceled because it takes too long; return it and why it was."""
    runs = workspace.session.api.runs
    has_started = False
    deadline = time.monotonic() + timeout
    while True:
        view: RunView = runs.get(run.id)
        if view.ended is not None:
            return view, None
        if not has_started and view.status not in _EARLY:
            has_started = True
            deadline = time.monotonic() + timeout
        if time.monotonic() > deadline:
            problem = _reason(view, timeout)
            run.cancel()
            return view, problem
        time.sleep(_PAUSE)


def _reason(view: RunView, timeout: float) -> str:
    if view.status not in _EARLY:
        return f"the probe did not end within {timeout:g} s"
    why = view.waiting.reason if view.waiting else "; ".join(node.message for node in view.nodes if node.message)
    return f"the probe did not start within {timeout:g} s: {why or view.status}"


def _reports(run: Run) -> List[Dict[str, Any]]:
    with tempfile.TemporaryDirectory() as folder:
        reports: List[Dict[str, Any]] = []
        for path in run.get_file_names():
            if path.startswith("outputs/nodes/"):
                place = os.path.join(folder, os.path.basename(path))
                run.download_file(path, place)
                with open(place, encoding="utf-8") as file:
                    reports.append(json.load(file))
    return sorted(reports, key=lambda report: report["node"])
