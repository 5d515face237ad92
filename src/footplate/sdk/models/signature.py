"""The signature of a model: names and types of the columns of its samples.

A worker checks requests against it where the model itself does not tell its shape, and accepts records by name.
"""

from __future__ import annotations

import warnings
from typing import Any, Dict, List

SIGNATURE = "signature"
ROWS = 100
"""Rows of a sample that are read."""


def signature_of(sample_input: Any, sample_output: Any) -> Dict[str, Any]:
    """Return {"signature": {"inputs": columns, "outputs": columns}} for samples that are tables, or nothing."""
    columns = {kind: _columns(kind, sample) for kind, sample in (("inputs", sample_input), ("outputs", sample_output))}
    signature = {kind: each for kind, each in columns.items() if each}
    return {SIGNATURE: signature} if signature else {}


def signature_change(before: Dict[str, Any], sample_input: Any, sample_output: Any) -> Dict[str, Any]:
    """Return {"options": {"signature": …}} with the columns of the new samples, or nothing if there are none."""
    kinds = {"inputs": sample_input, "outputs": sample_output}
    unchanged = {kind: columns for kind, columns in before.items() if kinds.get(kind) is None}
    new = signature_of(sample_input, sample_output).get(SIGNATURE, {})
    return {} if unchanged == before and not new else {"options": {SIGNATURE: {**unchanged, **new}}}


def _columns(kind: str, sample: Any) -> List[Dict[str, str]]:
    """Return name and type of each column. A dataset of files has none."""
    if not hasattr(sample, "to_pandas_dataframe"):
        return []
    try:
        frame: Any = sample.take(ROWS).to_pandas_dataframe()
    except Exception as error:
        warnings.warn(f"the model is registered without a signature of its {kind}: {error}", UserWarning, stacklevel=2)
        return []
    return [{"name": str(name), "dtype": _dtype(frame[name].dtype)} for name in frame.columns]


def _dtype(dtype: Any) -> str:
    """Return numpy's name of a type; text, categories and times are objects."""
    return str(dtype) if dtype.kind in "fiub" and str(dtype).islower() else "object"
