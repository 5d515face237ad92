"""The files of an upload, and the links among them."""

from __future__ import annotations

import os
import warnings
from pathlib import Path
from typing import Any

import pytest

from footplate.content.walk import MOST_COPIED
from footplate.sdk.exceptions import UserErrorException
from footplate.sdk.local_files import data_below, named_files
from footplate.sdk.models import registration
from footplate.sdk.runs import files

NO_SESSION: Any = None
"""For mistakes that are found before any request."""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "data" / "sub").mkdir(parents=True)
    (tmp_path / "data" / "sub" / "a.txt").write_text("a")
    (tmp_path / "secret.txt").write_text("secret")
    (tmp_path / "elsewhere").mkdir()
    return tmp_path / "data"


def _names(folder: Path) -> list[str]:
    return [name for _, name in data_below(str(folder))]


def test_links_that_stay_in_the_folder_are_followed(folder: Path) -> None:
    (folder / "again").symlink_to("sub")
    (folder / "sub" / "loop").symlink_to(folder)
    (folder / "b.txt").symlink_to(folder / "sub" / "a.txt")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert _names(folder) == ["again/a.txt", "b.txt", "sub/a.txt"]


def test_a_folder_that_is_itself_a_link_is_uploaded(folder: Path) -> None:
    (folder.parent / "link").symlink_to("data")
    assert _names(folder.parent / "link") == ["sub/a.txt"]


def test_a_modest_file_outside_is_copied_with_a_warning(folder: Path) -> None:
    (folder / "sub" / "s.txt").symlink_to("../../secret.txt")
    with pytest.warns(UserWarning, match=r"lead out of the folder.*: sub/s\.txt$"):
        assert _names(folder) == ["sub/a.txt", "sub/s.txt"]


def test_a_link_to_a_folder_outside_is_refused(folder: Path) -> None:
    (folder / "out").symlink_to(folder.parent / "elsewhere")
    with pytest.raises(UserErrorException, match=r"the link 'out' leads out of the folder.*which is a folder"):
        data_below(str(folder))


def test_a_link_to_a_large_file_outside_is_refused_if_wanted(folder: Path) -> None:
    with open(folder.parent / "large", "wb") as file:
        file.truncate(MOST_COPIED + 1)
    (folder / "large").symlink_to("../large")
    with pytest.raises(UserErrorException, match=r"the link 'large' leads out of the folder.*a file of 64 MB"):
        data_below(str(folder))
    assert [name for _, name in data_below(str(folder), lambda name: name.endswith(".txt"))] == ["sub/a.txt"]


def test_pipes_and_broken_links_are_left_out_with_a_warning(folder: Path) -> None:
    (folder / "broken").symlink_to("nowhere")
    os.mkfifo(folder / "pipe")
    with pytest.warns(UserWarning, match="left out of the upload.*: broken, pipe$"):
        assert _names(folder) == ["sub/a.txt"]


def test_listed_files_are_followed_with_a_warning(folder: Path) -> None:
    link = folder / "s.txt"
    link.symlink_to("../secret.txt")
    with pytest.warns(UserWarning, match=r"lead out of the folder.*s\.txt$"):
        assert named_files([str(link)], str(folder)) == [(str(link), "s.txt")]


def test_models_and_folders_of_runs_take_links_as_uploads_do(folder: Path) -> None:
    (folder / "loop").symlink_to(folder)
    (folder / "s.txt").symlink_to("../secret.txt")
    with pytest.warns(UserWarning, match="lead out of the folder"):
        found = registration.local_files(str(folder), None)
    assert [name for name, _ in found] == ["data/s.txt", "data/sub/a.txt"]
    (folder / "out").symlink_to(folder.parent / "elsewhere")
    for take in (registration.local_files, lambda path, _: files.upload_folder(NO_SESSION, "run", "name", path)):
        with pytest.raises(UserErrorException, match="the link 'out' leads out of the folder"):
            take(str(folder), None)
