"""Members of a workspace that exist only on Azure."""

from __future__ import annotations

import pytest

from azureml.core import Run, Workspace
from azureml.exceptions import UserErrorException
from footplate.sdk.cloud_workspace import CloudWorkspace


@pytest.mark.parametrize(
    "name",
    [
        "delete",
        "diagnose_workspace",
        "list_keys",
        "sync_keys",
        "update",
        "update_dependencies",
    ],
)
def test_azure_services_raise_with_a_hint(name: str):
    assert getattr(Workspace, name).__name__ == name
    with pytest.raises(UserErrorException, match=f"Workspace.{name} is not available") as caught:
        getattr(CloudWorkspace(), name)(friendly_name="x")
    assert "hint:" in str(caught.value)


def test_azure_collections_are_empty():
    workspace = CloudWorkspace()
    assert workspace.images == workspace.linked_services == {}


@pytest.mark.parametrize("name", ["get_best_child", "publish_pipeline"])
def test_results_of_pipelines_and_automated_selection_raise_with_a_hint(name: str):
    with pytest.raises(UserErrorException, match=f"Run.{name} is not available") as caught:
        getattr(Run, name)(None)
    assert "hint:" in str(caught.value)
