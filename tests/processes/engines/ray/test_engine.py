"""The engine's requests and its reading of Ray's answers, against a small HTTP server in the place of the head."""

from __future__ import annotations

import base64
import json
import threading
import zlib
from collections.abc import Iterator
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from footplate import environ
from footplate.engines.base import AgentJob, NodeResources, Observation
from footplate.engines.ray import api
from footplate.engines.ray.engine import RayEngine
from footplate.errors import InvalidInput, Unavailable

DIED = "Job supervisor actor died: The actor died because its node has died. Node Id: 7a40\nmore"


class FakeHead:
    """Answers as Ray's dashboard does: `jobs` by submission id; `asked` are the requests that came."""

    def __init__(self) -> None:
        self.version, self.status, self.refusal = "2.60.0", dict[str, Any](), 0
        self.jobs: dict[str, dict[str, Any]] = {}
        self.actors: list[dict[str, Any]] = []
        self.usage: dict[str, str] = {}
        self.lists: dict[str, Any] = {"/api/v0/cluster_events": [], "/api/v0/nodes": []}
        self.asked: list[tuple[str, str]] = []
        self.tokens: set[str | None] = set()
        head = self

        class Handler(BaseHTTPRequestHandler):
            def do_any(self) -> None:
                body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
                head.asked.append((self.command, self.path.partition("?")[0]))
                head.tokens.add(self.headers.get("Authorization"))
                code, answer = head.answer(self.command, self.path, json.loads(body) if body else None)
                data = answer.encode() if isinstance(answer, str) else json.dumps(answer).encode()
                self.send_response(code)
                self.send_header("Content-Length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

            do_GET = do_POST = do_DELETE = do_any

            def log_message(self, format: str, *args: object) -> None:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.address = f"http://127.0.0.1:{self.server.server_port}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def answer(self, method: str, path: str, body: Any) -> tuple[int, Any]:
        if self.refusal:
            return self.refusal, "Traceback\nRuntimeError: no"
        if path == "/api/version":
            return 200, {"ray_version": self.version}
        if path == "/api/cluster_status":
            return 200, {"data": self.status}
        if path.startswith("/nodes"):
            return 200, {"data": {"nodeLogicalResources": self.usage}}
        if path.startswith(("/api/v0/cluster_events", "/api/v0/nodes")):
            return 200, {"data": {"result": {"result": self.lists[path.partition("?")[0]]}}}
        if path.startswith("/api/v0/actors"):
            living = [actor for actor in self.actors if "DEAD" not in path or actor["state"] != "DEAD"]
            return 200, {"data": {"result": {"result": living}}}
        if path == "/api/jobs/" and method == "POST":
            self.jobs[body["submission_id"]] = {"status": "PENDING", "job_id": None, **body}
            return 200, {"submission_id": body["submission_id"]}
        if path == "/api/jobs/":
            return 200, list(self.jobs.values())
        name = path.split("/")[3]
        if name not in self.jobs:
            return 404, f"Job {name} does not exist"
        return 200, self.jobs.pop(name) if method == "DELETE" else self.jobs[name]


@pytest.fixture
def head() -> Iterator[FakeHead]:
    head = FakeHead()
    yield head
    head.server.shutdown()
    head.server.server_close()


def job(head: FakeHead, nodes: int = 1, attempt: int = 1, **options: Any) -> AgentJob:
    wanted = NodeResources(cpus=4, memory=2.0, gpus=1, custom={"blue": 1})
    options = {"address": head.address, **options}
    return AgentJob("r1", attempt, nodes, "http://server:8000", "t0ken", bundle="b" * 64, resources=wanted,
                    grace=2.5, options=options)  # fmt: skip


def submitted(head: FakeHead, nodes: int = 1, **fields: Any) -> tuple[RayEngine, str]:
    """Submit a run; then its job has these fields."""
    engine = RayEngine()
    handle = engine.submit(engine.prepare(job(head, nodes)))
    head.jobs["r1"].update(fields)
    return engine, handle


def observe(engine: RayEngine, handle: str) -> Observation:
    return engine.poll([handle])[handle]


def test_one_node_is_the_entrypoint_with_its_resources(head: FakeHead) -> None:
    submitted(head)
    sent = head.jobs["r1"]
    assert (sent["entrypoint_num_cpus"], sent["entrypoint_num_gpus"]) == (4, 1)
    assert (sent["entrypoint_memory"], sent["entrypoint_resources"]) == (2 * 2**30, {"blue": 1})
    assert sent["entrypoint"].startswith("exec python3 -I -S -c ") and sent["entrypoint"].endswith(" node 0")
    assert sent["runtime_env"]["env_vars"]["RAY_JOB_STOP_WAIT_TIME_S"] == "3"
    assert "t0ken" not in json.dumps(sent)
    packed = sent["runtime_env"]["env_vars"][environ.RAY_JOB]
    described = json.loads(zlib.decompress(base64.b64decode(packed)))
    assert described["variables"][environ.TOKEN] == "t0ken"
    assert described["arguments"][0][-2:] == ["--node", "0"]


@pytest.mark.parametrize(("gpus", "hidden"), [(None, {"CUDA_VISIBLE_DEVICES": ""}), (2, {})])
def test_a_node_without_gpus_sees_none(head: FakeHead, gpus: int | None, hidden: dict[str, str]) -> None:
    """Ray leaves CUDA_VISIBLE_DEVICES unset there, which means all devices of the machine."""
    engine = RayEngine()
    engine.submit(engine.prepare(replace(job(head), resources=NodeResources(gpus=gpus))))
    packed = head.jobs["r1"]["runtime_env"]["env_vars"][environ.RAY_JOB]
    variables = json.loads(zlib.decompress(base64.b64decode(packed)))["variables"]
    assert {name: value for name, value in variables.items() if "CUDA" in name} == hidden


def test_several_nodes_are_a_gang_of_a_driver_on_the_head(head: FakeHead) -> None:
    submitted(head, nodes=3)
    sent = head.jobs["r1"]
    assert sent["entrypoint"].endswith(" gang") and "entrypoint_num_cpus" not in sent
    described = json.loads(zlib.decompress(base64.b64decode(sent["runtime_env"]["env_vars"][environ.RAY_JOB])))
    assert described["bundle"] == {"CPU": 4, "GPU": 1, "memory": 2 * 2**30, "blue": 1}
    assert len(described["arguments"]) == 3


def test_each_attempt_has_a_submission_of_its_own(head: FakeHead) -> None:
    engine = RayEngine()
    for attempt in (1, 2, 2):
        engine.submit(engine.prepare(job(head, attempt=attempt)))
    assert list(head.jobs) == ["r1", "r1-2"]


def test_an_ended_job_is_submitted_again_under_another_id(head: FakeHead) -> None:
    engine, first = submitted(head, status="FAILED", error_type="JOB_SUPERVISOR_ACTOR_START_FAILURE")
    second = engine.submit(engine.prepare(job(head)))
    assert list(head.jobs) == ["r1", "r1.2"] and first != second
    assert head.jobs["r1.2"]["entrypoint"].endswith(" node 0")


def test_a_job_that_waited_too_long_gets_a_driver_that_waits(head: FakeHead) -> None:
    engine, handle = submitted(head, status="FAILED", error_type="JOB_SUPERVISOR_ACTOR_START_TIMEOUT",
                               message="it took too long\nmore")  # fmt: skip
    assert observe(engine, handle) == Observation("exited", {0: None}, reason="it took too long")
    engine.submit(engine.prepare(job(head)))
    assert head.jobs["r1.2"]["entrypoint"].endswith(" gang")


@pytest.mark.parametrize(
    ("fields", "codes", "ended_by"),
    [
        ({"status": "SUCCEEDED"}, {0: 0}, None),
        ({"status": "FAILED", "driver_exit_code": 77, "message": "failed with exit code 77"}, {0: 77}, None),
        ({"status": "STOPPED"}, {0: None}, "stopped_elsewhere"),
        ({"status": "FAILED", "error_type": "JOB_SUPERVISOR_ACTOR_DIED", "message": DIED}, {0: None}, "node_lost"),
        ({"status": "FAILED", "message": "killed: the node was low on memory"}, {0: None}, "out_of_memory"),
    ],
)
def test_ends_of_a_job_are_told_apart(head: FakeHead, fields: Any, codes: Any, ended_by: str | None) -> None:
    engine, handle = submitted(head, **fields)
    seen = observe(engine, handle)
    assert (seen.state, seen.codes, seen.ended_by) == ("exited", codes, ended_by)
    assert (seen.reason is not None) is (ended_by is not None)


def test_the_last_line_of_a_driver_has_the_codes_of_its_nodes(head: FakeHead) -> None:
    line = 'footplate-result {"codes": {"0": 0, "1": null}, "lost": {"1": "the node 10.0.0.7 died"}}'
    message = f"Job entrypoint command failed with exit code 1, last available logs:\nwords\n{line}\n"
    engine, handle = submitted(head, nodes=2, status="FAILED", driver_exit_code=1, message=message)
    seen = observe(engine, handle)
    assert (seen.codes, seen.ended_by, seen.reason) == ({0: 0, 1: None}, "node_lost", "node 1: the node 10.0.0.7 died")


def test_a_driver_that_ends_without_a_result_has_lost_its_nodes(head: FakeHead) -> None:
    engine, handle = submitted(head, nodes=2, status="FAILED", driver_exit_code=1, message="no more lines")
    seen = observe(engine, handle)
    assert (seen.codes, seen.ended_by, seen.reason) == ({0: None, 1: None}, "node_lost", "no more lines")


def test_a_stop_that_we_asked_for_is_not_somebody_elses(head: FakeHead) -> None:
    engine, handle = submitted(head)
    engine.cancel(handle, 1.0)
    assert ("POST", "/api/jobs/r1/stop") in head.asked
    assert observe(engine, handle) == Observation("exited", {0: None})  # it waits: Ray will never run it
    head.jobs["r1"]["status"] = "STOPPED"
    assert observe(engine, handle).ended_by is None
    assert engine.forget(handle) and not head.jobs


def test_a_running_job_shows_its_host(head: FakeHead) -> None:
    engine, handle = submitted(head, status="RUNNING", driver_agent_http_address="http://10.0.0.7:52365")
    assert observe(engine, handle) == Observation("running", places={0: "10.0.0.7"})
    assert engine.forget(handle) is False


def test_a_gang_waits_until_it_has_actors_and_reports_lost_ones(head: FakeHead) -> None:
    engine, handle = submitted(head, nodes=2, status="RUNNING", job_id="02")
    assert observe(engine, handle).state == "queued"
    actors: list[Any] = [{"name": f"r1/{n}/10.0.0.{n}", "job_id": "02", "state": "ALIVE"} for n in (0, 1)]
    head.actors = [*actors, {"name": "r1/1/10.0.0.9", "job_id": "01", "state": "ALIVE"}]
    assert observe(engine, handle) == Observation("running", places={0: "10.0.0.0", 1: "10.0.0.1"})
    death = {"actor_died_error_context": {"reason": "NODE_DIED", "error_message": "node died"}}
    actors[1] |= {"state": "DEAD", "death_cause": death}
    head.actors = actors
    seen = observe(engine, handle)
    assert (seen.state, seen.lost, seen.codes, seen.reason) == ("running", (1,), {1: None}, "node died")


def test_a_job_that_the_head_has_forgotten_counts_as_lost(head: FakeHead) -> None:
    engine, handle = submitted(head)
    head.jobs.clear()
    assert (observe(engine, handle).state, observe(engine, handle).ended_by) == ("exited", "node_lost")
    engine.cancel(handle, 0.0)
    assert engine.forget(handle)


def test_one_request_serves_all_handles(head: FakeHead) -> None:
    engine = RayEngine()
    handles = [engine.submit(engine.prepare(job(head, attempt=n))) for n in range(1, 6)]
    for each in head.jobs.values():
        each |= {"status": "RUNNING", "driver_agent_http_address": "http://10.0.0.7:1"}
    head.asked.clear()
    assert len(engine.poll(handles)) == 5
    assert head.asked == [("GET", "/api/jobs/")]


def test_a_head_that_is_away_is_not_a_lost_job(head: FakeHead) -> None:
    engine, handle = submitted(head)
    head.refusal = 500
    with pytest.raises(Unavailable, match="answered 500: RuntimeError: no"):
        engine.poll([handle])
    assert engine.forget(handle) is False
    engine.cancel(handle, 0.0)


def test_a_head_that_is_away_does_not_hide_the_jobs_of_others(head: FakeHead) -> None:
    engine, handle = submitted(head)
    away = json.dumps({**json.loads(handle), "address": "http://127.0.0.1:1"})
    assert list(engine.poll([away, handle])) == [handle]


def test_the_second_autoscaler_explains_by_its_events(head: FakeHead) -> None:
    engine, handle = submitted(head)
    assert (observe(engine, handle).reason or "").startswith("the Ray cluster has not started the job")
    head.usage = {"n1": "0.0/4.0 CPU\n0.0/1.0 GPU"}
    head.lists["/api/v0/cluster_events"] = [
        {"time": f"2026-11-16 17:00:0{second}", "message": message}
        for second, message in enumerate(["Started a ray job r1.", "Adding 1 node(s) of type big."])
    ]
    seen = observe(RayEngine(), handle)
    assert (seen.reason or "").startswith("Scaling: Ray reports: Adding 1 node(s) of type big; the run needs a node")


def test_runs_wait_without_an_explanation_if_the_head_has_none(head: FakeHead) -> None:
    """Other versions may answer differently; states do not depend on explanations."""
    engine, handle = submitted(head)
    head.lists["/api/v0/cluster_events"] = None
    head.usage = {"n1": "0.0/4.0 CPU"}
    seen = observe(engine, handle)
    assert seen.state == "queued" and "has not started the job" in (seen.reason or "")
    head.lists["/api/v0/cluster_events"] = [{"words": "of another version"}]
    assert "has not started the job" in (observe(RayEngine(), handle).reason or "")


def test_an_answer_without_a_list_is_reported_with_its_words(head: FakeHead) -> None:
    head.answer = lambda method, path, body: (200, {"result": False, "msg": "no such api", "data": {}})  # pyright: ignore
    with pytest.raises(Unavailable, match=r"answered /api/v0/nodes without a list: .*no such api"):
        api.Head(head.address).count_nodes({"CPU": 1})
    with pytest.raises(Unavailable, match=r"answered /api/jobs/ without a list: .*no such api"):
        api.Head(head.address).jobs()


def test_nodes_that_are_too_small_are_not_counted(head: FakeHead) -> None:
    head.lists["/api/v0/nodes"] = [
        {"state": "ALIVE", "resources_total": {"memory": 2.0**34}},
        {"state": "ALIVE", "resources_total": {"CPU": 4.0, "memory": 2.0**34, "blue_ones": 1.0}},
        {"state": "DEAD", "resources_total": {}},
    ]
    assert RayEngine().reach({"address": head.address}) == 1
    assert RayEngine().reach({"address": head.address, "cpus": 8}) == 0
    assert RayEngine().reach({"address": head.address, "resources": {"blue_ones": 1}}) == 1


def test_old_versions_and_bad_options_are_refused(head: FakeHead) -> None:
    head.version = "2.3.1"
    engine = RayEngine()
    with pytest.raises(InvalidInput, match=r"runs Ray 2\.3"):
        engine.submit(engine.prepare(job(head)))
    for address, wrong in (("head:8265", "head:8265"), ("", "address")):
        with pytest.raises(InvalidInput, match=wrong):
            engine.prepare(job(head, address=address))
    with pytest.raises(InvalidInput, match="blue"):
        engine.prepare(AgentJob("r1", 1, 1, "http://s", "t", bundle="b", options={"address": head.address},
                                resources=NodeResources(custom={"blue": -1})))  # fmt: skip


def test_the_token_of_the_cluster_comes_from_a_file(head: FakeHead, tmp_path: Path) -> None:
    (tmp_path / "token").write_text("s3cret\n")
    engine = RayEngine()
    handle = engine.submit(engine.prepare(job(head, token_file=str(tmp_path / "token"))))
    assert head.tokens == {"Bearer s3cret"} and "s3cret" not in handle
    (tmp_path / "token").unlink()
    with pytest.raises(Unavailable, match="cannot be read"):
        engine.poll([handle])
