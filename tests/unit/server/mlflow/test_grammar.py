"""MLflow's search grammar: what it accepts, and its texts for what it does not."""

from __future__ import annotations

import base64

import pytest

from footplate.domain.runs.tracking import Condition, Ordering
from footplate.server.mlflow import grammar
from footplate.server.mlflow.errors import MlflowError
from footplate.server.mlflow.grammar import EXPERIMENTS, MODELS, RUNS, VERSIONS


@pytest.mark.parametrize(
    ("text", "condition"),
    [
        ("metrics.loss < 0.2", Condition("metric", "loss", "<", 0.2)),
        ("metric.`a b` >= -1e-3", Condition("metric", "a b", ">=", -0.001)),
        ('params."my key" = "x y"', Condition("parameter", "my key", "=", "x y")),
        ("`params`.lr != '0.1'", Condition("parameter", "lr", "!=", "0.1")),
        ("tags.mlflow.parentRunId = 'r'", Condition("tag", "mlflow.parentRunId", "=", "r")),
        ("tag.a ilike '%B%'", Condition("tag", "a", "ILIKE", "%B%")),
        ("params.x IS  NOT  NULL", Condition("parameter", "x", "IS NOT NULL")),
        ("run_id NOT IN ('a', \"b\")", Condition("attribute", "run_id", "NOT IN", ("a", "b"))),
        ("\"Run Name\" LIKE 'a_'", Condition("attribute", "run_name", "LIKE", "a_")),
        ("attr.Created > 12", Condition("attribute", "start_time", ">", 12.0)),
        ("datasets.context IN ('train')", Condition("dataset", "context", "IN", ("train",))),
    ],
)
def test_a_clause_becomes_a_condition(text: str, condition: Condition) -> None:
    assert grammar.parse_filter(text, RUNS) == (condition,)


def test_clauses_are_joined_by_and() -> None:
    text = "metrics.a > 1 and params.b = 'AND; OR' AND tags.c IS NULL"
    assert [each.key for each in grammar.parse_filter(text, RUNS)] == ["a", "b", "c"]
    assert grammar.parse_filter("  ", RUNS) == grammar.parse_filter(None, RUNS) == ()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("metrics.a > 1 OR metrics.b > 2", "Invalid clause(s) in filter string: 'OR'"),
        ("(metrics.a > 1)", "Invalid clause(s) in filter string: '(metrics.a > 1)'"),
        ("nonsense", "Invalid clause(s) in filter string: 'nonsense'"),
        ("params.a='1'; params.b='2'", "Search filter contained multiple expression"),
        ("metrics.a = 'x'", "Expected numeric value type for metric. Found 'x'"),
        ("start_time = 'x'", "Expected numeric value type for numeric attribute: start_time. Found 'x'"),
        ("params.a = 0.1", "Expected a quoted string value for parameter (e.g. 'my-value'). Got value 0.1"),
        ("tags.a = b", "Parameter value is either not quoted or unidentified quote types"),
        ("metrics.a LIKE 1", "Invalid comparator 'LIKE' not one of '{'!=', "),
        ("params.a > '1'", "Invalid comparator '>' not one of"),
        ("wrong.a = '1'", "Invalid entity type 'wrong'. Valid values are ['metric', 'parameter', 'tag'"),
        ("wrong = '1'", "Invalid attribute key 'wrong' specified. Valid keys are "),
        ("dataset.size = '1'", "Invalid dataset key 'size' specified. Valid keys are "),
        ("status IN ('a')", "Only ['run_id'] attributes support comparison with a list"),
        ("run_id IN ()", "expected a non-empty list of string values"),
        ("run_id IN (1)", "While parsing a list in the query"),
        ("metrics.a IS NULL", "IS NULL / IS NOT NULL is only supported for tags and params"),
    ],
)
def test_a_wrong_filter_is_explained_as_by_mlflow(text: str, message: str) -> None:
    with pytest.raises(MlflowError) as caught:
        grammar.parse_filter(text, RUNS)
    assert message in caught.value.message
    assert caught.value.code == "INVALID_PARAMETER_VALUE"


def test_each_noun_has_its_own_keys() -> None:
    assert grammar.parse_filter("creation_time > 1", EXPERIMENTS)[0].value == 1.0
    assert grammar.parse_filter("version_number = 3", VERSIONS)[0].value == 3.0
    assert grammar.parse_filter("tags.`mlflow.prompt.is_prompt` != 'true'", MODELS)[0].kind == "tag"
    for wrong in (MODELS, VERSIONS, EXPERIMENTS):
        with pytest.raises(MlflowError, match="Invalid attribute key 'status'"):
            grammar.parse_filter("status = 'x'", wrong)
        with pytest.raises(MlflowError, match="Invalid entity type 'metrics'"):
            grammar.parse_filter("metrics.a = 1", wrong)


@pytest.mark.parametrize(
    ("clause", "order"),
    [
        ("metrics.loss DESC", Ordering("metric", "loss", False)),
        ("params.`a b`", Ordering("parameter", "a b")),
        ("created asc", Ordering("attribute", "start_time")),
    ],
)
def test_an_order_has_a_key_and_a_direction(clause: str, order: Ordering) -> None:
    assert grammar.parse_order([clause], RUNS) == (order,)


@pytest.mark.parametrize(
    ("clauses", "message"),
    [
        (["metrics.a up"], "Invalid ordering key in order_by clause 'metrics.a up'."),
        (["metrics.a asc too"], "Invalid order_by clause 'metrics.a asc too'. Could not be parsed."),
        (["nothing"], "Invalid attribute key 'nothing' specified."),
        (["metrics.a", "metrics.a DESC"], "`order_by` contains duplicate fields: "),
        (["datasets.name"], "Invalid order_by entity: dataset"),
    ],
)
def test_a_wrong_order_is_explained(clauses: list[str], message: str) -> None:
    with pytest.raises(MlflowError) as caught:
        grammar.parse_order(clauses, RUNS)
    assert message in caught.value.message


def test_page_tokens_hold_an_offset() -> None:
    assert grammar.parse_page_token(grammar.page_token(77)) == 77
    assert grammar.parse_page_token("") == 0


@pytest.mark.parametrize("text", ["!", "[]", '{"offset": 0}', '{"offset": "x"}', "nothing"])
def test_a_wrong_page_token_is_refused(text: str) -> None:
    token = text if text == "!" else base64.b64encode(text.encode()).decode()
    with pytest.raises(MlflowError, match="Invalid page token"):
        grammar.parse_page_token(token)
