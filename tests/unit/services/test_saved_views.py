"""Saved views of the table of runs, over a real store."""

from __future__ import annotations

import pytest

from footplate.errors import InvalidInput, NotFound
from footplate.services import Services
from footplate.services.workspaces import LARGEST_VIEW, LONGEST_VIEW_NAME, MOST_VIEWS

from .conftest import House


def names(services: Services, workspace: str) -> list[str]:
    return [view.name for view in services.workspaces.views(workspace)]


def test_a_view_is_saved_replaced_listed_and_deleted(house: House) -> None:
    views = house.services.workspaces
    views.save_view(house.workspace, "failed", {"where": "status == Failed"})
    views.save_view(house.workspace, "best", {"columns": ["metrics.loss"], "ascending": True})
    views.save_view(house.workspace, "failed", {"where": "status == Canceled"})
    assert names(house.services, house.workspace) == ["best", "failed"]
    assert views.views(house.workspace)[1].search == {"where": "status == Canceled"}
    views.delete_view(house.workspace, "failed")
    assert names(house.services, house.workspace) == ["best"]
    with pytest.raises(NotFound, match="'failed'"):
        views.delete_view(house.workspace, "failed")


def test_views_of_another_workspace_are_its_own(house: House) -> None:
    other = house.services.workspaces.create("other-ws", "s", "g").id
    house.services.workspaces.save_view(other, "best", {})
    assert names(house.services, house.workspace) == []
    house.services.workspaces.delete(other, force=True)
    with pytest.raises(NotFound, match="workspace"):
        house.services.workspaces.views(other)


@pytest.mark.parametrize("name", ["", "  ", "x" * (LONGEST_VIEW_NAME + 1)])
def test_a_view_needs_a_name_of_some_length(house: House, name: str) -> None:
    with pytest.raises(InvalidInput, match="name of a view"):
        house.services.workspaces.save_view(house.workspace, name, {})


def test_views_have_limits_of_size_and_number(house: House) -> None:
    views = house.services.workspaces
    with pytest.raises(InvalidInput, match="larger than"):
        views.save_view(house.workspace, "large", {"where": "x" * LARGEST_VIEW})
    for number in range(MOST_VIEWS):
        views.save_view(house.workspace, f"view {number}", {})
    with pytest.raises(InvalidInput, match="200 views already"):
        views.save_view(house.workspace, "one more", {})
    views.save_view(house.workspace, "view 7", {"where": "status == Failed"})  # an old one can be replaced
