"""Fields of requests: which are missing or wrong, in MLflow's words."""

from __future__ import annotations

from typing import Any

import pytest

from footplate.server.mlflow import fields
from footplate.server.mlflow.errors import MlflowError
from footplate.server.mlflow.fields import INTEGER, ITEMS, LIST, NUMBER, TEXTS, Field, need

SEE = "See the API docs for more information about request parameters."


def test_numbers_may_be_texts_and_unknown_fields_stay() -> None:
    table = {"step": Field(INTEGER), "value": need(NUMBER), "run_id": need()}
    checked = fields.check(table, {"step": "5", "value": "NaN", "run_uuid": "r", "other": 1})
    assert checked["step"] == 5
    assert checked["value"] != checked["value"]
    assert checked["run_id"] == "r"
    assert checked["other"] == 1


@pytest.mark.parametrize("request_", [{}, {"name": None}, {"name": ""}])
def test_a_missing_field_is_named(request_: dict[str, Any]) -> None:
    with pytest.raises(MlflowError) as caught:
        fields.check({"name": need()}, request_)
    assert caught.value.message == f"Missing value for required parameter 'name'. {SEE}"


@pytest.mark.parametrize(
    ("field", "value", "shown"),
    [
        (Field(), 123, "123"),
        (Field(INTEGER), "x", '"x"'),
        (Field(INTEGER), 1.5, "1.5"),
        (Field(INTEGER, most=5), 6, "6"),
        (Field(NUMBER), True, "true"),
        (Field(LIST), "5", '"5"'),
        (Field(TEXTS), [1], "[1]"),
        (Field(ITEMS), ["a"], '["a"]'),
    ],
)
def test_a_wrong_value_is_shown(field: Field, value: Any, shown: str) -> None:
    with pytest.raises(MlflowError) as caught:
        fields.check({"name": field}, {"name": value})
    hint = f"Hint: Value was of type '{type(value).__name__}'."
    assert caught.value.message == f"Invalid value {shown} for parameter 'name' supplied:  {hint} {SEE}"


def test_items_without_a_key_are_named_by_their_place() -> None:
    with pytest.raises(MlflowError) as caught:
        fields.check({"tags": Field(ITEMS, each=("key",))}, {"tags": [{"key": "a"}, {"value": "b"}]})
    assert caught.value.message == f"Missing value for required parameter 'tags[1].key'. {SEE}"
