# Azure's SDK imports it too, and scripts rely on that: `import urllib`, then `urllib.request.urlretrieve(…)`.
import urllib.request  # noqa: F401

from footplate.sdk.workspace import Workspace

__all__ = ["Workspace"]
