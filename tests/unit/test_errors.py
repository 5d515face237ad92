"""The error tree: an error that crosses the wire arrives as the same error."""

from __future__ import annotations

import pytest

from footplate import errors
from footplate.errors import FootplateError, from_wire

KINDS = [k for k in vars(errors).values() if isinstance(k, type) and issubclass(k, FootplateError)]


@pytest.mark.parametrize("kind", KINDS, ids=lambda k: k.__name__)
def test_every_error_crosses_the_wire(kind: type[FootplateError]) -> None:
    back = from_wire(kind("it broke", "mend it", size=3).to_wire())
    assert type(back) is kind
    assert (back.message, back.hint, back.details) == ("it broke", "mend it", {"size": 3})


def test_a_subclass_travels_as_its_public_base_class() -> None:
    class Narrower(errors.Unavailable):
        pass

    assert type(from_wire(Narrower("it broke").to_wire())) is errors.Unavailable


def test_every_code_is_unique_and_drawn_in_the_tree() -> None:
    assert len({k.code for k in KINDS}) == len(KINDS)
    for kind in KINDS[1:]:
        assert kind.__name__ in str(errors.__doc__)
        assert f"{kind.code} " in str(errors.__doc__)
        assert str(kind.status) in str(errors.__doc__)


def test_the_text_of_an_error_ends_with_its_hint() -> None:
    assert str(FootplateError("no run 'x'", "footplate runs list")) == "no run 'x'\nhint: footplate runs list"
    assert str(FootplateError("no run 'x'")) == "no run 'x'"


@pytest.mark.parametrize(
    "wire", [{}, {"code": "of tomorrow", "message": "m"}, {"details": {"hint": "x", "message": "y"}}]
)
def test_an_unknown_code_is_still_an_error(wire: dict[str, object]) -> None:
    assert type(from_wire(wire)) is FootplateError
