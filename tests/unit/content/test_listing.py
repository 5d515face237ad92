from __future__ import annotations

import hashlib
import random
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from footplate.content.listing import Listing, write_listing
from footplate.domain.data import Item
from footplate.errors import Broken, Conflict, InvalidInput


def listing_of(tmp_path: Path, *names: str) -> Listing:
    write_listing([Item(name, len(name)) for name in names], str(tmp_path / "listing"))
    return Listing(str(tmp_path / "listing"))


def test_the_same_items_give_the_same_bytes(tmp_path: Path) -> None:
    items = [Item(f"d{number % 7}/f{number}", number, f"e{number}") for number in range(100)]
    first = write_listing(items, str(tmp_path / "a"))
    random.Random(1).shuffle(items)
    assert write_listing(items, str(tmp_path / "b")) == first
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()
    assert (
        first.digest
        == hashlib.sha256((tmp_path / "a").read_bytes()).hexdigest()
        == Listing(str(tmp_path / "a")).digest()
    )
    assert (first.count, first.size) == (100, sum(range(100)))


def test_every_field_is_kept(tmp_path: Path) -> None:
    items = [
        Item("plain", 1),
        Item("tagged", 2, "etag", 1699999999.25, "sha256:abc"),
        Item("elsewhere", -1, store="other", path="there/x"),
        Item("ünï/\udcff\n", 0, modified=0.5),
    ]
    write_listing(items, str(tmp_path / "listing"))
    with Listing(str(tmp_path / "listing")) as listing:
        assert {item.name: item for item in listing} == {item.name: item for item in items}
        assert all(listing.get(item.name) == item for item in items)
        assert listing.size == 3


def test_folders_are_listed_without_reading_below_them(tmp_path: Path) -> None:
    listing = listing_of(tmp_path, "b", "a/x", "a/y/z", "a/y/w", "a.txt", "a-b/c")
    top = listing.folder()
    assert (sorted(top.folders), sorted(item.name for item in top.files)) == (["a", "a-b"], ["a.txt", "b"])
    inside = listing.folder("a")
    assert (inside.folders, [item.name for item in inside.files]) == (["y"], ["a/x"])
    assert listing.folder("nowhere") == ([], [])
    assert listing.folder("b") == ([], [])
    assert [listing.has_folder(name) for name in ("", "a", "a/y", "b", "a/x", "a.", "z")] == [True, True, True] + [
        False
    ] * 4
    assert listing.get("a") is None
    assert listing.get("zzz") is None


def test_pages_follow_each_other(tmp_path: Path) -> None:
    listing = listing_of(tmp_path, *(f"d{number % 3}/{number}" for number in range(25)))
    names, page = [], listing.page(10)
    while page:
        names += [item.name for item in page]
        page = listing.page(10, after=names[-1])
    assert names == [item.name for item in listing]
    assert len(names) == 25
    assert listing.page(1, after="d1")[0].name == "d1/1", "a missing name is a position, too"


def test_a_listing_may_be_empty(tmp_path: Path) -> None:
    listing = listing_of(tmp_path)
    assert (len(listing), list(listing), listing.folder(), listing.get("x")) == (0, [], ([], []), None)


def test_a_name_is_unique_and_not_both_file_and_folder(tmp_path: Path) -> None:
    with pytest.raises(Conflict, match="'x' is there twice"):
        listing_of(tmp_path, "x", "y", "x")
    with pytest.raises(Conflict, match="'a/b' is below a name that is a file"):
        listing_of(tmp_path, "a", "a-b", "a/b")
    with pytest.raises(InvalidInput, match="leaves"):
        listing_of(tmp_path, "../x")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("data", [b"", b"x", b'{"count":1,"format":2,"size":0}\n', b"[]\n", b'"'])
def test_a_file_that_is_not_a_listing_is_broken(tmp_path: Path, data: bytes) -> None:
    (tmp_path / "bad").write_bytes(data)
    with pytest.raises(Broken, match="not a complete listing"):
        Listing(str(tmp_path / "bad"))


def test_names_of_a_foreign_listing_are_checked_on_reading(tmp_path: Path) -> None:
    (tmp_path / "bad").write_bytes(b'{"count":1,"format":1,"size":0}\n["../../etc/passwd",0]\n')
    with pytest.raises(InvalidInput, match="leaves"):
        list(Listing(str(tmp_path / "bad")))
    (tmp_path / "worse").write_bytes(b'{"count":1,"format":1,"size":0}\n["a"\n')
    with pytest.raises(Broken):
        list(Listing(str(tmp_path / "worse")))


_parts = st.text(alphabet="ab.-\x01é/", min_size=1, max_size=6).map(lambda text: text.strip("/") or "a")


@settings(max_examples=150, deadline=None)
@given(st.lists(st.lists(_parts, min_size=1, max_size=4).map("/".join), max_size=30))
def test_a_listing_equals_a_walk_over_the_names(tmp_path_factory: pytest.TempPathFactory, names: list[str]) -> None:
    path = str(tmp_path_factory.mktemp("listings") / "listing")
    try:
        write_listing([Item(name, 1) for name in names], path)
    except (Conflict, InvalidInput):
        return
    with Listing(path) as listing:
        folders = {"/".join(name.split("/")[:depth]) for name in names for depth in range(name.count("/") + 1)} | {""}
        for folder in folders:
            inside = [
                name[len(folder) + 1 if folder else 0 :]
                for name in names
                if name.startswith(f"{folder}/" if folder else "")
            ]
            found = listing.folder(folder)
            assert sorted(found.folders) == sorted({name.split("/")[0] for name in inside if "/" in name})
            assert sorted(item.name for item in found.files) == sorted(
                f"{folder}/{name}" if folder else name for name in inside if "/" not in name
            )
            assert listing.has_folder(folder)
        assert all(listing.get(name) is not None for name in names)
