"""Web services on nodes that see neither the server's home nor its gateway, and that only call out."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from azureml.core import Environment, Model
from azureml.core.webservice import Webservice
from azureml.exceptions import WebserviceException
from footplate.testing.waiting import wait_until
from support.cluster_services import Client, deploy, describe_script
from support.networks import PrivateNetwork, ServerInside

from .test_namespace_engine import cluster, here, network, roots, server, workspace_there

__all__ = ["cluster", "here", "network", "roots", "server", "workspace_there"]  # fixtures


@pytest.fixture
def services(cluster: Any) -> Iterator[list[Webservice]]:
    """Yield a list of services that are deleted at the end, whatever happens."""
    made: list[Webservice] = []
    yield made
    for service in made:
        service.delete()


def test_a_service_on_other_machines_survives_every_loss(
    cluster: Any, here: Environment, server: ServerInside, network: PrivateNetwork, home: Path,
    roots: Path, services: list[Webservice], footplate: Any,
) -> None:  # fmt: skip
    service = deploy(cluster, here, "number", 2)
    services.append(service)
    service.wait_for_deployment()
    client = Client(home, network, "number")
    try:
        answers = client.ask_many()
        pids = {answer["pid"] for answer in answers}
        assert len(pids) == 2 and all(answer["model"].startswith(f"{roots}/") for answer in answers)
        assert service.get_logs().count("started number with 7") == 2
        wait_until(lambda: footplate.json("endpoints", "show", "number")["versions"][0]["requests"] == 200)
        (shown,) = footplate.json("endpoints", "show", "number")["versions"]
        found = [shown[name] for name in ("healthy", "state", "errors", "waiting")]
        assert (shown["spec"]["target"], *found) == ("far", 2, "ready", 0, None)

        (rows,) = home.rglob("inputs.csv")
        assert {int(line.partition(",")[0]) for line in rows.read_text().splitlines()[1:]} == set(range(200))

        # The target has room for two nodes.
        late = deploy(cluster, here, "late", 1)
        services.append(late)
        wait_until(lambda: footplate.json("endpoints", "show", "late")["versions"][0]["waiting"])
        assert "far" in footplate("endpoints", "show", "late").stdout.partition("waits")[2].splitlines()[0]
        late.delete()
        services.remove(late)

        # A worker dies: its requests go to the other one, and it starts again.
        os.kill(min(pids), signal.SIGKILL)
        client.ask_many()
        wait_until(lambda: client.healthy() == 2)
        pids = {answer["pid"] for answer in client.ask_many()}
        assert len(pids) == 2

        # The agents die: the workers do not notice.
        for lock in roots.glob("*/work/*/node_0/agent.lock"):
            os.kill(json.loads(lock.read_text())["pid"], signal.SIGKILL)
        # The server is away: the gateway and the connections do not need it.
        server.stop()
        assert {answer["pid"] for answer in client.ask_many()} == pids
        server.start()
        assert {answer["pid"] for answer in client.ask_many()} == pids

        # The gateway dies: the next one has the same port, and the workers connect to it.
        before = client.gateway()["pid"]
        os.kill(before, signal.SIGKILL)
        wait_until(lambda: client.gateway()["pid"] != before)
        wait_until(lambda: client.healthy() == 2)
        assert {answer["pid"] for answer in client.ask_many()} == pids

        # The network is away: that is noticed, and the workers connect again.
        network.cut(network.nodes[0])
        wait_until(lambda: client.healthy() == 0)
        network.restore(network.nodes[0])
        wait_until(lambda: client.healthy() == 2)
        assert {answer["pid"] for answer in client.ask_many()} == pids
    finally:
        network.restore(network.nodes[0])
        client.close()
    service.delete()
    services.remove(service)
    wait_until(lambda: not list(roots.glob("*/work/*")))
    wait_until(lambda: not (client.serving / "gateway.sock").exists())
    assert not list((client.serving / "versions").glob("*"))


def test_a_target_that_cannot_hold_a_service_is_named(cluster: Any, here: Environment) -> None:
    script = describe_script(here)
    with pytest.raises(WebserviceException, match="there is no compute target 'nowhere'") as raised:
        Model.deploy(cluster.workspace, "number", [], script, deployment_target="nowhere")
    assert "footplate compute list" in str(raised.value)
    with pytest.raises(WebserviceException, match="deployment_target is 7"):
        Model.deploy(cluster.workspace, "number", [], script, deployment_target=7)
    assert cluster.workspace.webservices == {}
