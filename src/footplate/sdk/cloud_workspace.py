"""Members of Azure's Workspace that have no meaning here: empty lists, and methods that raise an error."""

from __future__ import annotations

from typing import Any, Callable, Dict, NoReturn

from footplate.sdk.exceptions import UserErrorException

_DOC = """Raise an error: {why}.

Args:
    *args, **kwargs: Ignored.

Raises:
    UserErrorException: Always. The hint: {hint}.

Example:
    try:
        ws.{name}()
    except UserErrorException as error:
        print(error.hint)
"""


def _refused(name: str, why: str, hint: str) -> Callable[..., NoReturn]:
    def method(self: Any, *args: Any, **kwargs: Any) -> NoReturn:
        raise UserErrorException(f"Workspace.{name} is not available: {why}", hint=hint)

    method.__name__ = name
    method.__doc__ = _DOC.format(name=name, why=why, hint=hint)
    return method


_NO_KEYS = "Footplate uses no Azure accounts"
_SETTINGS = "settings are in the settings.ini of the server's home folder"


class CloudWorkspace:
    delete = _refused(
        "delete", "it would delete its runs and models", "delete it on the command line: footplate workspace delete"
    )
    diagnose_workspace = _refused("diagnose_workspace", _NO_KEYS, "check this installation with: footplate doctor")
    get_mlflow_tracking_uri = _refused(
        "get_mlflow_tracking_uri",
        "Footplate does not support MLflow yet",
        "log with Run.get_context().log(name, value)",
    )
    list_keys = _refused("list_keys", _NO_KEYS, _SETTINGS)
    sync_keys = _refused("sync_keys", _NO_KEYS, _SETTINGS)
    update = _refused("update", "a workspace keeps the names and tags it was created with", _SETTINGS)
    update_dependencies = _refused("update_dependencies", _NO_KEYS, _SETTINGS)

    @property
    def linked_services(self) -> Dict[str, Any]:
        """Always empty: services of Azure cannot be linked."""
        return {}

    images = linked_services
