"""Every route as every principal: the owner, nobody, and a run on its own and on other objects."""

from __future__ import annotations

import asyncio
import logging
import re

import pytest

from footplate.server.app import create_app
from footplate.server.hub import Hub
from footplate.server.openapi import Route
from footplate.server.rights import Reach, right_of
from footplate.server.routes import routers

REACH: dict[Reach, set[str]] = {
    Reach.ANYTHING: {
        "fetch_agent_archive", "find_missing_blobs", "get_blob", "get_curated_environment", "get_server",
        "list_curated_environments", "list_engines", "prepare_agent_tool",
        "list_workspaces", "put_blob",
    },
    Reach.WORKSPACE: {
        "change_dataset", "change_model", "ensure_experiment", "get_cluster", "get_compute", "get_dataset",
        "get_dataset_by_id",
        "get_datastore", "get_default_datastore", "get_environment", "get_lineage", "get_model", "get_secret",
        "get_workspace", "list_computes", "list_datasets", "list_datastores", "list_environments", "list_experiments",
        "list_files_of_dataset", "list_models", "list_runs", "count_runs", "list_secrets", "list_endpoints",
        "get_endpoint", "get_endpoint_logs", "register_dataset", "register_model",
        "submit_run",
    },
    Reach.STORES: {"delete_store_file", "list_store_files", "read_store_file", "write_store_file"},
    Reach.WORKSPACE_RUNS: {
        "analyze_sweep", "follow_run", "get_lock_of_run", "get_metric_summary", "get_metrics", "get_run", "get_story",
        "find_recent", "list_datasets_of_run", "list_files", "list_trials", "read_file",
    },
    Reach.FAMILY: {
        "add_files", "append_journal", "append_log", "ask_for_stacks", "cancel_run", "change_run", "complete_run",
        "beat_as_client", "fail_run", "note_dataset_of_run", "restart_run", "set_snapshot", "warn_run",
    },
    Reach.ITSELF: {
        "beat", "get_data_of_run", "get_orders", "hand_over", "join_node", "open_datastore_for_run", "open_tunnel",
        "report_node_event", "report_prepared", "save_checkpoints", "show_stacks", "take_shipment",
        "upload_directly",
    },
    Reach.NOTHING: {
        "build_lock", "change_compute", "change_experiment", "clear_built", "create_workspace", "delete_compute",
        "delete_datastore", "delete_experiment", "delete_model", "delete_secret", "follow_build", "get_lock",
        "label_environment", "list_built", "list_caches", "open_datastore", "put_compute", "put_datastore",
        "put_secret", "register_environment", "resolve_lock", "set_default_datastore", "stop_server",
        "test_notifications", "unregister_dataset", "deploy_endpoint", "change_endpoint", "split_endpoint",
        "change_endpoint_version", "delete_endpoint_version",
        "delete_endpoint", "get_endpoint_keys", "make_endpoint_token", "collect_garbage", "delete_run",
        "delete_workspace",
    },
}  # fmt: skip
"""The expected reach of a run for each route, by the route's name: a second statement, to be changed on purpose."""

EXPECTED = {name: reach for reach, names in REACH.items() for name in names}
OBJECTS = [
    {"workspace": workspace, "run": run, "name": name}
    for workspace in ("w1", "w2")
    for run in ("mine", "child", "above", "other", "far", "unknown")
    for name in ("store", "private")
]


def document(services):
    return create_app(services, Hub(), "secret").openapi()


def operations(services):
    for path, methods in document(services)["paths"].items():
        for method, operation in methods.items():
            yield method.upper(), path, operation


def reaches(reach: Reach, objects: dict[str, str]) -> bool:
    run, own = objects["run"], objects["workspace"] == "w1"
    return {
        Reach.ANYTHING: True,
        Reach.WORKSPACE: own,
        Reach.STORES: own and objects["name"] == "store",
        Reach.WORKSPACE_RUNS: run in ("mine", "child", "above", "other"),
        Reach.FAMILY: run in ("mine", "child", "above"),
        Reach.ITSELF: run == "mine",
        Reach.NOTHING: False,
    }[reach]


def filled(path: str, objects: dict[str, str]) -> str:
    return re.sub(r"\{(\w+)\}", lambda found: objects.get(found[1], "1"), path)


def test_every_route_has_its_expected_reach(services):
    names = {operation["operationId"] for _, _, operation in operations(services)}
    assert names == set(EXPECTED), "name the reach of a new route in REACH"
    found = {
        route.endpoint.__name__: right_of(route.endpoint).reach
        for router in routers()
        for route in router.routes
        if isinstance(route, Route)
    }
    assert found == {name: reach for name, reach in EXPECTED.items() if name not in ("get_server", "stop_server")}


def requests(services):
    """Yield each request to own and to other objects, and whether the run may send it."""
    for method, path, operation in operations(services):
        reach = EXPECTED[operation["operationId"]]
        chosen = [each for each in OBJECTS if reach is Reach.STORES or each["name"] == "store"]
        for target, objects in {filled(path, each): each for each in chosen}.items():
            yield method, target, reaches(reach, objects)


def test_every_request_is_judged_by_principal_and_object(services, aask, caplog):
    """A request that passes meets services that do nothing, or lacks a body: the answer is anything but 403."""
    caplog.set_level(logging.CRITICAL + 1)
    app = create_app(services, Hub(), "secret")

    async def judge():
        wrong = []
        for method, target, allowed in requests(services):
            by_token = {None: False, "wrong": False, "run-token": allowed, "secret": True}
            for token, expected in by_token.items():
                if ((await aask(app, method, target, token=token)).status != 403) != expected:
                    wrong.append((method, target, token))
        return wrong

    assert asyncio.run(judge()) == []


def test_a_route_without_a_right_cannot_be_defined():
    def endpoint() -> None: ...

    with pytest.raises(TypeError, match=r"endpoint names no right: add @requires"):
        Route("/x", endpoint)
