"""The differences between two runs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Dict, List, Mapping, Tuple

from footplate.domain.locks import Change


@dataclass(frozen=True)
class RunDiff:
    """The differences between the runs `before` and `after`, by section; a section without any is empty.

    In `code`, `before` and `after` are the sizes of a file, or the beginnings of its digests if the sizes are equal.
    """

    before: str
    after: str
    arguments: Tuple[Change, ...] = ()
    code: Tuple[Change, ...] = ()
    environment: Tuple[Change, ...] = ()
    data: Tuple[Change, ...] = ()
    metrics: Tuple[Change, ...] = ()

    def sections(self) -> Dict[str, Tuple[Change, ...]]:
        names = ("arguments", "code", "environment", "data", "metrics")
        return {name: getattr(self, name) for name in names}

    def __bool__(self) -> bool:
        """Whether the runs differ."""
        return any(self.sections().values())


def changes(before: Mapping[str, Any], after: Mapping[str, Any]) -> Tuple[Change, ...]:
    """Return the names with different values, in the order of `before`, then of `after`."""
    names: List[str] = list(dict.fromkeys([*before, *after]))
    return tuple(
        Change(name, _text(before.get(name)), _text(after.get(name)))
        for name in names
        if before.get(name) != after.get(name)
    )


def file_changes(before: Mapping[str, Tuple[int, str]], after: Mapping[str, Tuple[int, str]]) -> Tuple[Change, ...]:
    """Return the files that differ, given as (size, digest) by path."""
    changed_files: List[Change] = []
    for path in sorted({*before, *after}):
        mine, other = before.get(path), after.get(path)
        if mine != other:
            same_size = mine is not None and other is not None and mine[0] == other[0]
            changed_files.append(Change(path, *(_file(each, same_size) for each in (mine, other))))
    return tuple(changed_files)


def _file(file: Any, by_digest: bool) -> Any:
    if file is None:
        return None
    return file[1][:12] if by_digest else f"{file[0]} bytes"


def _text(value: Any) -> Any:
    return None if value is None else f"{value:.6g}" if isinstance(value, float) else str(value)
