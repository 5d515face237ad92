"""The file that names the workspace of a directory: where it is searched, and both of its formats.

    {"subscription_id": …, "resource_group": …, "workspace_name": …}          as downloaded from Azure's portal
    {"Id": null, "Scope": "/subscriptions/…/workspaces/…"}                    as written by `write_config`

Either may contain `"server": "https://…"`, which names a team server; the token comes from FOOTPLATE_TOKEN.
"""

from __future__ import annotations

import json
import os
import re
from dataclasses import dataclass
from typing import Any, Dict, Iterator, Optional, Tuple, cast

from footplate.disk import atomic_write
from footplate.sdk.exceptions import UserErrorException

FOLDERS = (".azureml", "aml_config", "")
FILE_NAMES = ("config.json", "project.json")
MAKE_ONE = "create one with: footplate init"
_KEYS = ("subscription_id", "resource_group", "workspace_name")


@dataclass(frozen=True)
class WorkspaceConfig:
    subscription_id: str
    resource_group: str
    workspace_name: str
    server: Optional[str] = None


def find(path: Optional[str] = None, file_name: Optional[str] = None) -> str:
    """Return the path of the configuration file.

    Each kind of location is searched all the way up to the root before the next kind, so a `.azureml/config.json` of a
    grandparent takes precedence over a `config.json` right here.
    """
    start = os.path.abspath(path or ".")
    if os.path.isfile(start):
        return start
    if not os.path.isdir(start):
        raise UserErrorException(f"there is no file or directory {start}", hint=MAKE_ONE)
    for location in _locations(file_name):
        for folder in _upwards(start):
            candidate = os.path.join(folder, location)
            if os.path.isfile(candidate):
                return candidate
    name = file_name or "config.json"
    raise UserErrorException(
        f"no workspace configuration: {name} was not found in {start} or in any directory above it, nor in their "
        ".azureml or aml_config directories",
        hint=MAKE_ONE,
    )


def read(path: str) -> WorkspaceConfig:
    """Read either format. Raises UserErrorException for any other file, with its path and what it lacks."""
    try:
        with open(os.fspath(path), encoding="utf-8-sig") as file:
            data: Any = json.load(file)
    except (ValueError, OSError) as error:
        raise UserErrorException(f"{path} cannot be read as JSON: {error}", error, hint=MAKE_ONE) from error
    if not isinstance(data, dict):
        raise UserErrorException(f"{path} contains {type(data).__name__}, not an object", hint=MAKE_ONE)
    values = cast("Dict[str, Any]", data)
    server = values.get("server")
    if server is not None and not isinstance(server, str):
        raise UserErrorException(f"{path}: 'server' is {server!r}", hint="give the server's address as a string")
    return WorkspaceConfig(*_scope_of(values, path), server=server)


def name_for(folder: str) -> str:
    """Return the name nearest to the folder's that Azure allows: 3 to 33 letters, digits, '_' and '-'."""
    cleaned = re.sub(r"[^\w-]+", "-", os.path.basename(folder), flags=re.ASCII).strip("-_")[:33]
    return cleaned if len(cleaned) >= 3 else f"{cleaned or 'my'}-workspace"


def write(path: Optional[str], file_name: Optional[str], config: WorkspaceConfig) -> str:
    """Write the Scope format and return the path."""
    folder = _folder_to_write(os.path.abspath(path or "."))
    os.makedirs(folder, exist_ok=True)
    content: Dict[str, Any] = {"Id": None, "Scope": scope(config)}
    if config.server:
        content["server"] = config.server
    target = os.path.join(folder, file_name or "config.json")
    atomic_write(target, json.dumps(content, indent=4).encode(), durable=True, mode=0o644)
    return target


def scope(config: WorkspaceConfig) -> str:
    return (
        f"/subscriptions/{config.subscription_id}/resourceGroups/{config.resource_group}"
        f"/providers/Microsoft.MachineLearningServices/workspaces/{config.workspace_name}"
    )


def _locations(file_name: Optional[str]) -> Iterator[str]:
    for folder in FOLDERS:
        for name in (file_name,) if file_name else FILE_NAMES:
            yield os.path.join(folder, name)


def _upwards(folder: str) -> Iterator[str]:
    while True:
        yield folder
        parent = os.path.dirname(folder)
        if parent == folder:
            return
        folder = parent


def _scope_of(values: Dict[str, Any], path: str) -> Tuple[str, str, str]:
    if "Scope" in values:
        parts = str(values["Scope"]).split("/")
        if len(parts) < 9 or not (parts[2] and parts[4] and parts[8]):
            raise UserErrorException(
                f"{path}: Scope is {values['Scope']!r}",
                hint="it has the form /subscriptions/…/resourceGroups/…/providers/…/workspaces/…",
            )
        return parts[2], parts[4], parts[8]
    missing = [key for key in _KEYS if not values.get(key)]
    if missing:
        raise UserErrorException(f"{path} lacks {', '.join(missing)}", hint=MAKE_ONE)
    subscription_id, resource_group, name = (str(values[key]) for key in _KEYS)
    return subscription_id, resource_group, name


def _folder_to_write(path: str) -> str:
    if os.path.basename(path) in (".azureml", "aml_config"):
        return path
    old = os.path.join(path, "aml_config")
    return old if os.path.isdir(old) else os.path.join(path, ".azureml")
