"""Values behave like frozen dataclasses."""

from __future__ import annotations

import copy
import dataclasses
import pickle
from typing import Any, cast

import pytest

from footplate.domain.values import Value, field, replace


class Place(Value):
    address: str
    ports: tuple[int, ...] = ()
    info: dict[str, Any] = field(default_factory=lambda: {})
    secret: dict[str, Any] = field(default_factory=lambda: {}, repr=False)


class NamedPlace(Place):
    name: str = "n0"


@dataclasses.dataclass(frozen=True)
class Peer:
    """The same as Place, made by the standard library."""

    address: str
    ports: tuple[int, ...] = ()
    info: dict[str, Any] = dataclasses.field(default_factory=lambda: {})
    secret: dict[str, Any] = dataclasses.field(default_factory=lambda: {}, repr=False)


def test_fields_are_given_by_position_or_name() -> None:
    assert Place("a", (1,)) == Place(address="a", ports=(1,)) == Place("a", ports=(1,))
    assert Place("a") != Place("b") and Place("a") != Peer("a")
    assert vars(Place("a")) == vars(Peer("a"))


def test_each_value_has_defaults_of_its_own() -> None:
    first, second = Place("a"), Place("a")
    first.info["key"] = 1
    assert second.info == {}


@pytest.mark.parametrize(
    ("args", "kwargs"),
    [((), {}), (("a", (), {}, {}, 5), {}), (("a",), {"address": "b"}), (("a",), {"port": 1})],
    ids=["missing", "too many", "twice", "unknown"],
)
def test_wrong_fields_are_type_errors_as_of_dataclasses(args: Any, kwargs: Any) -> None:
    for kind in (Place, Peer):
        with pytest.raises(TypeError):
            kind(*args, **kwargs)


def test_the_error_names_the_field() -> None:
    with pytest.raises(TypeError, match=r"Place\(\) lacks 'address'"):
        Place()  # pyright: ignore[reportCallIssue]
    with pytest.raises(TypeError, match=r"Place\(\) has no field 'port'"):
        Place("a", port=1)  # pyright: ignore[reportCallIssue]


def test_values_cannot_change() -> None:
    place: Any = Place("a")
    for change in (lambda: setattr(place, "address", "b"), lambda: delattr(place, "address")):
        with pytest.raises(AttributeError, match="'address': a Place is immutable"):
            change()
    assert place.address == "a"


def test_hash_and_text_are_those_of_dataclasses() -> None:
    class Point(Value):
        x: int
        y: int = 0

    assert len({Point(1), Point(1, 0), Point(2)}) == 2
    assert repr(Place("a", secret={"k": "v"})) == repr(Peer("a", secret={"k": "v"})).replace("Peer", "Place")
    with pytest.raises(TypeError, match="unhashable"):
        hash(Place("a"))


def test_subclasses_add_fields() -> None:
    assert NamedPlace("a", (), {}, {}, "n1").name == "n1"
    assert NamedPlace("a") != Place("a")
    assert [f.name for f in dataclasses.fields(NamedPlace)] == ["address", "ports", "info", "secret", "name"]
    assert [f.name for f in dataclasses.fields(Place)] == ["address", "ports", "info", "secret"]


def test_functions_of_dataclasses_accept_values() -> None:
    assert dataclasses.is_dataclass(Place) and not dataclasses.fields(cast("Any", Value))
    assert dataclasses.replace(Place("a", (1,)), address="b") == Place("b", (1,))
    ours, peers = dataclasses.fields(Place), dataclasses.fields(Peer)
    assert [(f.name, f.type, f.default, f.repr) for f in ours] == [(f.name, f.type, f.default, f.repr) for f in peers]
    assert dataclasses.asdict(Place("a")) == dataclasses.asdict(Peer("a"))


def test_replace_changes_values_and_dataclasses() -> None:
    assert replace(Place("a", (1,)), address="b") == Place("b", (1,))
    assert replace(Peer("a", (1,)), address="b") == Peer("b", (1,))


def test_values_can_be_copied_pickled_and_matched() -> None:
    place = Place("a", (1,), {"k": [1]})
    assert copy.copy(place) == copy.deepcopy(place) == pickle.loads(pickle.dumps(place)) == place
    assert Place.__match_args__ == Peer.__match_args__  # pyright: ignore[reportAttributeAccessIssue]
