"""Tags and properties in the form that is sent: strings by string."""

from __future__ import annotations

from typing import Any, Dict, Mapping, Optional, Sequence, cast

from footplate.sdk.exceptions import UserErrorException


def texts(labels: Any, what: str = "tags") -> Dict[str, Optional[str]]:
    """Return the mapping with keys and values as strings; None stays None."""
    if not isinstance(labels, Mapping):
        raise UserErrorException(f"{what} is {labels!r}", hint=f"give a dictionary: {what}={{'key': 'value'}}")
    pairs = cast("Mapping[Any, Any]", labels).items()
    return {str(key): None if value is None else str(value) for key, value in pairs}


def matches(labels: Mapping[str, Optional[str]], filters: Optional[Sequence[Any]]) -> bool:
    """Whether there is every wanted label: `key`, or `[key, value]`."""
    for each in filters or ():
        name, *value = [each] if isinstance(each, str) else list(each)
        if name not in labels or (value and labels[name] != value[0]):
            return False
    return True
