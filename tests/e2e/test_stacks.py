"""A hung run reports where it hangs: every rank and every thread, in the SDK and on the command line."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from footplate import PyTorchConfiguration, TensorflowConfiguration, Workspace
from footplate.domain.records import NodeState
from footplate.sdk.exceptions import AzureMLException
from footplate.testing.waiting import wait_until
from support.ops_tools import finish, submit

DEADLOCK = """
    import os, threading
    first, second = threading.Lock(), threading.Lock()
    met = threading.Barrier(2)
    def take(one, other):
        with one:
            met.wait()
            open(f"ready.{os.environ['RANK']}.{threading.get_ident()}", "w").close()
            with other:
                pass
    threading.Thread(target=take, args=(second, first), name="other").start()
    take(first, second)
"""


def test_deadlock_of_two_ranks_is_visible(home: Path, workspace: Workspace, project: Path) -> None:
    run = submit(workspace, project, DEADLOCK, distributed_job_config=PyTorchConfiguration("Gloo", 2))
    wait_until(lambda: len(list((home / "work" / run.id / "node_0" / "wd").glob("ready.*"))) == 4)
    wait_until(lambda: run.get_status() == "Running")
    found = run.get_stacks()
    assert [(each.rank, each.node) for each in found] == [(0, 0), (1, 0)], found
    for each in found:
        assert each.source in ("py-spy", "faulthandler")
        stuck = [thread for thread in each.threads if thread.frames[-1].function == "take"]
        assert len(stuck) == 2, each
    shown = command(home, "runs", "stacks", run.id)
    assert shown.startswith("ranks 0–1 · node 0 · 2 processes with the same stack")
    assert shown.count("in take") == 2
    only = json.loads(command(home, "runs", "stacks", run.id, "--rank", "1", "--json"))
    assert [each["rank"] for each in only] == [1]
    assert run.get_status() == "Running", "looking has harmed nobody"
    run.cancel()
    finish(run)
    with pytest.raises(AzureMLException, match="is Canceled: no process of it runs"):
        run.get_stacks()


SERVES = """
    import json, os, time
    open("ready." + json.loads(os.environ["TF_CONFIG"])["task"]["type"] + os.environ["FOOTPLATE_NODE"], "w").close()
    time.sleep(600)
"""


def test_nodes_that_only_serve_report_stacks(home: Path, workspace: Workspace, project: Path) -> None:
    """When a chief waits forever, the stacks of its workers and parameter servers matter."""
    job = TensorflowConfiguration(worker_count=2, parameter_server_count=1, chief=True)
    run = submit(workspace, project, SERVES, distributed_job_config=job)
    wait_until(lambda: len(list((home / "work" / run.id / "node_0" / "wd").glob("ready.*"))) == 4)
    wait_until(lambda: workspace.session.api.runs.get(run.id).nodes[1].state is NodeState.ATTENDING)
    assert {(each.rank, each.node) for each in run.get_stacks()} == {(0, 0), (1, 0), (2, 1), (3, 0)}
    run.cancel()
    finish(run)


def command(home: Path, *words: str) -> str:
    done = subprocess.run(
        [str(Path(sys.executable).parent / "footplate"), *words],
        env={**os.environ, "FOOTPLATE_HOME": str(home)},
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout
