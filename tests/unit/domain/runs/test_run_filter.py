from __future__ import annotations

import string
from datetime import datetime, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from footplate.domain.runs.run_filter import (
    All,
    Any,
    Comparison,
    Field,
    Has,
    Not,
    fields_of,
    parse,
    read_seconds,
    read_time,
    render,
)
from footplate.domain.runs.run_status import STATUSES
from footplate.errors import InvalidInput

NOW = 1_800_000_000.0


def read(text: str) -> object:
    return parse(text, NOW)


def test_conditions_combine_as_in_python():
    loss = Comparison(Field("metrics", "loss"), "<", 0.2)
    rate = Comparison(Field("params", "lr"), ">=", 0.01)
    done = Comparison(Field("status"), "==", "Completed")
    assert read("metrics.loss < 0.2 and params.lr >= 0.01 or status == 'completed'") == Any((All((loss, rate)), done))
    assert read("metrics.loss < 0.2 AND (params.lr >= 1e-2 || status=Completed)") == All((loss, Any((rate, done))))
    assert read("not metrics.loss < .2") == Not(loss)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("started > '2h ago'", Comparison(Field("started"), ">", NOW - 7200)),
        ("created >= 1700000000", Comparison(Field("created"), ">=", 1_700_000_000.0)),
        ("ended < 2024-05-31T10:00Z", Comparison(Field("ended"), "<", 1_717_149_600.0)),
        ("duration > 1h30m", Comparison(Field("duration"), ">", 5400.0)),
        ("duration > 90", Comparison(Field("duration"), ">", 90.0)),
        ("tags.model == large-v2", Comparison(Field("tags", "model"), "==", "large-v2")),
        ("tags.fold == '2'", Comparison(Field("tags", "fold"), "==", "2")),
        ("name ~ 5", Comparison(Field("name"), "~", "5")),
        ("params.lr ~ 5", Comparison(Field("params", "lr"), "~", "5")),
        ('metrics."val loss" < 1', Comparison(Field("metrics", "val loss"), "<", 1.0)),
        ("metrics.val/loss < 1", Comparison(Field("metrics", "val/loss"), "<", 1.0)),
        ("min(metrics.loss) < 1", Comparison(Field("metrics", "loss", "min"), "<", 1.0)),
        ("tags.baseline", Has(Field("tags", "baseline"))),
        (
            "status in (failed, Canceled)",
            Any((Comparison(Field("status"), "==", "Failed"), Comparison(Field("status"), "==", "Canceled"))),
        ),
    ],
)
def test_comparisons_are_read(text, expected):
    assert read(text) == expected


@pytest.mark.parametrize(
    ("text", "message", "column", "hint"),
    [
        ("", "a field is expected here", 0, "status"),
        ("metrics.loss <", "a value is expected here", 14, "a number"),
        ("metric.loss < 1", "there is no field 'metric'", 0, "did you mean metrics?"),
        ("metrics < 1", "metrics needs a name", 0, "metrics.NAME"),
        ("status.x == 1", "status has no parts", 0, "write status"),
        ("status == Complete", "there is no status 'Complete'", 10, "did you mean Completed?"),
        ("status", "status is compared with nothing", 6, "status == Failed"),
        ("metrics.loss < high", "'high' is not a number", 15, "metrics.loss < 0.2"),
        ("started > soon", "'soon' is not a time", 10, "2h ago"),
        ("duration > long", "'long' is not a duration", 11, "10m"),
        ("tags.a < b", "< needs a number", 7, "=="),
        ("metrics.a ~ 1", "~ needs text", 10, "=="),
        ("(status == Failed", "a ')' is missing", 17, "close"),
        ("status == Failed started", "unexpected 'started'", 17, "and, or"),
        ("name == 'open", "the quote is not closed", 8, "metrics.loss"),
        ("name == @", "unexpected '@'", 8, "metrics.loss"),
        ("max(tags.a) > 1", "max(…) needs a metric", 0, "max(metrics.loss)"),
        ("status in Failed", "'in' needs a list", 10, "(Failed, Canceled)"),
        ("(" * 60 + "tags.a" + ")" * 60, "levels of parentheses", 50, "fewer"),
        ("metrics.a < 1e999", "'1e999' is not a number", 12, "0.2"),
    ],
)
def test_the_error_points_at_the_mistake(text, message, column, hint):
    with pytest.raises(InvalidInput) as refused:
        read(text)
    first, shown, caret = refused.value.message.split("\n")
    assert message in first
    assert (shown, caret) == (f"  {text}", "  " + " " * column + "^")
    assert hint in str(refused.value.hint)


names = st.text(string.printable + "éß𝄞", min_size=1, max_size=8).map(lambda text: " ".join(text.splitlines()) or "x")
numbers = st.floats(allow_nan=False, allow_infinity=False)
named = st.builds(Field, st.sampled_from(["params", "tags", "properties"]), names, st.just("last"))
metric = st.builds(Field, st.just("metrics"), names, st.sampled_from(["last", "min", "max"]))
ordered = st.sampled_from(["==", "!=", "<", "<=", ">", ">="])
texts = st.sampled_from(["==", "!=", "~"])
leaves = st.one_of(
    st.builds(Comparison, metric, ordered, numbers),
    st.builds(Comparison, named, ordered, numbers),
    st.builds(Comparison, named, texts, names),
    st.builds(Comparison, st.sampled_from([Field("id"), Field("name"), Field("by")]), texts, names),
    st.builds(Comparison, st.just(Field("status")), st.sampled_from(["==", "!="]), st.sampled_from(STATUSES)),
    st.builds(Comparison, st.sampled_from([Field("created"), Field("duration")]), ordered, numbers),
    st.builds(Has, named),
)
trees = st.recursive(
    leaves,
    lambda below: st.one_of(
        st.builds(Not, below),
        st.builds(All, st.lists(below, min_size=2, max_size=3).map(tuple)),
        st.builds(Any, st.lists(below, min_size=2, max_size=3).map(tuple)),
    ),
    max_leaves=8,
)


@given(trees)
def test_a_rendered_filter_is_read_back(tree):
    assert read(render(tree)) == tree
    assert fields_of(tree)


@given(st.text(max_size=40))
def test_any_text_is_read_or_refused_with_a_hint(text):
    try:
        read(text)
    except InvalidInput as refused:
        assert refused.hint
        assert "^" in refused.message


@pytest.mark.parametrize(
    ("text", "seconds"), [("90s", 90), ("2 days", 172800), ("1h 30 min", 5400), ("1w", 604800), ("", None), ("x", None)]
)
def test_durations_have_units(text, seconds):
    assert read_seconds(text) == seconds


def test_times_are_relative_or_in_iso_format():
    assert read_time("now", NOW) == NOW
    assert read_time("3d ago", NOW) == NOW - 3 * 86400
    today, yesterday = read_time("today", NOW), read_time("yesterday", NOW)
    assert today is not None and yesterday is not None
    assert 0 <= NOW - today < 90_000 <= NOW - yesterday + 7_200
    assert read_time("2024-05-31 10:00+00:00", NOW) == datetime(2024, 5, 31, 10, tzinfo=timezone.utc).timestamp()
    assert read_time("long ago", NOW) is None
