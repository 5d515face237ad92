"""Filters by tag and property in a query: `KEY`, or `KEY=VALUE`.

The first `=` ends the key. In the key itself, `=` is written `%3D`, and `%` is written `%25`.
"""

from __future__ import annotations

from typing import Any, Optional, Tuple


def label_filter(key: str, value: Any = None) -> str:
    """Return the text that selects this key, with this value unless it is None."""
    written = key.replace("%", "%25").replace("=", "%3D")
    return written if value is None else f"{written}={value}"


def parse_label_filter(text: str) -> Tuple[str, Optional[str]]:
    key, equals, value = text.partition("=")
    return key.replace("%3D", "=").replace("%25", "%"), value if equals else None
