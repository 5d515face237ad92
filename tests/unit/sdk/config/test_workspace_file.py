from __future__ import annotations

import json
from pathlib import Path

import pytest

from footplate.sdk.config import workspace_file
from footplate.sdk.config.workspace_file import WorkspaceConfig, name_for
from footplate.sdk.exceptions import UserErrorException

KEYS = {"subscription_id": "s", "resource_group": "g", "workspace_name": "w"}


def put(path: Path, content: object = KEYS) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(content))
    return path


def test_a_path_of_a_file_is_used_as_it_is(tmp_path: Path):
    file = put(tmp_path / "any-name.json")
    assert workspace_file.find(str(file)) == str(file)


@pytest.mark.parametrize(
    "better, worse",
    [
        (".azureml/config.json", ".azureml/project.json"),
        (".azureml/project.json", "aml_config/config.json"),
        ("aml_config/config.json", "aml_config/project.json"),
        ("aml_config/project.json", "config.json"),
        ("config.json", "project.json"),
    ],
)
def test_each_kind_of_location_is_searched_up_to_the_root(tmp_path: Path, better: str, worse: str):
    here = tmp_path / "a" / "b"
    grandparent = put(tmp_path / better)
    put(here / worse)
    assert workspace_file.find(str(here)) == str(grandparent)


def test_a_file_name_replaces_both_default_names(tmp_path: Path):
    put(tmp_path / ".azureml" / "config.json")
    other = put(tmp_path / "aml_config" / "other.json")
    assert workspace_file.find(str(tmp_path), "other.json") == str(other)


def test_a_missing_file_gives_a_hint_how_to_create_one(tmp_path: Path):
    with pytest.raises(UserErrorException, match="footplate init") as caught:
        workspace_file.find(str(tmp_path), "no-such-name-anywhere.json")
    assert str(tmp_path) in caught.value.message


def test_a_missing_directory_is_named(tmp_path: Path):
    with pytest.raises(UserErrorException, match="nowhere"):
        workspace_file.find(str(tmp_path / "nowhere"))


def test_both_formats_are_read(tmp_path: Path):
    wanted = WorkspaceConfig("s", "g", "w")
    assert workspace_file.read(str(put(tmp_path / "a.json"))) == wanted
    assert (
        workspace_file.read(str(put(tmp_path / "b.json", {"Id": None, "Scope": workspace_file.scope(wanted)})))
        == wanted
    )
    with_server = {**KEYS, "server": "https://team.example"}
    assert workspace_file.read(str(put(tmp_path / "c.json", with_server))).server == "https://team.example"


@pytest.mark.parametrize(
    "content, named",
    [
        ({"subscription_id": "s"}, "resource_group, workspace_name"),
        ({"Scope": "/subscriptions/x"}, "Scope"),
        ([1], "list"),
        ({**KEYS, "server": 5}, "server"),
    ],
)
def test_errors_in_a_file_are_named(tmp_path: Path, content: object, named: str):
    file = put(tmp_path / "config.json", content)
    with pytest.raises(UserErrorException, match=named) as caught:
        workspace_file.read(str(file))
    assert str(file) in caught.value.message


def test_a_file_that_is_not_json_is_named(tmp_path: Path):
    file = tmp_path / "config.json"
    file.write_text("{")
    with pytest.raises(UserErrorException, match=r"config\.json"):
        workspace_file.read(str(file))


def test_a_written_file_is_found_and_read_again(tmp_path: Path):
    wanted = WorkspaceConfig("s", "g", "w", "https://team.example")
    written = workspace_file.write(str(tmp_path), None, wanted)
    assert written == str(tmp_path / ".azureml" / "config.json")
    assert workspace_file.find(str(tmp_path)) == written
    assert workspace_file.read(written) == wanted
    assert json.loads(Path(written).read_text())["Id"] is None


def test_the_file_is_written_to_the_azureml_directory(tmp_path: Path):
    wanted = WorkspaceConfig("s", "g", "w")
    inside = workspace_file.write(str(tmp_path / ".azureml"), "ws.json", wanted)
    assert inside == str(tmp_path / ".azureml" / "ws.json")
    (tmp_path / "old" / "aml_config").mkdir(parents=True)
    assert workspace_file.write(str(tmp_path / "old"), None, wanted) == str(
        tmp_path / "old" / "aml_config" / "config.json"
    )
    assert [p.name for p in (tmp_path / "old" / "aml_config").iterdir()] == ["config.json"]


@pytest.mark.parametrize(
    ("folder", "name"),
    [
        ("My Project!", "My-Project"), ("a", "a-workspace"), ("", "my-workspace"), ("__x__y__", "x__y"),
        ("ü" * 9, "my-workspace"), ("n" * 50, "n" * 33),
    ],
)  # fmt: skip
def test_workspace_names_follow_azures_rule(folder: str, name: str) -> None:
    assert name_for(folder) == name
