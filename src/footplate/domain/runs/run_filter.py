"""The language in which users select runs.

    metrics.loss < 0.2 and params.lr >= 0.01 and status == Completed and started > '2h ago'

A comparison holds only for runs that have the field: `not tags.fold == 2` also selects runs without that tag, and
`tags.fold != 2` does not. `parse` turns the text into a tree, `render` turns a tree into text that `parse` reads.
Times and durations are written as '2h ago', '2024-05-31 10:00', 'yesterday' or '10m'.
"""

from __future__ import annotations

import difflib
import re
from datetime import datetime, timedelta
from typing import List, NamedTuple, NoReturn, Optional, Sequence, Tuple, Union

from footplate.domain.runs.parameters import as_number
from footplate.domain.runs.run_status import STATUSES
from footplate.errors import InvalidInput

TEXT, STATUS, TIME, SECONDS, NUMBER, NAMED = "text", "status", "time", "seconds", "number", "named"
FIELDS = {
    "id": TEXT, "experiment": TEXT, "name": TEXT, "target": TEXT, "type": TEXT, "by": TEXT, "note": TEXT,
    "status": STATUS, "created": TIME, "started": TIME, "ended": TIME, "duration": SECONDS, "attempt": NUMBER,
    "number": NUMBER, "metrics": NAMED, "params": NAMED, "tags": NAMED, "properties": NAMED,
}  # fmt: skip
"""The fields of a run, and the type of each. Named ones are written `metrics.NAME`."""

_OPERATORS = ("==", "!=", "<", "<=", ">", ">=", "~")
_DEEPEST = 50


class Field(NamedTuple):
    """`name` is the name after `metrics.`, `params.`, `tags.` or `properties.`; `summary`: last, min or max."""

    kind: str
    name: Optional[str] = None
    summary: str = "last"


class Comparison(NamedTuple):
    """`operator`: one of ==, !=, <, <=, >, >=, or ~ for "contains". Times are seconds since the epoch."""

    field: Field
    operator: str
    value: Union[float, str]


class Has(NamedTuple):
    """The run has this metric, parameter, tag or property."""

    field: Field


class Not(NamedTuple):
    condition: Condition


class All(NamedTuple):
    conditions: Tuple[Condition, ...]


class Any(NamedTuple):
    conditions: Tuple[Condition, ...]


Condition = Union[Comparison, Has, Not, All, Any]


def parse(text: str, now: float) -> Condition:
    """Read a filter. `now` is the time that '2h ago' refers to. Raise InvalidInput, which points at the mistake."""
    reader = _Reader(" ".join(text.splitlines()), now)
    condition = reader.any_of()
    if reader.word is not None:
        reader.fail(f"unexpected {reader.word.text!r}", "combine conditions with and, or, not and parentheses")
    return condition


def parse_field(text: str) -> Field:
    """Read one field, such as `created`, `params.lr` or `min(metrics.loss)`."""
    reader = _Reader(" ".join(text.splitlines()), 0.0)
    field = reader.field()
    if reader.word is not None:
        reader.fail(f"unexpected {reader.word.text!r}", "write one field only")
    return field


def render(condition: Condition) -> str:
    """Return the text of a filter, in which all times are numbers."""
    if isinstance(condition, Comparison):
        value = condition.value
        text = quote(value) if isinstance(value, str) else repr(value)
        return f"{_render_field(condition.field)} {condition.operator} {text}"
    if isinstance(condition, Has):
        return _render_field(condition.field)
    if isinstance(condition, Not):
        return f"not ({render(condition.condition)})"
    word = " and " if isinstance(condition, All) else " or "
    return word.join(f"({render(each)})" for each in condition.conditions)


def fields_of(condition: Condition) -> List[Field]:
    """Return all fields that the filter mentions."""
    if isinstance(condition, (Comparison, Has)):
        return [condition.field]
    if isinstance(condition, Not):
        return fields_of(condition.condition)
    return [field for each in condition.conditions for field in fields_of(each)]


def _render_field(field: Field) -> str:
    name = field.kind if field.name is None else f"{field.kind}.{quote(field.name)}"
    return name if field.summary == "last" else f"{field.summary}({name})"


class _Reader:
    """A recursive descent over the words of a filter."""

    def __init__(self, text: str, now: float) -> None:
        self._text = text
        self._now = now
        self._words = split(text)
        self._at = 0
        self._depth = 0

    @property
    def word(self) -> Optional[Word]:
        return self._words[self._at] if self._at < len(self._words) else None

    def fail(self, problem: str, hint: str, word: Optional[Word] = None) -> NoReturn:
        column = (word or self.word or Word("", "", len(self._text.rstrip()))).column
        raise InvalidInput(f"the filter is wrong: {problem}\n  {self._text}\n  {' ' * column}^", hint)

    def _take(self, *words: str) -> Optional[Word]:
        """Take the next word if it is one of these."""
        word = self.word
        if word is None or word.kind == "string" or word.text.lower() not in words:
            return None
        self._at += 1
        return word

    # ── Combinations ──────────────────────────────────────────────────────────────────────────────────────────────────

    def any_of(self) -> Condition:
        alternatives = [self._all_of()]
        while self._take("or", "||"):
            alternatives.append(self._all_of())
        return alternatives[0] if len(alternatives) == 1 else Any(tuple(alternatives))

    def _all_of(self) -> Condition:
        conditions = [self._one()]
        while self._take("and", "&&"):
            conditions.append(self._one())
        return conditions[0] if len(conditions) == 1 else All(tuple(conditions))

    def _one(self) -> Condition:
        self._depth += 1
        if self._depth > _DEEPEST:
            self.fail(f"more than {_DEEPEST} levels of parentheses", "write it with fewer")
        try:
            if self._take("not", "!"):
                return Not(self._one())
            if self._take("("):
                condition = self.any_of()
                if not self._take(")"):
                    self.fail("a ')' is missing", "close every parenthesis")
                return condition
            return self._comparison()
        finally:
            self._depth -= 1

    # ── One comparison ────────────────────────────────────────────────────────────────────────────────────────────────

    def _comparison(self) -> Condition:
        start = self.word
        field = self.field()
        sign = self._take("=", *_OPERATORS)
        if sign is not None:
            return self._compare(field, "==" if sign.text == "=" else sign.text, sign)
        if self._take("in"):
            return self._one_of(field)
        if field.name is None:
            self.fail(f"{field.kind} is compared with nothing", f"write for example {_EXAMPLES[FIELDS[field.kind]]}")
        if field.summary != "last":
            self.fail(
                f"{field.summary}(…) is compared with nothing", "write for example min(metrics.loss) < 0.1", start
            )
        return Has(field)

    def field(self) -> Field:
        summary = self._take("min", "max", "last")
        if summary is None:
            return self._plain_field()
        if not self._take("("):
            self.fail(f"{summary.text} needs a metric in parentheses", f"write {summary.text}(metrics.loss)")
        field = self._plain_field()
        if field.kind != "metrics":
            self.fail(f"{summary.text}(…) needs a metric", f"write {summary.text}(metrics.loss)", summary)
        if not self._take(")"):
            self.fail("a ')' is missing", f"write {summary.text}(metrics.loss)")
        return field._replace(summary=summary.text.lower())

    def _plain_field(self) -> Field:
        word = self.word
        if word is None or word.kind != "name":
            self.fail("a field is expected here", f"use one of {', '.join(FIELDS)}")
        self._at += 1
        kind, dot, name = word.text.partition(".")
        if dot and not name and self.word is not None and self.word.kind == "string":
            name = self.word.text
            self._at += 1
        if kind not in FIELDS:
            near = difflib.get_close_matches(kind, FIELDS, 1)
            guess = f"did you mean {near[0]}? " if near else ""
            self.fail(f"there is no field {kind!r}", f"{guess}use one of {', '.join(FIELDS)}", word)
        if (FIELDS[kind] == NAMED) != bool(name):
            problem = f"{kind} needs a name" if FIELDS[kind] == NAMED else f"{kind} has no parts"
            self.fail(problem, f"write {kind}.NAME" if FIELDS[kind] == NAMED else f"write {kind}", word)
        return Field(kind, name or None)

    def _one_of(self, field: Field) -> Condition:
        start = self.word
        if not self._take("("):
            self.fail("'in' needs a list in parentheses", "write for example status in (Failed, Canceled)")
        alternatives = [self._compare(field, "==", start)]
        while self._take(","):
            alternatives.append(self._compare(field, "==", start))
        if not self._take(")"):
            self.fail("a ')' is missing", "close the list")
        return alternatives[0] if len(alternatives) == 1 else Any(tuple(alternatives))

    def _compare(self, field: Field, operator: str, sign: Optional[Word]) -> Comparison:
        word = self.word
        if word is None or word.kind == "sign":
            self.fail("a value is expected here", "write a number, a word, or text in quotes")
        self._at += 1
        value = self._value(field, word)
        if operator == "~" and not isinstance(value, str):
            value = word.text
        if isinstance(value, str) and operator not in ("==", "!=", "~"):
            self.fail(f"{operator} needs a number, not text", "use == or !=, or ~ for 'contains'", sign)
        if operator == "~" and (field.kind == "metrics" or FIELDS[field.kind] not in (TEXT, NAMED)):
            self.fail(f"~ needs text, and {field.kind} is not text", "use ==, !=, <, <=, > or >=", sign)
        return Comparison(field, operator, value)

    def _value(self, field: Field, word: Word) -> Union[float, str]:
        kind = FIELDS[field.kind]
        if kind == STATUS:
            return self._status(word)
        if kind == TEXT:
            return word.text
        value = _number(word)
        if value is None and kind == TIME:
            value = read_time(word.text, self._now)
        elif value is None and kind == SECONDS:
            value = read_seconds(word.text)
        if value is not None:
            return value
        if kind == NAMED and field.kind != "metrics":
            return word.text
        return self.fail(f"{word.text!r} is not a {_NOUNS[kind]}", f"write for example {_EXAMPLES[kind]}", word)

    def _status(self, word: Word) -> str:
        for status in STATUSES:
            if status.lower() == word.text.lower():
                return status
        near = difflib.get_close_matches(word.text.capitalize(), STATUSES, 1)
        guess = f"did you mean {near[0]}? " if near else ""
        return self.fail(f"there is no status {word.text!r}", f"{guess}use one of {', '.join(STATUSES)}", word)


_NOUNS = {TIME: "time", SECONDS: "duration", NUMBER: "number", NAMED: "number"}
_EXAMPLES = {
    TEXT: "name ~ baseline",
    STATUS: "status == Failed",
    TIME: "started > '2h ago', or created >= '2024-05-31'",
    SECONDS: "duration > 10m",
    NUMBER: "attempt > 1",
    NAMED: "metrics.loss < 0.2",
}


def _number(word: Word) -> Optional[float]:
    return as_number(word.text) if word.kind == "number" else None


def conjuncts(condition: Condition) -> Sequence[Condition]:
    """Return conditions of which all must hold."""
    return condition.conditions if isinstance(condition, All) else (condition,)


_PATTERN = re.compile(
    r"""\s*(?:
      (?P<string>'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*")
    | (?P<number>[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?(?![\w.:\-/]))
    | (?P<name>[^\W\d][\w./:\-]*|[\d.][\w./:\-]*)
    | (?P<sign>==|!=|<=|>=|&&|\|\||[=<>~(),!])
    )""",
    re.VERBOSE,
)
_ESCAPED = re.compile(r"\\(.)", re.DOTALL)


class Word(NamedTuple):
    """`kind`: string, number, name or sign. The text of a string is without quotes."""

    kind: str
    text: str
    column: int


def split(text: str) -> List[Word]:
    words: List[Word] = []
    at = 0
    while text[at:].strip():
        match = _PATTERN.match(text, at)
        if match is None:
            column = at + len(text[at:]) - len(text[at:].lstrip())
            what = "the quote is not closed" if text[column] in "'\"" else f"unexpected {text[column]!r}"
            raise InvalidInput(
                f"the filter is wrong: {what}\n  {text}\n  {' ' * column}^",
                "write for example metrics.loss < 0.2 and tags.model == 'large'",
            )
        kind = str(match.lastgroup)
        word = match[kind]
        words.append(Word(kind, _ESCAPED.sub(r"\1", word[1:-1]) if kind == "string" else word, match.start(kind)))
        at = match.end()
    return words


def quote(text: str) -> str:
    """Return text in quotes, as `split` reads it."""
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


_UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86400, "w": 7 * 86400}
_DURATION = re.compile(r"(\d+(?:\.\d+)?)\s*(s|m|h|d|w)(?:ec|econd|in|inute|our|r|ay|eek)?s?", re.IGNORECASE)
_DAYS = {"today": 0, "yesterday": 1}


def read_seconds(text: str) -> Optional[float]:
    """Return the seconds of `90s`, `10m`, `1h30m`, `2 days`; None when it is not a duration."""
    rest = text.strip()
    total = 0.0
    if not rest:
        return None
    while rest:
        match = _DURATION.match(rest)
        if match is None:
            return None
        total += float(match[1]) * _UNITS[match[2].lower()]
        rest = rest[match.end() :].strip()
    return total


def read_time(text: str, now: float) -> Optional[float]:
    """Return the time as seconds since the epoch; None when it is not a time. A time without a zone is local."""
    words = text.strip().lower()
    if words == "now":
        return now
    if words.endswith(" ago"):
        passed = read_seconds(words[: -len(" ago")])
        return None if passed is None else now - passed
    if words in _DAYS:
        midnight = datetime.fromtimestamp(now).replace(hour=0, minute=0, second=0, microsecond=0)
        return (midnight - timedelta(days=_DAYS[words])).timestamp()
    try:
        return datetime.fromisoformat(text.strip().replace("Z", "+00:00")).timestamp()
    except (ValueError, OverflowError, OSError):
        return None
