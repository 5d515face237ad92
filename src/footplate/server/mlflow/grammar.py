"""MLflow's search grammar: filters such as `metrics.loss < 0.2 AND tags."my tag" LIKE 'a%'`, orders and page tokens.

One parser serves all nouns; a `Grammar` says which keys a noun has and which comparisons they admit. There is neither
OR nor a bracket, except around the list of IN.
"""

from __future__ import annotations

import base64
import binascii
import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from footplate.domain.runs.tracking import Condition, Ordering
from footplate.server.mlflow.errors import MlflowError

METRIC, PARAMETER, TAG, ATTRIBUTE, DATASET = "metric", "parameter", "tag", "attribute", "dataset"

ENTITIES: Mapping[str, str] = {
    **dict.fromkeys(("metric", "metrics"), METRIC),
    **dict.fromkeys(("parameter", "parameters", "param", "params"), PARAMETER),
    **dict.fromkeys(("tag", "tags"), TAG),
    **dict.fromkeys(("attribute", "attributes", "attr", "run"), ATTRIBUTE),
    **dict.fromkeys(("dataset", "datasets"), DATASET),
}

NUMERIC = frozenset({"=", "!=", "<", "<=", ">", ">="})
TEXT = frozenset({"=", "!=", "LIKE", "ILIKE"})
LISTS = frozenset({"IN", "NOT IN"})
NULLS = frozenset({"IS NULL", "IS NOT NULL"})


@dataclass(frozen=True)
class Grammar:
    """The keys of one noun. `renamed`: other spellings of attributes."""

    entities: Mapping[str, str]
    texts: frozenset[str]
    numbers: frozenset[str]
    lists: frozenset[str]  # attributes that can be compared with a list
    nulls: frozenset[str]  # kinds that can be compared with NULL
    order: frozenset[str]
    renamed: Mapping[str, str]

    def admits(self, kind: str, key: str) -> frozenset[str]:
        """Return the operators that can compare a key."""
        if kind == METRIC or (kind == ATTRIBUTE and key in self.numbers):
            return NUMERIC
        lists = LISTS if kind in (ATTRIBUTE, DATASET) else frozenset[str]()
        return TEXT | lists | (NULLS if kind in self.nulls else frozenset[str]())


RUNS = Grammar(
    ENTITIES,
    texts=frozenset({"run_id", "run_name", "user_id", "status", "artifact_uri"}),
    numbers=frozenset({"start_time", "end_time"}),
    lists=frozenset({"run_id"}),
    nulls=frozenset({TAG, PARAMETER}),
    order=frozenset({"run_id", "run_name", "user_id", "status", "artifact_uri", "start_time", "end_time"}),
    renamed={
        "created": "start_time", "Created": "start_time", "run name": "run_name", "Run name": "run_name",
        "Run Name": "run_name",
    },
)  # fmt: skip

_TAGGED = {"attribute": ATTRIBUTE, "tag": TAG, "tags": TAG}
_EXPERIMENT_KEYS = frozenset({"name", "experiment_id", "creation_time", "last_update_time"})
EXPERIMENTS = Grammar(
    _TAGGED,
    texts=frozenset({"name", "experiment_id"}),
    numbers=frozenset({"creation_time", "last_update_time"}),
    lists=frozenset({"experiment_id"}),
    nulls=frozenset({TAG}),
    order=_EXPERIMENT_KEYS,
    renamed={},
)
MODELS = Grammar(
    _TAGGED,
    texts=frozenset({"name"}),
    numbers=frozenset(),
    lists=frozenset({"name"}),
    nulls=frozenset(),
    order=frozenset({"name", "creation_timestamp", "last_updated_timestamp"}),
    renamed={"timestamp": "last_updated_timestamp"},
)
VERSIONS = Grammar(
    _TAGGED,
    texts=frozenset({"name", "run_id", "source_path"}),
    numbers=frozenset({"version_number"}),
    lists=frozenset({"name", "run_id"}),
    nulls=frozenset(),
    order=frozenset({"name", "version_number", "creation_timestamp", "last_updated_timestamp"}),
    renamed={},
)
_MODEL_TIMES = frozenset(
    {"creation_timestamp", "creation_time", "last_updated_timestamp", "last_updated_time"}
    | {"creation_timestamp_ms", "last_updated_timestamp_ms"}
)
_MODEL_TEXTS = frozenset({"name", "model_id", "model_type", "status", "source_run_id"})
LOGGED_MODELS = Grammar(
    {name: kind for name, kind in ENTITIES.items() if kind != DATASET},
    texts=_MODEL_TEXTS,
    numbers=_MODEL_TIMES,
    lists=_MODEL_TEXTS,
    nulls=frozenset(),
    order=_MODEL_TEXTS | _MODEL_TIMES,
    renamed={
        **dict.fromkeys(("creation_time", "creation_timestamp_ms"), "creation_timestamp"),
        **dict.fromkeys(("last_updated_time", "last_updated_timestamp_ms"), "last_updated_timestamp"),
    },
)

# ── Filters ───────────────────────────────────────────────────────────────────────────────────────────────────────────

_NAME = r"""(?:[A-Za-z_][\w$#/:-]*|`[^`]*`|"[^"]*")"""
_STRING = r"""'(?:''|\\'|[^'])*'|"[^"]*"|`[^`]*`"""
_NUMBER = r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?(?![\w.])"
_IDENTIFIER = rf"""{_NAME}(?:\.(?:[\w$#/:-]+|`[^`]*`|"[^"]*"))*"""
_CLAUSE = re.compile(
    rf"(?P<left>{_IDENTIFIER})\s*(?:(?P<null>IS\s+NOT\s+NULL|IS\s+NULL)\b"
    rf"|(?P<operator>!=|<>|<=|>=|==|=|<|>|(?:NOT\s+IN|IN)(?=\s*\()|(?:I?LIKE|RLIKE)\b)\s*"
    rf"(?P<right>{_STRING}|{_NUMBER}|\([^)]*\)|[^\s;()]+))",
    re.IGNORECASE,
)
_AND = re.compile(r"AND\b", re.IGNORECASE)
_OTHER = re.compile(rf"{_STRING}|\([^)]*\)|;|[^\s;]+")
_NUMBER_ALONE = re.compile(_NUMBER)
_LIST_ITEM = re.compile(r"""\s*('(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*")\s*(,|$)""")


def parse_filter(text: str | None, grammar: Grammar) -> tuple[Condition, ...]:
    """Return the conditions of a filter, all of which must hold."""
    if not text or not text.strip():
        return ()
    clauses: list[re.Match[str]] = []
    invalid: list[str] = []
    at = 0
    while at < len(text):
        if text[at].isspace():
            at += 1
            continue
        clause = _CLAUSE.match(text, at)
        match = clause or _AND.match(text, at) or _OTHER.match(text, at)
        assert match is not None
        if match[0] == ";":
            _check_end(text, match.end())
        elif clause:
            clauses.append(clause)
        elif not _AND.fullmatch(match[0]):
            invalid.append(match[0])
        at = match.end()
    if invalid:
        raise MlflowError("Invalid clause(s) in filter string: " + ", ".join(f"'{part}'" for part in invalid))
    return tuple(_condition(clause, grammar) for clause in clauses)


def _check_end(text: str, at: int) -> None:
    if text[at:].strip():
        raise MlflowError(f"Search filter contained multiple expression {text!r}. Provide AND-ed expression list.")
    raise MlflowError("Invalid clause(s) in filter string: ';'")


def _condition(clause: re.Match[str], grammar: Grammar) -> Condition:
    kind, key = _split(clause["left"], grammar, grammar.texts | grammar.numbers)
    if clause["null"]:
        operator = " ".join(clause["null"].upper().split())
        if kind not in grammar.nulls:
            raise MlflowError(f"IS NULL / IS NOT NULL is only supported for tags and params, not for '{kind}' '{key}'")
        return Condition(kind, key, operator)
    value = _value(kind, key, clause["right"], grammar)
    operator = " ".join(clause["operator"].upper().split())
    allowed = grammar.admits(kind, key)
    if operator not in allowed:
        raise MlflowError(f"Invalid comparator '{operator}' not one of '{_listed(allowed)}'")
    return Condition(kind, key, operator, value)


def _split(identifier: str, grammar: Grammar, attributes: frozenset[str]) -> tuple[str, str]:
    """Return the kind and the key that `metrics.loss`, or an attribute alone, names."""
    entity, dot, key = identifier.partition(".") if identifier[0] not in '`"' else _split_quoted(identifier)
    if not dot:
        entity, key = "attribute", entity
    entity = _unquote(entity, "`")
    if entity not in grammar.entities:
        valid = list(dict.fromkeys(grammar.entities.values())) if grammar.entities is ENTITIES else tuple(_TAGGED)
        noun = "values" if grammar.entities is ENTITIES else "entity types"
        raise MlflowError(f"Invalid entity type '{entity}'. Valid {noun} are {valid}")
    kind = grammar.entities[entity]
    key = _unquote(_unquote(_unquote(key, "'"), '"'), "`")
    if kind == ATTRIBUTE:
        key = grammar.renamed.get(key, key)
        if key not in attributes:
            raise MlflowError(f"Invalid attribute key '{key}' specified. Valid keys are '{_listed(attributes)}'")
    if kind == DATASET and key not in ("name", "digest", "context"):
        keys = _listed(("context", "digest", "name"))
        raise MlflowError(f"Invalid dataset key '{key}' specified. Valid keys are '{keys}'")
    return kind, key


def _split_quoted(identifier: str) -> tuple[str, str, str]:
    """Split after a quoted entity: "`metrics`.loss", and '"Run Name"', which is one attribute."""
    end = identifier.index(identifier[0], 1) + 1
    return identifier[:end], identifier[end : end + 1], identifier[end + 1 :]


def _value(kind: str, key: str, text: str, grammar: Grammar) -> Any:
    is_number = _NUMBER_ALONE.fullmatch(text) is not None
    if kind == METRIC:
        if not is_number:
            raise MlflowError(f"Expected numeric value type for metric. Found {text}")
        return float(text)
    if kind == ATTRIBUTE and key in grammar.numbers:
        if not is_number:
            raise MlflowError(f"Expected numeric value type for numeric attribute: {key}. Found {text}")
        return float(text)
    if text.startswith("("):
        return _list(kind, key, text, grammar)
    if is_number or text[:1].isdigit():
        noun = "attributes" if kind == ATTRIBUTE else "dataset attributes" if kind == DATASET else kind
        example = " (e.g. 'my-value')" if kind in (TAG, PARAMETER) else ""
        raise MlflowError(f"Expected a quoted string value for {noun}{example}. Got value {text}")
    for quote in "'\"":
        if len(text) >= 2 and text[0] == text[-1] == quote:
            return text[1:-1]
    raise MlflowError(
        "Parameter value is either not quoted or unidentified quote types used for string value "
        f"{text}. Use either single or double quotes."
    )


def _list(kind: str, key: str, text: str, grammar: Grammar) -> tuple[str, ...]:
    if kind not in (ATTRIBUTE, DATASET):
        raise MlflowError(f"Expected a quoted string value for {kind} (e.g. 'my-value'). Got value {text}")
    if kind == ATTRIBUTE and key not in grammar.lists:
        raise MlflowError(
            f"Only {sorted(grammar.lists)} attributes support comparison with a list of quoted string values."
        )
    inside = text[1:-1]
    items = list[str]()
    at = 0
    while at < len(inside):
        item = _LIST_ITEM.match(inside, at)
        if item is None:
            raise MlflowError(
                "While parsing a list in the query, expected string value, punctuation, or whitespace, "
                f"but got different type in list: {text}"
            )
        items.append(re.sub(r"\\(.)", r"\1", item[1][1:-1]))
        at = item.end()
    if not items:
        raise MlflowError(
            "While parsing a list in the query, expected a non-empty list of string values, but got empty list"
        )
    return tuple(items)


# ── Orders ────────────────────────────────────────────────────────────────────────────────────────────────────────────

_ORDER = re.compile(rf"""\s*(?P<key>{_IDENTIFIER}|[^\s"`]+)(?:\s+(?P<way>\S+))?\s*(?P<rest>\S.*)?""")


def parse_order(clauses: Iterable[str], grammar: Grammar) -> tuple[Ordering, ...]:
    """Return the keys of `order_by`; a key may appear once."""
    clauses = list(clauses)
    order: list[Ordering] = []
    for clause in clauses:
        key = _ordering(clause, grammar)
        if any((key.kind, key.key) == (other.kind, other.key) for other in order):
            raise MlflowError(f"`order_by` contains duplicate fields: {clauses}")
        order.append(key)
    return tuple(order)


def _ordering(clause: str, grammar: Grammar) -> Ordering:
    match = _ORDER.fullmatch(clause)
    if match is None or match["rest"]:
        raise MlflowError(f"Invalid order_by clause '{clause}'. Could not be parsed.")
    way = (match["way"] or "asc").lower()
    if way not in ("asc", "desc"):
        raise MlflowError(f"Invalid ordering key in order_by clause '{clause}'.")
    kind, key = _split(match["key"], grammar, grammar.order)
    if kind == DATASET or (kind != ATTRIBUTE and grammar.entities is not ENTITIES):
        raise MlflowError(f"Invalid order_by entity: {kind}")
    return Ordering(kind, key, way == "asc")


# ── Pages ─────────────────────────────────────────────────────────────────────────────────────────────────────────────


def page_token(offset: int) -> str:
    return base64.b64encode(json.dumps({"offset": offset}).encode()).decode()


def parse_page_token(token: str | None) -> int:
    """Return the offset that a token of ours holds."""
    if not token:
        return 0
    try:
        decoded = base64.b64decode(token)
    except (binascii.Error, ValueError):
        raise MlflowError("Invalid page token, could not base64-decode") from None
    try:
        parsed = json.loads(decoded)
    except ValueError:
        raise MlflowError(f"Invalid page token, decoded value={decoded!r}") from None
    offset = parsed.get("offset") if isinstance(parsed, dict) else None  # pyright: ignore[reportUnknownVariableType, reportUnknownMemberType]
    if not offset:
        raise MlflowError(f"Invalid page token, parsed value={parsed}")
    try:
        return max(0, int(str(offset)))  # pyright: ignore[reportUnknownArgumentType]
    except ValueError:
        raise MlflowError(f"Invalid page token, not stringable {offset}") from None


def _unquote(text: str, quote: str) -> str:
    return text[1:-1] if len(text) >= 2 and text[0] == text[-1] == quote else text


def _listed(names: Iterable[str]) -> str:
    return "{" + ", ".join(repr(name) for name in sorted(names)) + "}"
