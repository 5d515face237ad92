"""Tags and properties as they are sent: texts under texts."""

from __future__ import annotations

from typing import Any, Dict, Mapping, Optional, cast

from footplate.sdk.exceptions import UserErrorException


def texts(given: Any, what: str = "tags") -> Dict[str, Optional[str]]:
    """Keys and values become texts, None stays None."""
    if not isinstance(given, Mapping):
        raise UserErrorException(f"{what} is {given!r}", hint=f"give a dictionary: {what}={{'key': 'value'}}")
    pairs = cast("Mapping[Any, Any]", given).items()
    return {str(key): None if value is None else str(value) for key, value in pairs}
