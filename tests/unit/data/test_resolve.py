from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from footplate.data.changes import compare
from footplate.data.resolve import Partition, resolve
from footplate.domain.data import Item, StoreSpec
from footplate.domain.tables import is_true
from footplate.errors import InvalidInput, NotFound


@pytest.fixture
def stores(tmp_path: Path) -> dict[str, StoreSpec]:
    for name in ("a/1.txt", "a/2.txt", "a/deep/3.csv", "b/1.txt"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("x" * int(name[-5]))
    spec = StoreSpec("folder", {"path": str(tmp_path)})
    return {"s": spec, "t": spec}


def names(stores: dict[str, StoreSpec], *paths: str, **more: Any) -> list[str]:
    sources = [{"datastore": p.partition(":")[0], "path": p.partition(":")[2]} for p in paths]
    return sorted(item.name for item in resolve({"sources": sources, **more}, stores))


def test_files_of_one_source_are_named_by_their_path_inside_it(stores: dict[str, StoreSpec]) -> None:
    assert names(stores, "s:a") == ["1.txt", "2.txt", "deep/3.csv"]
    assert names(stores, "s:a/2.txt") == ["2.txt"]
    assert names(stores, "s:a/*.txt") == ["1.txt", "2.txt"]
    assert names(stores, "s:**/1.txt") == ["a/1.txt", "b/1.txt"]
    assert names(stores, "s:a", full_names=True) == ["a/1.txt", "a/2.txt", "a/deep/3.csv"]


def test_files_of_several_sources_keep_distinct_names(stores: dict[str, StoreSpec]) -> None:
    assert names(stores, "s:a/1.txt", "s:b") == ["a/1.txt", "b/1.txt"]
    assert names(stores, "s:a/1.txt", "s:a/deep") == ["1.txt", "deep/3.csv"]
    assert names(stores, "s:a/1.txt", "s:a/1.txt", "s:a/*.txt") == ["1.txt", "2.txt"]
    assert names(stores, "s:b", "t:b") == ["s/b/1.txt", "t/b/1.txt"]


@pytest.mark.parametrize("path", ["s:nowhere", "s:a/*.png", "gone:a"])
def test_an_empty_source_is_an_error_that_names_it(stores: dict[str, StoreSpec], path: str) -> None:
    with pytest.raises(NotFound):
        names(stores, path)


def test_an_empty_source_may_pass(stores: dict[str, StoreSpec]) -> None:
    sources = [{"datastore": "s", "path": path} for path in ("nowhere", "b/1.txt", "a/*.png")]
    assert [item.name for item in resolve({"sources": sources}, stores, if_nothing="pass")] == ["b/1.txt"]
    with pytest.raises(NotFound):
        list(resolve({"sources": [{"datastore": "gone", "path": "a"}]}, stores, if_nothing="pass"))


@pytest.mark.parametrize("path", ["s:../x", "s:a/../../x", "s:C:/x", "s:a\0"])
def test_paths_outside_the_store_are_refused(stores: dict[str, StoreSpec], path: str) -> None:
    with pytest.raises((InvalidInput, NotFound)):
        names(stores, path)


def test_steps_are_deterministic(stores: dict[str, StoreSpec]) -> None:
    assert names(stores, "s:a", steps=[{"do": "skip", "count": 1}, {"do": "take", "count": 1}]) == ["2.txt"]
    split = {"do": "split", "percentage": 0.5, "seed": 3}
    first, second = (names(stores, "s:", steps=[dict(split, first=which)]) for which in (True, False))
    assert sorted(first + second) == names(stores, "s:") and not set(first) & set(second)
    assert names(stores, "s:", steps=[dict(split, first=True)]) == first
    assert names(stores, "s:", steps=[{"do": "sample", "probability": 0.0, "seed": 1}]) == []
    with pytest.raises(InvalidInput, match="no step 'shuffle'"):
        names(stores, "s:", steps=[{"do": "shuffle"}])


def test_filters_can_use_size_and_partition(stores: dict[str, StoreSpec]) -> None:
    large = {"op": ">=", "args": [{"field": "Size"}, {"value": 2}]}
    assert names(stores, "s:", steps=[{"do": "filter", "expression": large}]) == ["a/2.txt", "a/deep/3.csv"]
    in_b = {"op": "==", "args": [{"field": "folder"}, {"value": "b"}]}
    form = {"partition_format": "{folder}/{name}.txt"}
    assert names(stores, "s:", steps=[{"do": "filter", "expression": in_b}], **form) == ["b/1.txt"]


def test_partition_columns_of_times_and_text() -> None:
    partition = Partition("/{country}/{day:yyyy/MM/dd}/part-*.csv")
    assert partition.values("root/de/2024/05/06/part-7.csv") == {"country": "de", "day": 1714953600.0}
    assert partition.values("root/de/2024/05/part-7.csv") == {}
    assert partition.values("root/de/2024/13/99/part-7.csv") == {"country": "de", "day": None}
    assert Partition("year={y}/m-{m:MM}.csv").values("root/year=2024/m-02.csv") == {"y": "2024", "m": 2678400.0}
    assert Partition("/any/where/year={y}/*.csv").values("root/year=2024/a.csv") == {"y": "2024"}
    assert Partition("year={y}/*.csv").values("root/2024/a.csv") == {}
    for bad in ("plain.csv", "{a}/{a}.csv", "{a b}.csv"):
        with pytest.raises(InvalidInput, match="partition_format"):
            Partition(bad)


@pytest.mark.parametrize(
    ("expression", "true"),
    [
        ({"op": "and", "args": [{"value": True}, {"op": "<", "args": [{"field": "n"}, {"value": 3}]}]}, True),
        ({"op": "or", "args": [{"value": False}, {"op": "!=", "args": [{"field": "n"}, {"value": 2}]}]}, False),
        ({"op": "not", "args": [{"op": ">", "args": [{"field": "missing"}, {"value": 1}]}]}, True),
        ({"op": "<", "args": [{"field": "word"}, {"value": 1}]}, False),
        ({"op": "isin", "args": [{"field": "n"}, {"value": [1, 2]}]}, True),
        ({"op": "is_null", "args": [{"field": "missing"}]}, True),
    ],
)
def test_expressions(expression: dict[str, Any], true: bool) -> None:
    assert is_true(expression, {"n": 2, "word": "x"}) is true


def test_an_unknown_operator_is_an_error() -> None:
    with pytest.raises(InvalidInput, match="'xor'"):
        is_true({"op": "xor", "args": []}, {})


def test_changes_are_detected_by_digest_then_etag_then_size() -> None:
    before = [
        Item("same", 1, "e"),
        Item("etag", 1, "e"),
        Item("size", 1),
        Item("gone", 1),
        Item("hash", 1, "e", 0, "d"),
    ]
    now = [Item("same", 1, "e"), Item("etag", 1, "f"), Item("size", 2), Item("new", 1), Item("hash", 1, "f", 0, "d")]
    assert compare(before, now) == {"added": ["new"], "removed": ["gone"], "changed": ["etag", "size"]}
