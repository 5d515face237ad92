"""Addresses of Azure's open datasets: public containers of one storage account, listed with its HTTP API.

Files are read from their addresses like those of any web dataset, through the data cache of the machine.
"""

from __future__ import annotations

import os
import re
import urllib.error
import urllib.parse
import urllib.request
from datetime import date
from typing import Any, Iterator, List, Optional
from xml.etree import ElementTree

from footplate import environ
from footplate.errors import Unavailable

ADDRESS = "https://azureopendatastorage.blob.core.windows.net"
_PATIENCE_SECONDS = 20.0
_MONTH = re.compile(r"/(?:pu)?year=(\d{4})/(?:pu)?month=(\d{1,2})/", re.IGNORECASE)


def address_of(path: str) -> str:
    """Return the URL of `container/path`."""
    return f"{os.environ.get(environ.OPEN_DATASETS) or ADDRESS}/{urllib.parse.quote(path, safe='/=')}"


def list_files(folder: str) -> List[str]:
    """Return the paths of the files in `container/folder`. Raises Unavailable with the reason."""
    container, _, prefix = folder.partition("/")
    try:
        paths = [f"{container}/{name}" for name in _names(container, f"{prefix}/")]
    except (OSError, ElementTree.ParseError) as error:
        raise Unavailable(f"{address_of(folder)} cannot be listed: {_reason(error)}", "check the network") from None
    if not paths:
        raise Unavailable(f"{address_of(folder)} has no files", "check the address")
    return paths


def check(path: str) -> None:
    """Raise Unavailable with the reason if `container/path` cannot be read."""
    try:
        urllib.request.urlopen(
            urllib.request.Request(address_of(path), method="HEAD"), timeout=_PATIENCE_SECONDS
        ).close()
    except OSError as error:
        raise Unavailable(f"{address_of(path)} cannot be read: {_reason(error)}", "check the network") from None


def in_months(paths: List[str], start: Any, end: Any) -> List[str]:
    """Leave out files of months that end before `start` or begin after `end`, as far as their folders tell."""
    first, last = _month(start), _month(end)
    within: List[str] = []
    for path in paths:
        match = _MONTH.search(path)
        month = int(match[1]) * 12 + int(match[2]) if match else None
        if month is None or ((first is None or month >= first) and (last is None or month <= last)):
            within.append(path)
    return within


def _month(day: Any) -> Optional[int]:
    return day.year * 12 + day.month if isinstance(day, date) else None


def _names(container: str, prefix: str) -> Iterator[str]:
    marker: Optional[str] = ""
    while marker is not None:
        query = {"restype": "container", "comp": "list", "prefix": prefix, **({"marker": marker} if marker else {})}
        url = f"{address_of(container)}?{urllib.parse.urlencode(query)}"
        with urllib.request.urlopen(url, timeout=_PATIENCE_SECONDS) as answer:
            page = ElementTree.fromstring(answer.read())
        for blob in page.iter("Blob"):
            name = blob.findtext("Name") or ""
            if not name.endswith("/") and not os.path.basename(name).startswith("_"):  # _SUCCESS, as Spark writes it
                yield name
        marker = page.findtext("NextMarker") or None


def _reason(error: Exception) -> str:
    if isinstance(error, urllib.error.HTTPError):
        return f"the server answers {error.code} {error.reason}"
    return str(getattr(error, "reason", error))
