from __future__ import annotations

from typing import Any

import pytest

from footplate.sdk.exceptions import UserErrorException
from footplate.sdk.runs.interactive import child_tags


def test_children_are_numbered_by_count():
    assert child_tags(2, None, None) == [
        {"azureml.batch_child_number": "0"},
        {"azureml.batch_child_number": "1"},
    ]
    assert len(child_tags(100, None, None)) == 100


def test_values_become_text_and_none_stays_none():
    assert child_tags(None, "fold", ["a", 1, None]) == [{"fold": "a"}, {"fold": "1"}, {"fold": None}]


@pytest.mark.parametrize(
    "wrong, word",
    [
        ((None, None, None), "count=None"),
        ((1, "k", ["v"]), "count=1"),
        ((1, "k", None), "tag_values=None"),
        ((1, None, ["v"]), "tag_key=None"),
        ((None, "k", None), "tag_key='k'"),
        ((None, None, ["v"]), r"tag_values=\['v'\]"),
        ((0, None, None), ": 0 children"),
        ((-1, None, None), ": -1 children"),
        ((101, None, None), ": 101 children"),
        (("3", None, None), ": '3' children"),
        ((None, "k", []), ": 0 children"),
        ((None, "k", "abc"), "tag_values is 'abc'"),
    ],
)
def test_invalid_arguments_are_named(wrong: tuple[Any, Any, Any], word: str):
    with pytest.raises(UserErrorException, match=word):
        child_tags(*wrong)
