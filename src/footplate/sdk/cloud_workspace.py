"""Members of Azure's Workspace that have no meaning here: empty lists, and methods that raise an error."""

from __future__ import annotations

from typing import Any, Callable, Dict, NoReturn

from footplate.sdk.unsupported import refused


def _refused(name: str, why: str, hint: str) -> Callable[..., NoReturn]:
    return refused("Workspace", "ws", name, why, hint)


_NO_KEYS = "Footplate uses no Azure accounts"
_SETTINGS = "settings are in the settings.ini of the server's home folder"


class CloudWorkspace:
    delete = _refused(
        "delete", "it would delete its runs and models", "delete it on the command line: footplate workspace delete"
    )
    diagnose_workspace = _refused("diagnose_workspace", _NO_KEYS, "check this installation with: footplate doctor")
    list_keys = _refused("list_keys", _NO_KEYS, _SETTINGS)
    sync_keys = _refused("sync_keys", _NO_KEYS, _SETTINGS)
    update = _refused("update", "a workspace keeps the names and tags it was created with", _SETTINGS)
    update_dependencies = _refused("update_dependencies", _NO_KEYS, _SETTINGS)

    @property
    def linked_services(self) -> Dict[str, Any]:
        """Always empty: services of Azure cannot be linked."""
        return {}

    images = linked_services
