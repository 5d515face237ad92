"""What a workspace has on Azure and not here: nothing to list, and services that whoever calls them is told about."""

from __future__ import annotations

from typing import Any, Callable, Dict, NoReturn

from footplate.sdk.exceptions import UserErrorException


def _refused(name: str, why: str, hint: str) -> Callable[..., NoReturn]:
    def method(self: Any, *args: Any, **kwargs: Any) -> NoReturn:
        raise UserErrorException(f"there is no {name} of a workspace: {why}", hint=hint)

    method.__name__ = name
    return method


_NO_KEYS = "Footplate has no accounts of Azure behind it"
_SETTINGS = "a server's settings are in the settings.ini of its home folder"


class CloudWorkspace:
    delete = _refused(
        "delete", "its runs and models would go with it", "remove what is in it: Experiment.delete, model.delete()"
    )
    diagnose_workspace = _refused("diagnose_workspace", _NO_KEYS, "footplate doctor looks at what there is")
    get_mlflow_tracking_uri = _refused(
        "get_mlflow_tracking_uri", "Footplate does not speak MLflow yet", "log with Run.get_context().log(name, value)"
    )
    list_keys = _refused("list_keys", _NO_KEYS, _SETTINGS)
    sync_keys = _refused("sync_keys", _NO_KEYS, _SETTINGS)
    update = _refused("update", "its names and tags are given when it is made", _SETTINGS)
    update_dependencies = _refused("update_dependencies", _NO_KEYS, _SETTINGS)

    @property
    def webservices(self) -> Dict[str, Any]:
        """None: see `web_services`."""
        return {}

    images = linked_services = webservices
