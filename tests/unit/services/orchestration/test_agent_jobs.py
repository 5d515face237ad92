from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from footplate.domain.specs import GpuRequest
from footplate.engines.base import NodeResources, Observation
from footplate.services.access.tokens import TokenHolder
from footplate.services.orchestration.agent_jobs import AgentJobs, Listeners

from ..conftest import FakeEngine, House, open_house

URL = "http://10.0.0.1:8000"


def jobs(house: House, url: str | None = URL) -> AgentJobs:
    listeners = Listeners("unix:///s.sock", url)
    services = house.services
    return AgentJobs(house.store, services.tokens, listeners, house.home, lambda _: house.engine, services.archives)


def test_agents_that_share_the_home_get_the_socket(house: House) -> None:
    house.submit("r1", max_seconds=60.0)
    house.until_launched("r1")
    (job,) = house.engine.jobs
    assert (job.endpoint, job.home, job.bundle) == ("unix:///nowhere.sock", str(house.home), None)
    assert house.services.tokens.holder_of(job.token or "") == TokenHolder("r1", house.workspace)
    assert (job.time_limit, job.grace) == (60.0, 120.0)


def test_agents_elsewhere_get_a_url_and_the_token_of_the_run(house: House) -> None:
    house.submit("r1")
    house.until_launched("r1")
    house.engine.shares_home = False
    record = house.store.runs.record("r1")
    job = jobs(house).build(record)
    assert (job.endpoint, job.home) == (URL, None)
    assert job.bundle == house.services.archives.bundle()
    assert house.services.tokens.holder_of(job.token or "") == TokenHolder("r1", house.workspace)
    assert jobs(house).access(record).token == job.token
    assert jobs(house).access(replace(record, attempt=2)).token != job.token


def test_an_engine_elsewhere_needs_a_server_on_tcp(tmp_path: Path) -> None:
    house = open_house(tmp_path, FakeEngine("cluster", shares_home=False))
    house.submit("r1")
    house.until_status("r1", "Failed")
    outcome = house.services.runs.view("r1").outcome
    assert outcome is not None and outcome.cause is not None
    assert outcome.cause.code == "launch_failed" and "listens only on its socket" in outcome.cause.message
    house.services.stop()
    house.store.close()


def test_resources_come_from_the_target_and_the_run(house: House) -> None:
    options = {"vm_size": "STANDARD_D2_V2", "resources": {"license": 2}}
    house.services.computes.put(house.workspace, "big", 4, options=options)
    house.submit("r1", target="big", gpus=GpuRequest(per_node=3))
    job = jobs(house).build(house.store.runs.record("r1"))
    assert job.resources == NodeResources(2, 7, 3, {"license": 2})
    assert job.options == options


def test_a_run_shows_why_its_engine_lets_it_wait(house: House) -> None:
    house.engine.seen["handle-r1"] = Observation("queued", reason="Priority", estimated_start=5e9, places={0: "n7"})
    house.submit("r1")
    house.until_launched("r1")
    house.bulletin.until(lambda: house.services.runs.view("r1").waiting is not None)
    view = house.services.runs.view("r1")
    assert view.status == "Provisioning" and view.nodes[0].host == "n7"
    assert view.waiting is not None and (view.waiting.reason, view.waiting.latest) == ("Priority", 5e9)
