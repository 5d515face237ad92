"""Members of Azure's Workspace that have no meaning here: empty lists, and methods that raise an error."""

from __future__ import annotations

import functools
from typing import Any, Dict

from footplate.sdk.unsupported import make_refusal

_refuse = functools.partial(make_refusal, "Workspace", "ws")
_NO_KEYS = "Footplate uses no Azure accounts"
_SETTINGS = "settings are in the settings.ini of the server's home folder"


class CloudWorkspace:
    delete = _refuse(
        "delete", "it would delete its runs and models", "delete it on the command line: footplate workspace delete"
    )
    diagnose_workspace = _refuse("diagnose_workspace", _NO_KEYS, "check this installation with: footplate doctor")
    list_keys = _refuse("list_keys", _NO_KEYS, _SETTINGS)
    sync_keys = _refuse("sync_keys", _NO_KEYS, _SETTINGS)
    update = _refuse("update", "a workspace keeps the names and tags it was created with", _SETTINGS)
    update_dependencies = _refuse("update_dependencies", _NO_KEYS, _SETTINGS)

    @property
    def sku(self) -> str:
        """Always `basic`."""
        return "basic"

    @property
    def linked_services(self) -> Dict[str, Any]:
        """Always empty: services of Azure cannot be linked."""
        return {}

    images = linked_services
