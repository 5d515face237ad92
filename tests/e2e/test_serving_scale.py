"""Replicas that follow the queue, down to none; and new versions and shares from the command line."""

from __future__ import annotations

import json
import threading
import urllib.request
from pathlib import Path
from typing import Any

import pytest

from azureml.core import Model, Workspace
from azureml.core.model import InferenceConfig
from azureml.core.webservice import AksWebservice, Webservice
from footplate.testing.waiting import wait_until

pytestmark = pytest.mark.shared_home

GATED = """
import os, time
def run(data):
    while not os.path.exists(GATE):
        time.sleep(0.02)
    return os.getpid()
"""


def script(folder: Path, text: str) -> InferenceConfig:
    folder.mkdir(exist_ok=True)
    (folder / "score.py").write_text(text)
    return InferenceConfig("score.py", source_directory=str(folder))


def test_replicas_follow_the_queue_down_to_none(ws: Workspace, model: Model, tmp_path: Path) -> None:
    gate = tmp_path / "gate"
    config = script(tmp_path / "source", GATED.replace("GATE", repr(str(gate))))
    options = AksWebservice.deploy_configuration(
        auth_enabled=False, autoscale_enabled=True, autoscale_min_replicas=0, autoscale_max_replicas=2,
        autoscale_target_utilization=25, scoring_timeout_ms=300_000,
    )  # fmt: skip
    service = Model.deploy(ws, "sleeper", [model], config, options)
    service.wait_for_deployment()
    service.change(idle_seconds=1.0)
    service.wait_for_deployment()

    def counts() -> tuple[int, int]:
        version = service.versions[-1]
        return version.replicas, version.healthy

    wait_until(lambda: counts() == (0, 0))
    assert service.state == "Healthy"  # without a worker
    url, answers = str(service.scoring_uri), list[int]()

    def send() -> None:
        with urllib.request.urlopen(url, b"{}", timeout=300) as response:
            answers.append(json.load(response))

    threads = [threading.Thread(target=send) for _ in range(4)]
    for thread in threads:
        thread.start()
    wait_until(lambda: counts() == (2, 2))  # each of them holds a request now
    gate.touch()
    for thread in threads:
        thread.join()
    assert (len(answers), len(set(answers))) == (4, 2)
    wait_until(lambda: counts() == (0, 0))


def test_versions_and_shares_are_set_from_the_command_line(
    ws: Workspace, model: Model, tmp_path: Path, footplate: Any
) -> None:
    config = script(tmp_path / "source", "def run(data):\n return 'one'\n")
    options = AksWebservice.deploy_configuration(auth_enabled=False)
    Model.deploy(ws, "canary", [model], config, options).wait_for_deployment()
    (tmp_path / "second").mkdir()
    (tmp_path / "second" / "score.py").write_text("def run(data):\n return 'two'\n")
    two = str(tmp_path / "second" / "score.py")
    updated = footplate.json("endpoints", "update", "canary", "--script", two, "--share", "30")
    assert [(v["number"], v["state"], v["weight"]) for v in updated["versions"]] == [
        (1, "ready", 70.0),
        (2, "ready", 30.0),
    ]
    assert "version 2: 100" in footplate("endpoints", "split", "canary", "1=0", "2=100").stderr
    wait_until(lambda: {footplate.json("endpoints", "call", "canary", "{}") for _ in range(3)} == {"two"})
    address = str(Webservice(ws, "canary").scoring_uri)
    assert (
        address in footplate("endpoints", "list").stdout and address in footplate("endpoints", "show", "canary").stdout
    )
    shown = footplate.json("endpoints", "show", "canary")
    assert [version["weight"] for version in shown["versions"]] == [0.0, 100.0]
