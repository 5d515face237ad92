"""The result of `dataset.verify()`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import List

_SHOWN = 20


@dataclass(frozen=True)
class DatasetChanges:
    """Files added, removed and changed since the version was registered. True if nothing changed."""

    dataset: str
    added: List[str]
    removed: List[str]
    changed: List[str]

    def __bool__(self) -> bool:
        return not (self.added or self.removed or self.changed)

    def __str__(self) -> str:
        if self:
            return f"{self.dataset} has not changed since it was registered"
        lines = [f"{self.dataset} has changed since it was registered"]
        for word, names in (("added", self.added), ("removed", self.removed), ("changed", self.changed)):
            lines += [f"  {word:8}{name if name.isprintable() else repr(name)}" for name in names[:_SHOWN]]
            if len(names) > _SHOWN:
                lines.append(f"  … and {len(names) - _SHOWN} more {word}")
        return "\n".join(lines)
