"""Every route as every principal: the owner, nobody, and a run on its own and on other objects."""

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
from footplate.server.rights import Reach, Right

REFERENCE = Path(__file__).parents[3] / "docs" / "reference"


def expected_reaches() -> dict[tuple[str, str], Reach]:
    """Return the reach of a run for each method and path by the reference pages.

    They are a second statement, which a commit changes in sight of its reviewers.
    """
    rights_page, http_page = ((REFERENCE / name).read_text() for name in ("rights.md", "http.md"))
    rights = re.findall(r"^\| `(\w+)` \|.*\| ([^|]+) \|$", rights_page, re.MULTILINE)
    reach_of = {name: Reach(reach) for name, reach in rights}
    lines = re.findall(r"^(?:### |- right: \[)([A-Z_]+)(?:\]| (/.*))", http_page, re.MULTILINE)
    return {(method, path): reach_of[right] for (method, path), (right, _) in zip(lines[::2], lines[1::2], strict=True)}


EXPECTED = expected_reaches()
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


def test_every_route_has_the_reach_that_its_reference_states(services):
    reaches = {
        (method, path.removeprefix(PREFIX)): Right[operation["x-right"]].reach
        for method, path, operation in operations(services)
    }
    assert reaches == EXPECTED, "run make docs, and check the rights of new routes in docs/reference/http.md"


def requests(services):
    """Yield each request to own and to other objects, and whether the run may send it."""
    for method, path, _ in operations(services):
        reach = EXPECTED[method, path.removeprefix(PREFIX)]
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

    with pytest.raises(TypeError, match=r"endpoint names no right: declare it"):
        Route("/x", endpoint)
