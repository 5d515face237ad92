"""Values to JSON and back, and the errors for unreadable data."""

from __future__ import annotations

import dataclasses
import json
import typing
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from footplate.domain import orders, records, specs
from footplate.domain.codec import (
    _DataclassReader,  # pyright: ignore[reportPrivateUsage]
    _readers,  # pyright: ignore[reportPrivateUsage]
    from_json,
    prepare,
    to_json,
)
from footplate.errors import InvalidInput

KINDS = [
    kind
    for module in (specs, records, orders)
    for kind in vars(module).values()
    if dataclasses.is_dataclass(kind) and isinstance(kind, type) and kind.__module__ == module.__name__
]
numbers = st.floats(allow_nan=False, allow_infinity=False)
text = st.text(max_size=6)
plain = st.recursive(
    st.none() | st.booleans() | st.integers() | numbers | text,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(text, inner, max_size=3),
    max_leaves=5,
)


def values(hint: Any) -> st.SearchStrategy[Any]:
    """Return any value of a field's type, so that a field added tomorrow is tested too."""
    origin, args = typing.get_origin(hint), typing.get_args(hint)
    if hint is Any:
        return plain
    if origin is typing.Union:
        return st.one_of(*map(values, args))
    if origin is tuple:
        return st.lists(values(args[0]), max_size=3).map(tuple)
    if origin is dict:
        return st.dictionaries(text, values(args[1]), max_size=3)
    if hint is specs.RunSpec:  # inside a controller or a record: one level is enough
        return st.builds(specs.RunSpec, experiment=text)
    if dataclasses.is_dataclass(hint):
        return built(hint)
    simple = {str: text, int: st.integers(), float: numbers, bool: st.booleans(), type(None): st.none()}
    return simple[hint] if hint in simple else st.sampled_from(list(hint))


def built(kind: Any) -> st.SearchStrategy[Any]:
    return st.builds(kind, **{name: values(hint) for name, hint in typing.get_type_hints(kind).items()})


@pytest.mark.parametrize("kind", KINDS, ids=lambda k: k.__name__)
def test_every_spec_and_record_survives_json(kind: type) -> None:
    @settings(max_examples=25, deadline=None)
    @given(built(kind))
    def round_trip(value: Any) -> None:
        assert from_json(kind, json.loads(json.dumps(to_json(value))), strict=True) == value

    round_trip()


def test_missing_keys_take_their_defaults() -> None:
    assert from_json(specs.RunSpec, {"experiment": "e"}) == specs.RunSpec("e")


def test_unknown_keys_are_refused_only_when_strict() -> None:
    data = {"experiment": "e", "enviroment": {}}
    assert from_json(specs.RunSpec, data) == specs.RunSpec("e")
    with pytest.raises(InvalidInput, match="RunSpec has no field 'enviroment'") as caught:
        from_json(specs.RunSpec, data, strict=True)
    assert caught.value.hint == "did you mean 'environment'?"


@pytest.mark.parametrize(
    ("data", "words"),
    [
        ({}, "RunSpec lacks experiment"),
        ([], r"RunSpec is \[\], which is not an object"),
        ({"experiment": 7}, "RunSpec.experiment is 7, which is not a string"),
        ({"experiment": "e", "priority": 1.5}, "RunSpec.priority is 1.5, which is not a whole number"),
        ({"experiment": "e", "priority": True}, "RunSpec.priority is True, which is not a whole number"),
        ({"experiment": "e", "max_seconds": "10"}, "RunSpec.max_seconds is '10', which is not a number"),
        ({"experiment": "e", "program": {"arguments": "-x"}}, "RunSpec.program.arguments is '-x', which is not a list"),
        (
            {"experiment": "e", "program": {"arguments": [1]}},
            r"RunSpec.program.arguments\[0\] is 1, which is not a string",
        ),
        ({"experiment": "e", "tags": {"a": 1}}, "RunSpec.tags.a is 1, which is not a string"),
        ({"experiment": "e", "tags": []}, r"RunSpec.tags is \[\], which is not an object"),
    ],
)
def test_unreadable_data_is_named(data: Any, words: str) -> None:
    with pytest.raises(InvalidInput, match=words) as caught:
        from_json(specs.RunSpec, data)
    assert caught.value.hint


def test_enums_name_their_values() -> None:
    with pytest.raises(InvalidInput, match="state is 'asleep', which is not one of 'launched', 'joined'"):
        from_json(records.NodeRecord, {"index": 0, "state": "asleep"}, where="node")


def test_whole_numbers_are_numbers() -> None:
    read = from_json(specs.RunSpec, {"experiment": "e", "max_seconds": 10})
    assert isinstance(read.max_seconds, float)


@dataclasses.dataclass(frozen=True)
class Folder:
    """A dataclass with a field of its own type."""

    name: str
    inside: tuple[Folder, ...] = ()


def test_a_type_may_contain_itself() -> None:
    value = Folder("a", (Folder("b"),))
    assert from_json(Folder, to_json(value)) == value
    with pytest.raises(InvalidInput, match=r"Folder\.inside\[0\]\.name is 3, which is not a string"):
        from_json(Folder, {"name": "a", "inside": [{"name": 3}]})


def test_prepare_also_inspects_the_types_of_fields() -> None:
    @dataclasses.dataclass(frozen=True)
    class Outer:
        places: tuple[orders.NodePlace, ...] = ()

    prepare(Outer)
    readers = [r for r in _readers.values() if isinstance(r, _DataclassReader)]
    assert len(readers) >= 2
    assert not any(reader.inspect() for reader in readers)
    assert from_json(Outer, {"places": [{"address": "a"}]}).places[0].address == "a"
