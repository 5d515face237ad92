"""Paths of requests."""

from __future__ import annotations

from typing import Any

import pytest

from footplate.api.files import FilesApi
from footplate.api.models import ModelsApi
from footplate.errors import InvalidInput


class Recorder:
    """A transport that records the paths it streams, and sends nothing."""

    def __init__(self) -> None:
        self.paths: list[str] = []

    def request(self, method: str, path: str, **rest: Any) -> Any:
        raise AssertionError(f"{method} {path} was sent")

    def stream(self, path: str, query: Any = None) -> Any:
        self.paths.append(path)
        return iter(())


@pytest.mark.parametrize(("name", "problem"), [("", "is empty"), ("a/b", "is 'a/b', which contains a slash")])
def test_a_name_that_is_not_one_segment_is_refused(name: str, problem: str) -> None:
    with pytest.raises(InvalidInput, match=f"the name in a request {problem}"):
        ModelsApi(Recorder()).get("w", name)


def test_the_path_of_a_file_may_contain_slashes() -> None:
    transport = Recorder()
    list(FilesApi(transport).read("r", "outputs/a b.txt"))
    assert transport.paths == ["/runs/r/files/outputs/a b.txt"]
