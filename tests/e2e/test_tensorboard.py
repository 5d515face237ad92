"""TensorBoard on the event files of a live run, and on metrics that were logged with Run.log."""

from __future__ import annotations

import json
import os
import urllib.request
from pathlib import Path
from typing import Any

import pytest

from azureml.core import Environment, Experiment, ScriptRunConfig, Workspace
from azureml.exceptions import UserErrorException
from azureml.tensorboard import Tensorboard
from azureml.tensorboard.export import export_to_tensorboard
from footplate.testing.waiting import wait_until
from support.ops_tools import write_source

pytestmark = [pytest.mark.timeout(300), pytest.mark.shared_home]

# As a training loop with tf.summary or torch's SummaryWriter: event files that grow, here until the test has seen them.
TRAIN = """
import os, sys, time
from tensorboard.compat.proto.event_pb2 import Event
from tensorboard.compat.proto.summary_pb2 import Summary
from tensorboard.summary.writer.event_file_writer import EventFileWriter

writer = EventFileWriter("logs/train")
for step in range(10 ** 6):
    value = Summary.Value(tag="loss", simple_value=1.0 / (step + 1))
    writer.add_event(Event(wall_time=time.time(), step=step, summary=Summary(value=[value])))
    writer.flush()
    if os.path.exists(sys.argv[1]):
        break
    time.sleep(0.1)
writer.close()
"""


def get(url: str, path: str) -> Any:
    with urllib.request.urlopen(f"{url}data/{path}") as reply:
        return json.load(reply)


def steps(url: str, run: str, tag: str) -> list[int]:
    if tag not in get(url, "plugin/scalars/tags").get(run, {}):
        return []
    return [point[1] for point in get(url, f"plugin/scalars/scalars?run={run}&tag={tag.replace('/', '%2F')}")]


def test_tensorboard_follows_a_live_run(workspace: Workspace, project: Path, here: Environment) -> None:
    enough = project / "enough"
    source = write_source(project, TRAIN)
    config = ScriptRunConfig(str(source), "train.py", [str(enough)], environment=here)
    run = Experiment(workspace, "boards").submit(config)
    board = Tensorboard([run], local_root="board", port=0)
    url = board.start()
    try:
        assert url == board.start() and url.startswith("http://localhost:")
        name = f"{run.id}/train"
        wait_until(lambda: len(steps(url, name, "loss")) > 2)
        seen = steps(url, name, "loss")
        wait_until(lambda: len(steps(url, name, "loss")) > len(seen))
        enough.touch()
        run.wait_for_completion()
        files = [file for file in run.get_file_names() if file.startswith("logs/train/")]
        size = sum(len(b"".join(workspace.session.api.files.read(run.id, file))) for file in files)
        copies = project / "board" / run.id / "train"
        wait_until(lambda: sum(os.path.getsize(file) for file in copies.iterdir()) == size)
    finally:
        enough.touch()
        board.stop()
    with pytest.raises(OSError):
        get(url, "runs")
    with pytest.raises(UserErrorException, match="runs holds 'x'"):
        Tensorboard(["x"])  # type: ignore[list-item]


def test_metrics_are_exported_as_event_files(workspace: Workspace, project: Path) -> None:
    with Experiment(workspace, "boards").start_logging(snapshot_directory=None) as run:
        for step in range(3):
            run.log("loss", 1.0 / (step + 1), step=step * 10)
        run.log("name", "text has no curve")
        run.log_table("errors", {"a": [1, 2], "b": [3, 4]})
        (project / "dot.png").write_bytes(b"\x89PNG\r\n\x1a\n")
        run.log_image("dot", path="dot.png")
        with run.child_run("child") as child:
            child.log("accuracy", 0.5)
    export_to_tensorboard(run, "exported")
    board = Tensorboard([], local_root="exported", port=0)
    url = board.start()
    try:
        wait_until(lambda: steps(url, run.id, "loss") == [0, 10, 20])
        tags = get(url, "plugin/scalars/tags")
        assert set(tags[run.id]) == {"loss", "errors/a", "errors/b"} and set(tags[child.id]) == {"accuracy"}
        assert get(url, "plugin/images/tags")[run.id]["dot"]
    finally:
        board.stop()
