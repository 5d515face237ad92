"""The contents of environment locks, and the differences between two locks. Pure."""

from __future__ import annotations

import hashlib
import json
import re
from typing import Dict, List, Optional

from footplate.domain.node_kinds import NODE, describe
from footplate.domain.orders import Lock
from footplate.domain.values import Value

_PIN = r"([A-Za-z0-9][A-Za-z0-9._-]*)(?:\[[^\]]*\])?\s*(?:==\s*([^\s;\\]+)|@\s*(\S+))"

AZUREML = "azureml"
"""Key of a lock's content: name → version of the azureml packages that the requirements pin."""

MLFLOW = "azureml-mlflow"
"""The package by which an environment requests MLflow's variables in its jobs."""

MPI = "mpi"
"""Key of the content of an existing interpreter's lock: the content of an environment that brings Open MPI."""

TENSORFLOW1 = "tensorflow1"
"""Key of a lock's content: whether TensorFlow 2 takes the place of version 1, and `import tensorflow` gives its
`compat.v1`."""


class Change(Value):
    """One difference. `before` or `after` is null if only the other lock has the package."""

    what: str
    before: Optional[str]
    after: Optional[str]


def packages(lock: Lock) -> Dict[str, str]:
    """Return name → version, or the address that the package comes from."""
    versions = {str(one["name"]): str(one["version"]) for one in lock.content.get("packages") or ()}
    for line in str(lock.content.get("requirements") or "").splitlines():
        pin = re.match(_PIN, line)
        if pin:
            versions[re.sub(r"[-_.]+", "-", pin.group(1)).lower()] = pin.group(2) or pin.group(3)
    for recipe in lock.content.get("recipes") or ():
        versions[str(recipe["name"])] = str(recipe["version"])
    return versions


def image_name(lock: Lock) -> str:
    """Return the name of the image of a container's lock.

    It depends on the contents, not on how containers are started.
    """
    content = {key: value for key, value in lock.content.items() if key != "start"}
    return f"localhost/footplate:{hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()}"


def diff(before: Lock, after: Lock) -> List[Change]:
    """Return the differences, the interpreter first, then packages by name. Locks of the same digest have none."""
    about_before, about_after = _about(before), _about(after)
    mine, other = packages(before), packages(after)
    changes = [Change(what, about_before[what], about_after[what]) for what in about_before]
    changes += [Change(name, mine.get(name), other.get(name)) for name in sorted({*mine, *other})]
    return [change for change in changes if change.before != change.after]


def _about(lock: Lock) -> Dict[str, Optional[str]]:
    names = ("python", "interpreter", "platform")
    facts: Dict[str, Optional[str]] = {"(builder)": lock.builder}
    for name in names:
        value = lock.content.get(name)
        facts[f"({name})"] = None if value is None else str(value)
    node = lock.content.get(NODE)
    facts["(made for)"] = None if node is None else describe(node)
    return facts
