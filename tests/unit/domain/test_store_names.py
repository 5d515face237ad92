from __future__ import annotations

import fnmatch
import os

import pytest
from hypothesis import given
from hypothesis import strategies as st

from footplate.domain.store_names import check_name, clean_folder, fixed_folder, is_pattern, matches, url_name
from footplate.errors import InvalidInput


@pytest.mark.parametrize(
    "name", ["a", "a/b", ".hidden", "a/.b/..c", "a..b", "a b", "ünï", "a\nb", "a\\b", "x" * 255, "1:2"]
)
def test_plain_names_pass(name: str) -> None:
    assert check_name(name) == name


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("", "is empty"),
        ("/etc/passwd", "is absolute"),
        ("\\\\host\\share", "is absolute"),
        ("C:/x", "Windows drive"),
        ("c:x", "Windows drive"),
        ("..", "leaves its folder"),
        ("../x", "leaves its folder"),
        ("a/../../x", "leaves its folder"),
        ("a\\..\\..\\x", "leaves its folder"),
        ("a\0b", "NUL"),
        ("a//b", "empty part"),
        ("a/", "empty part"),
        ("./a", "a part '.'"),
        ("a/./b", "a part '.'"),
        ("a/" + "x" * 256, "more than 255 bytes"),
        ("ü" * 128, "more than 255 bytes"),
    ],
)
def test_refused_names_get_a_reason(name: str, why: str) -> None:
    with pytest.raises(InvalidInput, match=why.replace(".", r"\.")):
        check_name(name)


@given(st.text(max_size=40))
def test_no_accepted_name_leaves_its_folder(name: str) -> None:
    try:
        check_name(name)
    except InvalidInput:
        return
    assert os.path.normpath(f"/top/{name}") == f"/top/{name}"
    assert "\0" not in name


@pytest.mark.parametrize(
    ("given_", "cleaned"), [(None, ""), ("", ""), (".", ""), ("/", ""), ("/a/b/", "a/b"), ("./a", "a"), ("a//b", "a/b")]
)
def test_folders_are_accepted_as_users_write_them(given_: str | None, cleaned: str) -> None:
    assert clean_folder(given_) == cleaned


def test_a_folder_that_leaves_is_refused() -> None:
    with pytest.raises(InvalidInput, match="leaves"):
        clean_folder("/a/../../b")


@pytest.mark.parametrize(
    ("pattern", "yes", "no"),
    [
        ("*.csv", ["a.csv", ".csv"], ["a/b.csv", "a.csv.gz", "A.CSV "]),
        ("data/*", ["data/a"], ["data/a/b", "data", "xdata/a"]),
        ("data/**", ["data/a", "data/a/b/c"], ["data", "data2/a"]),
        ("**", ["a", "a/b"], []),
        ("**/*.png", ["x.png", "a/x.png", "a/b/x.png"], ["x.jpg", "a.png/x"]),
        ("a/**/z", ["a/z", "a/b/z", "a/b/c/z"], ["az", "b/a/z"]),
        ("file?.txt", ["file1.txt"], ["file.txt", "file12.txt", "file/.txt"]),
        ("[ab].txt", ["[ab].txt"], ["a.txt"]),
        ("2019/0*/part-**.csv", ["2019/01/part-7.csv"], ["2019/01/x/part-7.csv", "2019/11/part-7.csv"]),
        ("a.b", ["a.b"], ["axb"]),
    ],
)
def test_patterns_match_parts_and_trees(pattern: str, yes: list[str], no: list[str]) -> None:
    assert [name for name in yes if not matches(pattern, name)] == []
    assert [name for name in no if matches(pattern, name)] == []


@given(st.text(alphabet="ab*?.", min_size=1, max_size=8), st.text(alphabet="ab.", min_size=1, max_size=8))
def test_within_a_part_a_pattern_matches_like_a_shell(pattern: str, name: str) -> None:
    if "**" not in pattern:
        assert matches(pattern, name) == fnmatch.fnmatchcase(name, pattern)


@pytest.mark.parametrize(
    ("pattern", "folder"),
    [("*.csv", ""), ("a/b/*.csv", "a/b"), ("a/b*/c", "a"), ("a/**", "a"), ("a/b", "a"), ("**/x", ""), ("a/?b/c", "a")],
)
def test_only_the_fixed_folder_has_to_be_listed(pattern: str, folder: str) -> None:
    assert fixed_folder(pattern) == folder


def test_patterns_are_recognized() -> None:
    assert is_pattern("a/*")
    assert is_pattern("a?")
    assert not is_pattern("a/[b]/c.txt")


@pytest.mark.parametrize(
    ("url", "name"),
    [
        ("https://host.org/a/b.csv", "host.org/a/b.csv"),
        ("https://host.org/a%20b/c.csv?sig=secret#x", "host.org/a b/c.csv"),
        ("http://user:secret@host:8080/x", "host_8080/x"),
        ("https://host.org/", "host.org/index"),
    ],
)
def test_web_files_keep_host_and_path(url: str, name: str) -> None:
    assert url_name(url) == name


@pytest.mark.parametrize(
    "url", ["https://host/a/../../etc/passwd", "https://host/%2e%2e/x", "https://host/a%00b", "https://host/a//b"]
)
def test_web_files_with_unsafe_names_are_refused(url: str) -> None:
    with pytest.raises(InvalidInput):
        url_name(url)
