"""Every route as every principal: the owner, nobody, people of each role with each kind of token, and a run."""

from __future__ import annotations

import asyncio
import logging
import re
from pathlib import Path

import pytest

from footplate.api import PREFIX
from footplate.server.app import create_app
from footplate.server.hub import Hub
from footplate.server.openapi import Route
from footplate.server.rights import Need, Reach, Right

from .conftest import LIMITS, ROLES

REFERENCE = Path(__file__).parents[3] / "docs" / "reference"


def expected_rights() -> dict[tuple[str, str], tuple[Need, Reach]]:
    """Return who has the right of each method and path by the reference pages: the people, and the reach of a run.

    They are a second statement, which a commit changes in sight of its reviewers.
    """
    rights_page, http_page = ((REFERENCE / name).read_text() for name in ("rights.md", "http.md"))
    rows = re.findall(r"^\| `(\w+)` \|.*\| ([^|]+) \| ([^|]+) \| ([^|]+) \|$", rights_page, re.MULTILINE)
    rights = {name: (Need(need), Reach(reach)) for name, need, reach, _ in rows}
    lines = re.findall(r"^(?:### |- right: \[)([A-Z_]+)(?:\]| (/.*))", http_page, re.MULTILINE)
    return {(method, path): rights[right] for (method, path), (right, _) in zip(lines[::2], lines[1::2], strict=True)}


EXPECTED = expected_rights()
OBJECTS = [
    {"workspace": workspace, "run": run, "name": name, "experiment": f"e{workspace[1]}"}
    for workspace in ("w1", "w2")
    for run in ("mine", "child", "above", "other", "far", "unknown")
    for name in ("store", "private", "own")
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


def test_every_route_has_the_right_that_its_reference_states(services):
    stated = {
        (method, path.removeprefix(PREFIX)): (Right[operation["x-right"]].need, Right[operation["x-right"]].reach)
        for method, path, operation in operations(services)
    }
    assert stated == EXPECTED, "run make docs, and check the rights of new routes in docs/reference/http.md"


def role_of(person: str, limits: str, workspace: str | None) -> int:
    """Return the rank of the role that a token leaves a person: 0 for none, 1 to 3 for reader to owner."""
    ranks = {
        place: ("reader", "contributor", "owner").index(role) + 1
        for place, role in ROLES[person].items()
        if "/w" not in limits or place in ("*", limits[1:3])
    }
    if workspace is None:
        rank = max(ranks.values(), default=0)
    elif "/w" in limits and workspace != limits[1:3]:
        rank = 0
    else:
        rank = max(ranks.get("*", 0), ranks.get(workspace, 0))
    return min(rank, 1) if limits.endswith("read") else rank


def person_has(person: str, limits: str, need: Need, path: str, objects: dict[str, str]) -> bool:
    """Return whether this person with this kind of token has a right, by the words of the reference alone."""
    owns_server = person == "owner-of-all" and not limits
    if need is Need.ANYONE or owns_server:
        return True
    if need in (Need.SERVER_OWNER, Need.NOBODY):
        return False
    maker = None
    if "{run}" in path:
        workspace = {"far": "w2", "unknown": ""}.get(objects["run"], "w1")
        maker = {"mine": "contributor", "child": "contributor", "far": "elsewhere"}.get(objects["run"])
        if not workspace:
            return False
    elif "{workspace}" in path or "{experiment}" in path:
        workspace = objects["workspace"]
        maker = {"own": "contributor"}.get(objects["name"])
    else:
        workspace = None
    rank = role_of(person, limits, workspace)
    if need is Need.MAKER:
        return rank >= 3 or (rank == 2 and maker == person)
    return rank >= {Need.READER: 1, Need.CONTRIBUTOR: 2, Need.OWNER: 3}[need]


def chosen_objects(reach: Reach, need: Need) -> list[dict[str, str]]:
    names = {"store"} | ({"private"} if reach is Reach.STORES else set()) | ({"own"} if need is Need.MAKER else set())
    return [each for each in OBJECTS if each["name"] in names]


def requests(services):
    """Yield each request to own and to other objects, with the path's template, its objects and its right."""
    for method, path, _ in operations(services):
        need, reach = EXPECTED[method, path.removeprefix(PREFIX)]
        for target, objects in {filled(path, each): each for each in chosen_objects(reach, need)}.items():
            yield method, target, path, objects, need, reach


async def find_wrong(app, aask, services, expected_by_token):
    """Send every request with every token; return those that were refused or admitted against expectation.

    A request that passes meets services that do nothing, or lacks a body: the answer is anything but 403.
    """
    wrong = []
    for method, target, *rest in requests(services):
        for token, expected in expected_by_token(*rest).items():
            if ((await aask(app, method, target, token=token)).status != 403) != expected:
                wrong.append((method, target, token))
    return wrong


def test_every_request_of_runs_is_judged_by_principal_and_object(services, aask, caplog):
    caplog.set_level(logging.CRITICAL + 1)
    app = create_app(services, Hub(), "secret")

    def expected(path, objects, need, reach):
        return {None: False, "wrong": False, "run-token": reaches(reach, objects), "secret": True}

    assert asyncio.run(find_wrong(app, aask, services, expected)) == []


@pytest.mark.parametrize("person", ROLES)
def test_every_request_of_people_is_judged_by_role_token_and_object(services, aask, caplog, person):
    caplog.set_level(logging.CRITICAL + 1)
    app = create_app(services, Hub(), "secret")

    def expected(path, objects, need, reach):
        return {f"fpt_{person}{limits}": person_has(person, limits, need, path, objects) for limits in LIMITS}

    assert asyncio.run(find_wrong(app, aask, services, expected)) == []


def test_a_run_loses_reach_beyond_itself_with_its_submitters_role(services, ask):
    app = create_app(services, Hub(), "secret")
    services.people.roles["contributor"] = {"w1": "reader"}
    codes = {path: ask(app, "GET", f"{PREFIX}{path}", token="run-token").status for path in (
        "/workspaces/w1/secrets/key", "/workspaces/w1/runs", "/runs/other", "/runs/mine")}  # fmt: skip
    assert [path for path, code in codes.items() if code == 403] == ["/workspaces/w1/secrets/key"]
    services.people.roles["contributor"] = {}
    assert ask(app, "GET", f"{PREFIX}/workspaces/w1/runs", token="run-token").status == 403
    assert ask(app, "GET", f"{PREFIX}/runs/other", token="run-token").status == 403
    assert ask(app, "PATCH", f"{PREFIX}/runs/mine", token="run-token", body=b"{}").status != 403


def test_a_route_without_a_right_cannot_be_defined():
    def endpoint() -> None: ...

    with pytest.raises(TypeError, match=r"endpoint names no right: declare it"):
        Route("/x", endpoint)
