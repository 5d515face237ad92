"""Filters on tags, properties and statuses, as a query of the API."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any, Dict, List, Mapping, Optional, Sequence, Union

from footplate.domain.text import label_filter
from footplate.lazy import Deferred
from footplate.sdk.exceptions import UserErrorException
from footplate.sdk.session import translating

if TYPE_CHECKING:
    from footplate.domain.runs import run_filter
else:
    run_filter = Deferred("footplate.domain.runs.run_filter")  # a training script does not pay for it

Filter = Union[None, str, Mapping[str, Any]]
"""A string matches the key, a dictionary matches keys and values."""


def filters(
    type: Optional[str],
    tags: Filter,
    properties: Filter,
    status: Union[str, Sequence[str], None],
    where: Optional[str] = None,
) -> Dict[str, Any]:
    """Return the query for a list of runs. Relative times in `where` refer to this machine's clock and time zone."""
    return {
        "where": None if where is None else absolute(where),
        "type": type,
        "tag": _filter("tags", tags),
        "property": _filter("properties", properties),
        "status": [status] if isinstance(status, str) else list(status or ()),
    }


def absolute(where: str) -> str:
    """Return the filter with all times as numbers."""
    with translating({"invalid": UserErrorException}):
        return run_filter.render(run_filter.parse(where, time.time()))


def _filter(what: str, labels: Filter) -> List[str]:
    if labels is None:
        return []
    if isinstance(labels, str):
        return [label_filter(labels)]
    if isinstance(labels, Mapping):  # pyright: ignore[reportUnnecessaryIsInstance]
        return [label_filter(str(key), value) for key, value in labels.items()]
    raise UserErrorException(f"{what} is {labels!r}", hint="pass a key as a string, or a dictionary")
