"""MLflow's grammar over objects in memory: experiments and models, of which a workspace has few."""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Generic, TypeVar

from footplate.domain.runs.tracking import Condition, Ordering

T = TypeVar("T")
PROMPT = "mlflow.prompt.is_prompt"
"""The tag of prompts, which share MLflow's registry with models. An object without it is not a prompt."""

_COMPARE: dict[str, Callable[[Any, Any], bool]] = {
    "=": operator.eq, "!=": operator.ne, "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge,
    "IN": lambda value, items: value in items, "NOT IN": lambda value, items: value not in items,
    "LIKE": lambda value, pattern: _pattern(pattern).fullmatch(value) is not None,
    "ILIKE": lambda value, pattern: _pattern(pattern, re.IGNORECASE).fullmatch(value) is not None,
}  # fmt: skip


class MemorySearch(Generic[T]):
    """`attributes` and `tags` return the fields of an object."""

    def __init__(
        self, attributes: Callable[[T], Mapping[str, Any]], tags: Callable[[T], Mapping[str, str | None]]
    ) -> None:
        self._attributes = attributes
        self._tags = tags

    def search(self, items: Iterable[T], conditions: Sequence[Condition]) -> list[T]:
        return [item for item in items if all(self._holds(item, condition) for condition in conditions)]

    def _holds(self, item: T, condition: Condition) -> bool:
        fields = self._tags(item) if condition.kind == "tag" else self._attributes(item)
        value = fields.get(condition.key)
        if value is None and condition.key == PROMPT:
            value = "false"
        return compare(value, condition)

    def sort(self, items: Iterable[T], order: Sequence[Ordering], tie: str, ascending: bool = True) -> list[T]:
        """Sort by the keys in order; missing values are last."""
        keys = list(order)
        if all(key.key != tie for key in keys):
            keys.append(Ordering("attribute", tie, ascending))
        sorted_items = list(items)
        for key in reversed(keys):
            sorted_items.sort(key=lambda item: self._rank(item, key.key), reverse=not key.ascending)
            sorted_items.sort(key=lambda item: self._attributes(item).get(key.key) is None)
        return sorted_items

    def _rank(self, item: T, key: str) -> Any:
        value = self._attributes(item).get(key)
        return (value is not None, value) if value is not None else (False, 0)


def compare(value: Any, condition: Condition) -> bool:
    """Return whether a value satisfies a condition; a missing one satisfies only IS NULL."""
    if condition.operator in ("IS NULL", "IS NOT NULL"):
        return (value is None) == (condition.operator == "IS NULL")
    return value is not None and _COMPARE[condition.operator](value, condition.value)


def _pattern(text: str, flags: int = 0) -> re.Pattern[str]:
    parts = (".*" if letter == "%" else "." if letter == "_" else re.escape(letter) for letter in text)
    return re.compile("".join(parts), flags | re.DOTALL)
