"""Explanations of raw exceptions: the argument that is not as annotated is named, and nothing else is refused."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import pytest

from footplate.sdk.data.datastore import Datastore
from footplate.sdk.exceptions import UserErrorException
from footplate.sdk.values.wrong_types import explained

if TYPE_CHECKING:
    from footplate.sdk.workspace import Workspace


@explained
class Shelf:
    def __init__(self, workspace: Workspace | None = None, size: int = 1) -> None:
        self.place = None if workspace is None else workspace.name
        self.size = size + 1

    @staticmethod
    def join(parts: Sequence[str], separator: str = ",") -> str:
        """Join."""
        return separator.join(parts)

    def pairs(self, given: Sequence[tuple[str, int]]) -> Iterator[str]:
        for name, number in given:
            yield name * number

    def tag(self, tags: str | Mapping[str, str]) -> list[str]:
        return [key.upper() + value for key, value in tags.items()]  # type: ignore[union-attr]

    def read(self, path: str, options: Any = None) -> str:
        with open(path, encoding="utf-8") as file:
            return file.read()

    def stop(self, reason: Any) -> None:
        raise ValueError(f"reason is {reason}")


ANY: Any = Shelf()
MISTAKES: list[tuple[Callable[[], Any], str, str]] = [
    (lambda: Shelf("w"), "workspace is 'w'", "give a Workspace"),  # type: ignore[arg-type]
    (lambda: Datastore.get("w", "x"), "workspace is 'w'", "give a Workspace"),  # type: ignore[arg-type]
    (lambda: Shelf(size="2"), "size is '2'", "give a whole number"),  # type: ignore[arg-type]
    (lambda: Shelf.join(7), "parts is 7", "give a list of strings"),  # type: ignore[arg-type]
    (lambda: Shelf.join(["a", 1]), "parts[1] is 1", "give a string"),  # type: ignore[list-item]
    (lambda: Shelf.join(["a"], None), "separator is None", "give a string"),  # type: ignore[arg-type]
    (lambda: list(ANY.pairs([("a", 1), ("b", "c")])), "given[1][1] is 'c'", "give a whole number"),
    (lambda: ANY.tag({"a": 1}), "tags['a'] is 1", "give a string"),
    (lambda: ANY.tag(b"x"), "tags is b'x'", "give a string or a dictionary"),
]


def test_a_path_with_nul_is_named() -> None:
    with pytest.raises(UserErrorException) as caught:
        Shelf().read("a\0b")
    assert (caught.value.message, caught.value.hint) == ("path is 'a\\x00b'", "remove the NUL character")


@pytest.mark.parametrize(("call", "message", "hint"), MISTAKES, ids=[row[1] for row in MISTAKES])
def test_the_argument_of_a_wrong_type_is_named(call: Callable[[], Any], message: str, hint: str):
    with pytest.raises(UserErrorException) as caught:
        call()
    assert (caught.value.message, caught.value.hint) == (message, hint)
    assert isinstance(caught.value.inner_exception, (AttributeError, TypeError))


def test_values_that_work_are_not_refused():
    assert Shelf(size=True).size == 2
    assert Shelf.join({"a": 1, "b": 2}) == "a,b"  # type: ignore[arg-type]


def test_an_error_with_right_arguments_stays_as_it_is():
    with pytest.raises(ValueError, match="reason is 7"):
        Shelf().stop(7)


def test_missing_and_unknown_arguments_stay_errors_of_python():
    with pytest.raises(TypeError, match="unexpected keyword argument 'sise'"):
        ANY.__class__(sise=1)


def test_long_values_are_cut():
    with pytest.raises(UserErrorException, match=r"size is 'x+… \(5002 characters\)"):
        ANY.__class__(size="x" * 5000)


def test_signatures_and_docstrings_remain():
    assert str(inspect.signature(Shelf.join)).startswith("(parts: 'Sequence[str]'")
    assert Shelf.join.__doc__ == "Join."
