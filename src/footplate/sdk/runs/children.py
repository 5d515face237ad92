"""How many children `create_children` makes, and the tag by which each of them is known."""

from __future__ import annotations

from typing import Any, Dict, Iterable, List, Optional, Sequence

from footplate.sdk.exceptions import UserErrorException

MOST = 100
BATCH_TAG = "azureml.batch_child_number"


def tags_of_children(
    count: Optional[int], tag_key: Optional[str], tag_values: Optional[Sequence[Any]]
) -> List[Dict[str, Optional[str]]]:
    """The tags of each child: its number when a count was asked for, else one of the values."""
    if (count is None) == (tag_key is None) or (tag_key is None) != (tag_values is None):
        raise UserErrorException(
            f"count={count!r}, tag_key={tag_key!r}, tag_values={tag_values!r}",
            hint="give either count, or both tag_key and tag_values",
        )
    if isinstance(tag_values, str):
        raise UserErrorException(f"tag_values is {tag_values!r}", hint=f"give a list: tag_values=[{tag_values!r}]")
    wanted = len(tag_values) if tag_values is not None else count
    if not isinstance(wanted, int) or not 1 <= wanted <= MOST:
        raise UserErrorException(f"{wanted!r} children were asked for", hint=f"ask for 1 to {MOST}")
    values: Iterable[Any] = tag_values if tag_values is not None else range(wanted)
    key = BATCH_TAG if tag_key is None else tag_key
    return [{key: None if value is None else str(value)} for value in values]
