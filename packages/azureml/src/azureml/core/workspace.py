from __future__ import annotations

# Azure's SDK brings it along, and scripts rely on that: `import urllib`, and then `urllib.request.urlretrieve(…)`.
import urllib.request  # noqa: F401

from footplate.sdk.workspace import Workspace

__all__ = ["Workspace"]
