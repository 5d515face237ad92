"""MLflow's routes over the real services: what is stored, what is answered, and who may send a request."""

from __future__ import annotations

import asyncio
import base64
import json
import os
from typing import Any
from urllib.parse import urlencode

import pytest

from footplate.api import PREFIX
from footplate.domain.requests import NewModel
from footplate.server.app import create_app
from footplate.server.browser import BrowserRules
from footplate.server.hub import Hub
from footplate.server.peers import STATE, Peer

from .conftest import House

TOKEN = "own"
HOST = "127.0.0.1:8931"


class Client:
    """Sends requests to the application of a house, without a socket."""

    def __init__(self, house: House, browser: BrowserRules | None = None) -> None:
        self.app = create_app(house.services, Hub(), TOKEN, browser=browser)
        self.base = f"/mlflow/{house.workspace}/api/2.0"
        self.headers = {"authorization": f"Bearer {TOKEN}", "host": HOST}

    def send(self, method: str, path: str, body: bytes = b"", /, query: str = "", **headers: str) -> tuple[int, bytes]:
        return asyncio.run(self._send(method, path, body, query, {**self.headers, **headers}))

    async def _send(
        self, method: str, path: str, body: bytes, query: str, headers: dict[str, str]
    ) -> tuple[int, bytes]:
        scope = {
            "type": "http", "http_version": "1.1", "method": method, "path": path, "raw_path": path.encode(),
            "query_string": query.encode(), "root_path": "", "scheme": "http", "client": None, "server": None,
            "headers": [(name.encode(), value.encode()) for name, value in headers.items()],
            "state": {STATE: Peer(os.getpid(), os.geteuid())}, "asgi": {"version": "3.0"},
        }  # fmt: skip
        incoming = [{"type": "http.request", "body": body, "more_body": False}]
        sent: list[dict[str, Any]] = []

        async def receive() -> dict[str, Any]:
            return incoming.pop() if incoming else {"type": "http.disconnect"}

        async def collect(message: Any) -> None:
            sent.append(message)

        await self.app(scope, receive, collect)  # type: ignore[arg-type]
        return sent[0]["status"], b"".join(message.get("body", b"") for message in sent[1:])

    def answer(self, method: str, path: str, fields: dict[str, Any] | None = None) -> tuple[int, Any]:
        is_get = method == "GET"
        body = b"" if is_get else json.dumps(fields or {}).encode()
        query = urlencode(fields or {}, doseq=True) if is_get else ""
        status, content = self.send(method, f"{self.base}/mlflow/{path}", body, query)
        return status, json.loads(content)

    def post(self, path: str, /, **fields: Any) -> Any:
        status, content = self.answer("POST", path, fields)
        assert status == 200, content
        return content

    def get(self, path: str, /, **fields: Any) -> Any:
        status, content = self.answer("GET", path, fields)
        assert status == 200, content
        return content

    def refusal(self, method: str, path: str, /, **fields: Any) -> tuple[int, str, str]:
        status, content = self.answer(method, path, fields)
        return status, content["error_code"], content["message"]

    def run(self, experiment: str, **fields: Any) -> str:
        return self.post("runs/create", experiment_id=experiment, **fields)["run"]["info"]["run_id"]


@pytest.fixture
def client(house: House) -> Client:
    return Client(house)


@pytest.fixture
def experiment(client: Client) -> str:
    return client.post("experiments/create", name="An experiment: with spaces")["experiment_id"]


# ── Experiments ───────────────────────────────────────────────────────────────────────────────────────────────────────


def test_the_default_experiment_exists_as_number_0(client: Client) -> None:
    assert client.get("experiments/get", experiment_id="0")["experiment"]["name"] == "Default"
    run = client.run("0")
    assert client.get("runs/get", run_id=run)["run"]["info"]["experiment_id"] == "0"


def test_an_experiment_is_renamed_deleted_and_restored_with_its_runs(client: Client, experiment: str) -> None:
    run, deleted_before = client.run(experiment), client.run(experiment)
    client.post("runs/delete", run_id=deleted_before)
    client.post("experiments/update", experiment_id=experiment, new_name="other")
    client.post("experiments/delete", experiment_id=experiment)
    assert client.get("runs/get", run_id=run)["run"]["info"]["lifecycle_stage"] == "deleted"
    status, code, message = client.refusal("POST", "runs/create", experiment_id=experiment)
    assert (status, code) == (400, "INVALID_PARAMETER_VALUE")
    assert message == f"The experiment {experiment} must be in the 'active' state. Current state is deleted."
    assert client.refusal("POST", "experiments/create", name="other")[:2] == (400, "RESOURCE_ALREADY_EXISTS")
    client.post("experiments/restore", experiment_id=experiment)
    stages = [client.get("runs/get", run_id=each)["run"]["info"]["lifecycle_stage"] for each in (run, deleted_before)]
    assert stages == ["active", "deleted"]


def test_experiments_are_searched_and_paged(client: Client) -> None:
    for name in ("a1", "a2", "b1"):
        client.post("experiments/create", name=name, tags=[{"key": "team", "value": name[0]}])
    found = client.post("experiments/search", max_results=10, filter="tags.team = 'a'", order_by=["name DESC"])
    assert [each["name"] for each in found["experiments"]] == ["a2", "a1"]
    first = client.post("experiments/search", max_results=1, filter="name LIKE 'a%'", order_by=["name"])
    second = client.post(
        "experiments/search", max_results=1, filter="name LIKE 'a%'", order_by=["name"],
        page_token=first["next_page_token"],
    )  # fmt: skip
    assert [each["experiments"][0]["name"] for each in (first, second)] == ["a1", "a2"]
    assert "next_page_token" not in second


# ── Runs ──────────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_a_run_keeps_the_times_and_statuses_of_its_client(client: Client, house: House, experiment: str) -> None:
    run = client.run(experiment, start_time=1_234, run_name="mine", user_id="eva")
    info = client.post("runs/update", run_id=run, status="FAILED", end_time=5_678)["run_info"]
    assert (info["start_time"], info["end_time"], info["status"], info["user_id"]) == (1234, 5678, "FAILED", "eva")
    assert house.status(run) == "Failed"
    info = client.post("runs/update", run_id=run, status="RUNNING")["run_info"]
    assert (info["status"], "end_time" in info) == ("RUNNING", False)
    client.post("runs/update", run_id=run, status="FINISHED")
    assert house.status(run) == "Completed"


def test_a_job_keeps_its_own_status(client: Client, house: House) -> None:
    house.submit("job_1")
    house.until_launched("job_1")
    before = house.status("job_1")
    client.post("runs/update", run_id="job_1", status="FINISHED")
    assert house.status("job_1") == before


def test_a_nested_run_is_a_child_and_an_unknown_parent_a_tag(client: Client, house: House, experiment: str) -> None:
    parent = client.run(experiment)
    tag = {"key": "mlflow.parentRunId", "value": parent}
    child = client.run(experiment, tags=[tag])
    assert house.services.runs.view(child).parent == parent
    assert tag in client.get("runs/get", run_id=child)["run"]["data"]["tags"]
    orphan = client.run(experiment, tags=[{"key": "mlflow.parentRunId", "value": "nobody"}])
    for key, run in ((parent, child), ("nobody", orphan)):
        found = client.post("runs/search", experiment_ids=[experiment], filter=f"tags.mlflow.parentRunId = '{key}'")
        assert [each["info"]["run_id"] for each in found["runs"]] == [run]


def test_what_is_logged_is_seen_by_both_sides(client: Client, house: House, experiment: str) -> None:
    run = client.run(experiment, tags=[{"key": "mlflow.note.content", "value": "a note"}])
    batch = {
        "run_id": run,
        "metrics": [
            {"key": "loss", "value": 1 / (step + 1), "timestamp": 1000 + step, "step": step} for step in (1, 0)
        ],
        "params": [{"key": "lr", "value": "0.1"}],
        "tags": [{"key": "team", "value": "risk"}, {"key": "mlflow.runName", "value": "renamed"}],
    }
    for _ in range(2):  # a client repeats a request whose answer was lost
        assert client.post("runs/log-batch", **batch) == {}
    view = house.services.runs.view(run)
    assert (view.display_name, view.description, view.tags["team"]) == ("renamed", "a note", "risk")
    assert view.parameters == {"lr": "0.1"}
    points = house.services.metrics.read(run, "loss", False, False)[run][0].points
    assert sorted(tuple(point) for point in points) == [(1.0, 0.0, 1.0), (1.001, 1.0, 0.5)]
    data = client.get("runs/get", run_id=run)["run"]["data"]
    assert data["metrics"] == [{"key": "loss", "value": 0.5, "timestamp": 1001, "step": 1}], "that of the last step"
    history = client.get("metrics/get-history", run_id=run, metric_key="loss")["metrics"]
    assert [(each["step"], each["value"]) for each in history] == [(0, 1.0), (1, 0.5)]


def test_a_parameter_never_changes(client: Client, experiment: str) -> None:
    run = client.run(experiment)
    for _ in range(2):
        client.post("runs/log-parameter", run_id=run, key="p", value="1")
    status, code, message = client.refusal("POST", "runs/log-parameter", run_id=run, key="p", value="2")
    assert (status, code) == (400, "INVALID_PARAMETER_VALUE")
    assert message == (
        "Changing param values is not allowed. Param with key='p' was already logged with value='1' for run "
        f"ID='{run}'. Attempted logging new value '2'."
    )
    new = [{"key": "q", "value": "1"}, {"key": "p", "value": "2"}]
    assert "Params were already logged" in client.refusal("POST", "runs/log-batch", run_id=run, params=new)[2]
    parameters = client.get("runs/get", run_id=run)["run"]["data"]["params"]
    assert parameters == [{"key": "p", "value": "1"}], "nothing of a refused batch is stored"


def test_numbers_that_json_lacks_are_words(client: Client, experiment: str) -> None:
    run = client.run(experiment)
    for value in ("NaN", "Infinity", "-Infinity"):
        client.post("runs/log-metric", run_id=run, key=value, value=value, timestamp=1)
    metrics = {each["key"]: each["value"] for each in client.get("runs/get", run_id=run)["run"]["data"]["metrics"]}
    assert metrics == {"NaN": "NaN", "Infinity": 1.7976931348623157e308, "-Infinity": -1.7976931348623157e308}


@pytest.mark.parametrize(
    ("path", "fields", "message"),
    [
        ("runs/log-metric", {"key": "m", "value": 1, "timestamp": -1}, "Timestamp must be a nonnegative long"),
        ("runs/log-metric", {"key": "../m", "value": 1, "timestamp": 1}, "This name would resolve to '../m'"),
        ("runs/log-metric", {"key": "m?", "value": 1, "timestamp": 1}, "Names may only contain alphanumerics"),
        ("runs/log-metric", {"value": 1, "timestamp": 1}, "Missing value for required parameter 'key'"),
        ("runs/log-metric", {"key": "a" * 251, "value": 1, "timestamp": 1}, "exceeds the maximum length of 250"),
        ("runs/set-tag", {"key": "a" * 251}, "'key' exceeds the maximum length of 250 characters"),
        ("runs/log-batch", {"params": [{"key": "a"}] * 2}, "Duplicate parameter keys have been submitted: ['a']"),
        ("runs/log-batch", {"params": [{"key": str(n)} for n in range(101)]}, "at most 100 params. Got 101 params."),
        ("runs/log-batch", {"tags": [{"value": "x"}]}, "Missing value for required parameter 'tags[0].key'"),
        ("runs/update", {"status": "BOGUS"}, "Invalid value \"BOGUS\" for parameter 'status' supplied."),
        ("runs/log-model", {"model_json": "{"}, "Malformed model info."),
        ("runs/log-inputs", {"datasets": [{"dataset": {}}]}, "Dataset input must have a dataset"),
    ],
)
def test_wrong_values_are_explained(client: Client, experiment: str, path: str, fields: Any, message: str) -> None:
    status, code, text = client.refusal("POST", path, run_id=client.run(experiment), **fields)
    assert (status, code) == (400, "INVALID_PARAMETER_VALUE")
    assert message in text


def test_a_deleted_run_takes_nothing_more(client: Client, experiment: str) -> None:
    run = client.run(experiment)
    client.post("runs/delete", run_id=run)
    message = f"The run {run} must be in the 'active' state. Current state is deleted."
    assert client.refusal("POST", "runs/set-tag", run_id=run, key="a", value="b")[2] == message
    client.post("runs/restore", run_id=run)
    client.post("runs/set-tag", run_id=run, key="a", value="b")
    client.post("runs/delete-tag", run_id=run, key="a")
    assert client.refusal("POST", "runs/delete-tag", run_id=run, key="a")[:2] == (404, "RESOURCE_DOES_NOT_EXIST")


def test_what_does_not_exist_is_404(client: Client) -> None:
    assert client.refusal("GET", "runs/get", run_id="nobody") == (
        404, "RESOURCE_DOES_NOT_EXIST", "Run with id=nobody not found",
    )  # fmt: skip
    assert client.refusal("GET", "experiments/get", experiment_id="77")[2] == "No Experiment with id=77 exists"
    assert client.refusal("GET", "nothing")[:2] == (404, "ENDPOINT_NOT_FOUND")


# ── Searches and histories ────────────────────────────────────────────────────────────────────────────────────────────


@pytest.fixture
def many(client: Client, experiment: str) -> str:
    """Fill an experiment: loss counts down, odd runs have a rate, the last run has NaN and no parameter."""
    for number in range(6):
        run = client.run(experiment, run_name=f"run {number}", start_time=1000 + number)
        value = "NaN" if number == 5 else 5 - number
        client.post(
            "runs/log-batch", run_id=run, metrics=[{"key": "loss", "value": value, "timestamp": 1}],
            params=[{"key": "kind", "value": "ab"[number % 2]}] if number < 5 else [],
            tags=[{"key": "Team", "value": "Risk"}] if number % 2 else [],
        )  # fmt: skip
    return experiment


@pytest.mark.parametrize(
    ("filter_", "order", "numbers"),
    [
        ("", [], "543210"),
        ("", ["start_time"], "012345"),
        ("", ["metrics.loss"], "432105"),
        ("", ["metrics.loss DESC"], "012345"),
        ("", ["params.kind DESC"], "314205"),
        ("", ["tags.Team", "metrics.loss"], "315420"),
        ("", ["run_name DESC"], "543210"),
        ("metrics.loss <= 3 AND params.kind = 'a'", [], "42"),
        ("metrics.loss != 3", ["metrics.loss"], "4310"),
        ("params.kind IS NULL", [], "5"),
        ("tags.Team LIKE 'R%k'", [], "531"),
        ("tags.Team LIKE 'r%'", [], ""),
        ("tags.Team ILIKE 'r___'", [], "531"),
        ("tags.Team IS NULL", ["run_name"], "024"),
        ("attributes.run_name IN ('run 1')", [], "refused"),
        ("run_name = 'run 2'", [], "2"),
        ("tags.mlflow.runName = 'run 3'", [], "3"),
        ("start_time > 1003 AND status = 'RUNNING'", [], "54"),
        ("user_id = 'nobody'", [], ""),
    ],
)
def test_runs_are_searched_and_sorted(client: Client, many: str, filter_: str, order: list[str], numbers: str) -> None:
    fields = {"experiment_ids": [many], "filter": filter_, "order_by": order}
    status, answer = client.answer("POST", "runs/search", fields)
    if numbers == "refused":
        assert status == 400
        return
    assert "".join(run["info"]["run_name"][-1] for run in answer.get("runs", [])) == numbers
    paged: list[str] = []
    token = ""
    while token is not None:
        page = client.post("runs/search", **fields, max_results=2, page_token=token)
        paged += [run["info"]["run_name"][-1] for run in page["runs"]]
        token = page.get("next_page_token")
    assert "".join(paged) == numbers


def test_histories_come_in_pages_in_bulk_and_sampled(client: Client, experiment: str) -> None:
    run = client.run(experiment)
    points = [{"key": "m", "value": step * step, "timestamp": 1, "step": step} for step in range(100)]
    client.post("runs/log-batch", run_id=run, metrics=points)
    first = client.get("metrics/get-history", run_id=run, metric_key="m", max_results=60)
    second = client.get("metrics/get-history", run_id=run, metric_key="m", page_token=first["next_page_token"])
    assert [each["step"] for each in first["metrics"] + second["metrics"]] == list(range(100))
    bulk = client.get("metrics/get-history-bulk", run_id=[run], metric_key="m")["metrics"]
    assert len(bulk) == 100
    sampled = client.get("metrics/get-history-bulk-interval", run_ids=[run], metric_key="m", max_results=5)["metrics"]
    assert [each["step"] for each in sampled] == [0, 20, 40, 60, 99]
    fields = {"run_ids": [run], "metric_key": "m", "start_step": 10, "end_step": 12}
    middle = client.get("metrics/get-history-bulk-interval", **fields)["metrics"]
    assert [each["step"] for each in middle] == [10, 11, 12]
    wrong = client.refusal("GET", "metrics/get-history-bulk-interval", run_ids=[run], metric_key="m", start_step=1)
    assert wrong[2] == "If either start step or end step are specified, both must be specified."


def test_datasets_of_runs_can_be_listed_and_searched(client: Client, experiment: str) -> None:
    run = client.run(experiment)
    dataset = {"name": "iris", "digest": "d1", "source_type": "code", "source": "{}"}
    item = {"dataset": dataset, "tags": [{"key": "mlflow.data.context", "value": "train"}]}
    for _ in range(2):
        client.post("runs/log-inputs", run_id=run, datasets=[item], models=[{"model_id": "m-1"}])
    inputs = client.get("runs/get", run_id=run)["run"]["inputs"]
    assert inputs == {"dataset_inputs": [item], "model_inputs": [{"model_id": "m-1"}]}
    for condition, count in (("name = 'iris'", 1), ("context IN ('train')", 1), ("digest LIKE 'x%'", 0)):
        found = client.post("runs/search", experiment_ids=[experiment], filter=f"datasets.{condition}")
        assert len(found["runs"]) == count
    summaries = client.post("experiments/search-datasets", experiment_ids=[experiment])["dataset_summaries"]
    assert summaries == [{"experiment_id": experiment, "name": "iris", "digest": "d1", "context": "train"}]


# ── Artifacts, models and the registry ────────────────────────────────────────────────────────────────────────────────


def test_artifacts_are_files_of_the_run(client: Client, house: House, experiment: str) -> None:
    run = client.run(experiment)
    root = f"{client.base}/mlflow-artifacts/artifacts"
    for content in (b"old", b"new content"):
        assert client.send("PUT", f"{root}/{experiment}/{run}/artifacts/sub/a.txt", content) == (200, b"{}")
    assert [file.path for file in house.services.files.list(run)] == ["sub/a.txt"]
    assert client.send("GET", f"{root}/{experiment}/{run}/artifacts/sub/a.txt") == (200, b"new content")
    part = client.send("GET", f"{root}/{experiment}/{run}/artifacts/sub/a.txt", range="bytes=4-6")
    assert part == (206, b"con")
    for path, files in (("", [{"path": "sub", "is_dir": True}]), ("/sub/a.txt", [])):
        query = urlencode({"path": f"{experiment}/{run}/artifacts{path}"})
        assert json.loads(client.send("GET", root, query=query)[1]) == {"files": files}
    listed = client.get("artifacts/list", run_id=run, path="sub")["files"]
    assert listed == [{"path": "sub/a.txt", "is_dir": False, "file_size": 11}]
    for way_out in ("../x", "%2e%2e/x", "/etc/passwd"):
        assert client.send("GET", f"{root}/{experiment}/{run}/artifacts/{way_out}")[0] in (400, 404)
    client.send("DELETE", f"{root}/{experiment}/{run}/artifacts/sub")
    assert house.services.files.list(run) == []


def test_a_large_file_arrives_in_parts_and_leaves_by_a_signed_link(client: Client, experiment: str) -> None:
    run = client.run(experiment)
    folder = f"{experiment}/{run}/artifacts"
    path = f"{folder}/large.bin"
    proxy = f"{client.base}/mlflow-artifacts"
    begun = json.loads(client.send("POST", f"{proxy}/mpu/create/{folder}", b'{"path": "large.bin", "num_parts": 2}')[1])
    links = [each["url"].removeprefix(f"http://{HOST}") for each in begun["credentials"]]
    for link, content in zip(links, (b"a" * 10, b"b" * 5), strict=True):
        assert client.send("PUT", link, content, authorization="")[0] == 200
    assert client.send("GET", links[0], authorization="")[0] == 404, "a link for one part reads nothing"
    complete = {"path": "large.bin", "upload_id": begun["upload_id"], "parts": [{"part_number": 1}, {"part_number": 2}]}
    assert client.send("POST", f"{proxy}/mpu/complete/{folder}", json.dumps(complete).encode())[0] == 200
    signed = json.loads(client.send("GET", f"{proxy}/presigned/{path}")[1])
    assert signed["file_size"] == 15
    link = signed["url"].removeprefix(f"http://{HOST}")
    assert client.send("GET", link, range="bytes=8-11", authorization="") == (206, b"aabb")
    assert client.send("GET", f"{link}0", authorization="")[0] == 403


def test_files_of_a_model_without_a_run_make_no_run_visible(client: Client, house: House, experiment: str) -> None:
    model = client.post("logged-models", experiment_id=experiment, name="alone")["model"]["info"]
    path = model["artifact_uri"].removeprefix("mlflow-artifacts:/")
    address = f"{client.base}/mlflow-artifacts/artifacts/{path}/MLmodel"
    assert client.send("PUT", address, b"flavors: {}")[0] == 200
    assert client.send("GET", address) == (200, b"flavors: {}")
    for view in ("ACTIVE_ONLY", "ALL"):
        assert client.post("runs/search", experiment_ids=[experiment], run_view_type=view) == {"runs": []}


def test_a_logged_model_becomes_a_version_with_its_files(client: Client, house: House, experiment: str) -> None:
    run = client.run(experiment)
    info = client.post("logged-models", experiment_id=experiment, name="net", source_run_id=run)["model"]["info"]
    id, path = info["model_id"], info["artifact_uri"].removeprefix("mlflow-artifacts:/")
    client.send("PUT", f"{client.base}/mlflow-artifacts/artifacts/{path}/data/weights", b"w")
    client.answer("PATCH", f"logged-models/{id}", {"model_id": id, "status": "LOGGED_MODEL_READY"})
    client.post("runs/log-metric", run_id=run, key="acc", value=0.9, timestamp=1, model_id=id)
    found = client.post("logged-models/search", experiment_ids=[experiment], filter="metrics.acc > 0.5")["models"]
    assert [(each["info"]["status"], each["info"]["name"]) for each in found] == [("LOGGED_MODEL_READY", "net")]
    assert "files" not in client.get("artifacts/list", run_id=run), "the client lists models by itself"
    client.post("registered-models/create", name="shop")
    fields = {"name": "shop", "source": f"models:/{id}", "model_id": id, "run_id": run}
    assert client.post("model-versions/create", **fields)["model_version"]["version"] == "1"
    view = house.services.models.get(house.workspace, "shop", 1)
    assert [file.path for file in view.files] == ["net/data/weights"]
    address = client.get("model-versions/get-download-uri", name="shop", version="1")["artifact_uri"]
    assert address == info["artifact_uri"]


def test_the_registry_has_aliases_stages_and_tags(client: Client) -> None:
    client.post("registered-models/create", name="shop", description="d", tags=[{"key": "a", "value": "b"}])
    assert client.refusal("POST", "registered-models/create", name="shop")[:2] == (400, "RESOURCE_ALREADY_EXISTS")
    for _ in range(2):
        client.post("model-versions/create", name="shop", source="s3://bucket/model")
    for version in ("1", "2"):
        client.post("registered-models/alias", name="shop", alias="best", version=version)
        fields = {"name": "shop", "version": version, "stage": "production", "archive_existing_versions": True}
        client.post("model-versions/transition-stage", **fields)
    assert client.get("registered-models/alias", name="shop", alias="best")["model_version"]["version"] == "2"
    model = client.get("registered-models/get", name="shop")["registered_model"]
    assert model["aliases"] == [{"alias": "best", "version": "2"}]
    stages = {each["version"]: each["current_stage"] for each in model["latest_versions"]}
    assert stages == {"1": "Archived", "2": "Production"}
    assert len(client.get("model-versions/search", filter="name = 'shop'")["model_versions"]) == 2
    client.post("registered-models/rename", name="shop", new_name="store")
    assert client.get("model-versions/get", name="store", version="2")["model_version"]["aliases"] == ["best"]
    for alias, message in (("latest", "is reserved"), ("v3", "is reserved"), ("a b", "Invalid alias name: 'a b'.")):
        refusal = client.refusal("POST", "registered-models/alias", name="store", alias=alias, version="1")
        assert message in refusal[2]
    client.answer("DELETE", "registered-models/delete", {"name": "store"})
    assert client.refusal("GET", "registered-models/get", name="store")[2] == (
        "Registered Model with name=store not found"
    )


@pytest.mark.parametrize("source", ["/etc/passwd", "file:///etc", "runs:/other/m", "models:/m-" + "0" * 32])
def test_a_version_comes_only_from_what_its_run_or_model_contains(client: Client, experiment: str, source: str) -> None:
    client.post("registered-models/create", name="shop")
    fields = {"name": "shop", "source": source, "run_id": client.run(experiment), "model_id": ""}
    assert client.refusal("POST", "model-versions/create", **fields)[2].startswith("Invalid model version source: ")


def test_models_registered_by_footplate_are_versions_for_mlflow(client: Client, house: House, experiment: str) -> None:
    run = client.run(experiment)
    client.send("PUT", f"{client.base}/mlflow-artifacts/artifacts/{experiment}/{run}/artifacts/m/w.bin", b"w")
    house.services.models.register(house.workspace, NewModel(key="k", name="native", root="", run=run, run_path="m"))
    address = client.get("model-versions/get-download-uri", name="native", version="1")["artifact_uri"]
    path = address.removeprefix("mlflow-artifacts:/")
    assert client.send("GET", f"{client.base}/mlflow-artifacts/artifacts/{path}/w.bin") == (200, b"w")


# ── Who, where and how ────────────────────────────────────────────────────────────────────────────────────────────────


def test_a_password_is_a_token_and_without_one_it_is_401(client: Client) -> None:
    path = f"{client.base}/mlflow/experiments/get"
    basic = "Basic " + base64.b64encode(f"anybody:{TOKEN}".encode()).decode()
    assert client.send("GET", path, query="experiment_id=0", authorization=basic)[0] == 200
    for wrong in ("", "Bearer wrong", "Basic !", "Basic " + base64.b64encode(b"anybody:wrong").decode()):
        status, content = client.send("GET", path, query="experiment_id=0", authorization=wrong)
        assert (status, json.loads(content)["error_code"]) == (401, "UNAUTHENTICATED")


@pytest.mark.parametrize(
    "headers",
    [
        {"host": "evil.example"},
        {"origin": "http://evil.example"},
        {"sec-fetch-site": "cross-site"},
        {"authorization": ""},
    ],
)
def test_the_port_of_the_page_serves_only_tokens_and_its_own_host(house: House, headers: dict[str, str]) -> None:
    rules = BrowserRules(frozenset([HOST]), "footplate-test", only_browsers=True)
    client = Client(house, rules)
    path = f"{client.base}/mlflow/experiments/get"
    assert client.send("GET", path, query="experiment_id=0")[0] == 200
    assert client.send("GET", path, query="experiment_id=0", **headers)[0] in (401, 403)
    assert client.send("GET", f"{PREFIX}/server")[0] == 403, "the token opens nothing else there"


def test_a_run_of_another_workspace_does_not_exist(client: Client, house: House, experiment: str) -> None:
    run = client.run(experiment)
    other = house.services.workspaces.create("other-workspace", "s", "g", "local", None, {}, "error")
    client.base = f"/mlflow/{other.name}/api/2.0"
    assert client.refusal("GET", "runs/get", run_id=run)[:2] == (404, "RESOURCE_DOES_NOT_EXIST")
    assert client.refusal("GET", "experiments/get", experiment_id=experiment)[0] == 404
    assert client.post("runs/search", experiment_ids=[experiment]) == {"runs": []}


def test_a_header_selects_a_workspace_behind_the_root(client: Client, house: House) -> None:
    name = house.services.workspaces.get(house.workspace).name
    house.services.workspaces.create("other-workspace", "s", "g", "local", None, {}, "error")
    path = "/mlflow/api/3.0/mlflow/server-info"
    header = {"x-mlflow-workspace": name}
    assert json.loads(client.send("GET", path, **header)[1])["workspaces_enabled"] is True
    assert client.send("GET", path)[0] == 400, "there are two"
    listed = json.loads(client.send("GET", "/mlflow/api/3.0/mlflow/workspaces", **header)[1])["workspaces"]
    assert {each["name"] for each in listed} == {name, "other-workspace"}


def test_old_and_new_prefixes_lead_to_the_same_routes(client: Client, house: House) -> None:
    for prefix in ("api/2.0", "api/3.0", "ajax-api/2.0", "ajax-api/3.0", "api/2.0/preview"):
        path = f"/mlflow/{house.workspace}/{prefix}/mlflow/experiments/get"
        assert client.send("GET", path, query="experiment_id=0")[0] == 200
    assert client.send("GET", f"/mlflow/{house.workspace}/health") == (200, b"OK")
    assert client.send("GET", f"/mlflow/{house.workspace}/version")[0] == 200
