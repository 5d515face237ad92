from __future__ import annotations

import enum
import json
import math
from dataclasses import dataclass
from pathlib import Path

import pytest

from footplate.errors import Conflict
from footplate.server.responses import answer, answer_error, answer_list, encode


class Colour(enum.Enum):
    RED = "red"


@dataclass(frozen=True)
class Thing:
    name: str
    colours: tuple[Colour, ...] = (Colour.RED,)
    value: float = 1.0


def strictly(text: bytes | memoryview):
    def refuse(name: str):
        raise AssertionError(f"{name} is not JSON")

    return json.loads(bytes(text), parse_constant=refuse)


def test_values_of_the_domain_at_any_depth():
    assert strictly(encode({"x": [Thing("a"), {"y": Colour.RED}]})) == {
        "x": [{"name": "a", "colours": ["red"], "value": 1.0}, {"y": "red"}]
    }


@pytest.mark.parametrize(
    ("tagged", "wanted"),
    [(True, [{"float": "NaN"}, {"float": "Infinity"}, {"float": "-Infinity"}]), (False, [None] * 3)],
)
def test_numbers_outside_json(tagged, wanted):
    value = {"points": [(0.5, math.nan), (1, math.inf), (2, -math.inf)], "thing": Thing("a", value=math.nan)}
    decoded = strictly(encode(value, tagged))
    assert [p[1] for p in decoded["points"]] == wanted
    assert decoded["thing"]["value"] == wanted[0]
    assert [p[0] for p in decoded["points"]] == [0.5, 1, 2]


def test_names_that_are_not_utf8_travel_as_escapes():
    name = b"\xff.txt".decode("utf-8", "surrogateescape")
    assert strictly(encode({"path": name})) == {"path": name}


def test_a_type_without_json_form_is_named():
    with pytest.raises(TypeError, match="PosixPath has no JSON form"):
        encode({"path": Path("/x")})


def test_list_and_cursor():
    response = answer_list((Thing(n) for n in "ab"), "c1")
    assert [i["name"] for i in strictly(response.body)["items"]] == ["a", "b"]
    assert strictly(response.body)["next"] == "c1"
    assert response.headers["content-type"] == "application/json"
    assert strictly(answer_list([]).body) == {"items": [], "next": None}


def test_status():
    assert answer(None, 202).status_code == 202


def test_error():
    response = answer_error(Conflict("taken", "choose another", size=3))
    assert response.status_code == 409
    assert strictly(response.body) == {
        "error": {"code": "conflict", "message": "taken", "hint": "choose another", "details": {"size": 3}}
    }
