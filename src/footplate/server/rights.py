"""The rights of the API. Each route names one, after its path; this table says how far a run's token reaches.

    @router.get("/workspaces/{workspace}/secrets/{name}", Right.READ_SECRETS, Secret)
    def get_secret(…)

A route without a right cannot be defined. The owner of the server has every right; `docs/reference/rights.md` is made
from this table, and `tests/unit/server/test_rights.py` sends every request as every principal.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum
from typing import Any

_ATTRIBUTE = "__right__"


class Reach(Enum):
    """The objects on which the token of a run grants a right."""

    NOTHING = "nothing"
    ANYTHING = "everything"
    WORKSPACE = "its workspace"
    STORES = "datastores that it names, and those of its workspace without credentials"
    WORKSPACE_RUNS = "the runs of its workspace"
    FAMILY = "itself, its ancestors and its descendants"
    ITSELF = "itself"


class Right(Enum):
    """A right: what it permits, and its reach for a run."""

    READ_SERVER = ("describe the server, its engines and the curated environments", Reach.ANYTHING)
    MANAGE_SERVER = ("stop the server, remove built environments and unused content, test notifications", Reach.NOTHING)
    SIGN_IN = ("begin and end a session of a browser", Reach.NOTHING)
    LIST_WORKSPACES = ("list workspaces", Reach.ANYTHING)
    CREATE_WORKSPACES = ("create and delete workspaces", Reach.NOTHING)
    READ_WORKSPACE = (
        "read experiments, models, datasets, environments, computes, web services without their keys, names of "
        "secrets, and datastores without credentials",
        Reach.WORKSPACE,
    )
    REGISTER = (
        "create experiments, register and tag models and datasets, change resources and options of its own models",
        Reach.WORKSPACE,
    )
    CHANGE_WORKSPACE = (
        "change datastores, computes, environments and saved views, delete runs, models, datasets and experiments",
        Reach.NOTHING,
    )
    MANAGE_SERVICES = ("deploy, change and delete web services, read their keys", Reach.NOTHING)
    READ_SECRETS = ("read secrets", Reach.WORKSPACE)
    WRITE_SECRETS = ("set and delete secrets", Reach.NOTHING)
    READ_ALL_CREDENTIALS = ("read the credentials of any datastore", Reach.NOTHING)
    READ_CREDENTIALS = ("read the credentials of a run's datastores", Reach.ITSELF)
    USE_STORE_FILES = ("read and write files of built-in datastores through the server", Reach.STORES)
    RESOLVE_ENVIRONMENTS = ("resolve and build environments on the server", Reach.NOTHING)
    SUBMIT_RUNS = ("submit runs that use nothing which the submitter may not use", Reach.WORKSPACE)
    READ_RUNS = ("read runs with their metrics, logs and files", Reach.WORKSPACE_RUNS)
    CHANGE_RUNS = ("log metrics, add files and tags, cancel, restart and end runs", Reach.FAMILY)
    SERVE_AS_NODE = ("receive orders and report as a node agent", Reach.ITSELF)
    FETCH_AGENT = ("fetch the programs of node agents", Reach.ANYTHING)
    USE_BLOBS = ("store content, and read content by its digest", Reach.ANYTHING)

    def __init__(self, meaning: str, reach: Reach) -> None:
        self.meaning = meaning
        self.reach = reach


def require(right: Right, endpoint: Callable[..., Any]) -> None:
    """Declare the right that an endpoint requires."""
    setattr(endpoint, _ATTRIBUTE, right)


def right_of(endpoint: Callable[..., Any]) -> Right:
    right = getattr(endpoint, _ATTRIBUTE, None)
    if right is None:
        raise TypeError(f"{endpoint.__module__}.{endpoint.__name__} names no right: declare it with a Router")
    return right
