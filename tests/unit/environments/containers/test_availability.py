from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from footplate.environments.base import ResolverSettings
from footplate.environments.containers import images
from footplate.environments.containers.container_engine import ContainerEngine
from footplate.errors import InvalidInput


def test_full_names_contain_the_registry() -> None:
    registry = {"address": "https://my.example/"}
    assert images.full_name({"base_image": "a/b:1", "registry": registry}, "x") == "my.example/a/b:1"
    assert images.full_name({"base_image": "my.example/a/b:1", "registry": registry}, "x") == "my.example/a/b:1"
    assert images.full_name({"base_image": None}, "x") == "x"


@pytest.mark.parametrize(
    "line", ["COPY a.txt /a", "add --chown=1:1 a.txt b.txt /c/", 'COPY ["a.txt", "/a"]', "COPY \\\n  a.txt /a"]
)
def test_a_dockerfile_without_context_cannot_copy_files(line: str, tmp_path: Path) -> None:
    asked = {"base_dockerfile": f"FROM some\n{line}\n"}
    with pytest.raises(InvalidInput, match=r"no directory to copy 'a.txt' from") as caught:
        images.lock_base(ContainerEngine("none", "/none"), asked, "", ResolverSettings(tmp_path), lambda _: None)
    assert "from_local_directory" in (caught.value.hint or "")


@pytest.mark.parametrize(
    "docker, words",
    [
        ({"base_dockerfile": "FROM a", "build_context": {"dockerfile_path": "../../x"}}, "outside the build context"),
        ({"base_dockerfile": "FROM a", "build_context": {"dockerfile_path": "/etc/x"}}, "outside the build context"),
        ({"build_context": {"location_type": "git", "location": "/root"}}, "not the address of a git repository"),
        ({"build_context": {"location_type": "git", "location": "--volume=/:/x"}}, "not the address of a git"),
        ({"base_image": "--authfile=/etc/shadow"}, "not the name of an image"),
        ({"base_dockerfile": "FROM --authfile=/etc/shadow"}, "not the name of an image"),
    ],
)
def test_an_image_cannot_name_files_or_options_of_the_server(
    docker: dict[str, Any], words: str, tmp_path: Path
) -> None:
    engine = ContainerEngine("podman", str(tmp_path / "never started"))
    with pytest.raises(InvalidInput, match=words):
        images.lock_base(engine, docker, "", ResolverSettings(tmp_path / "e"), print)
    assert not (tmp_path / "x").exists()
