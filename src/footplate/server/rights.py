"""The rights of the API. Each route names one, after its path; this table says who has it, and on what.

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


class Need(Enum):
    """The people who have a right. A role counts in the workspace of the object, or in any for what is in none."""

    ANYONE = "everybody"
    READER = "readers"
    CONTRIBUTOR = "contributors"
    MAKER = "contributors on what they made, owners"
    OWNER = "owners"
    SERVER_OWNER = "owners of the server"
    NOBODY = "nobody"


class Log(Enum):
    """The requests with a right that enter the audit log."""

    NONE = "no"
    PEOPLE = "of people"
    ALL = "all"


class Right(Enum):
    """A right: what it permits, its reach for a run, the people who have it, and whether the audit log has its use."""

    READ_SERVER = ("describe the server, its engines and the curated environments", Reach.ANYTHING, Need.ANYONE)
    MANAGE_SERVER = (
        "stop the server, remove built environments and unused content, test notifications, switch the server's token",
        Reach.NOTHING,
        Need.SERVER_OWNER,
        Log.PEOPLE,
    )
    SIGN_IN = ("begin and end a session of a browser", Reach.NOTHING, Need.ANYONE, Log.PEOPLE)
    READ_TOKENS = ("list one's own tokens; owners of the server list all", Reach.NOTHING, Need.ANYONE)
    MANAGE_TOKENS = (
        "create and revoke one's own tokens; owners of the server do so for all",
        Reach.NOTHING,
        Need.ANYONE,
        Log.PEOPLE,
    )
    READ_PEOPLE = ("list people and the roles that they have everywhere", Reach.NOTHING, Need.SERVER_OWNER)
    MANAGE_PEOPLE = ("add and disable people, assign roles everywhere", Reach.NOTHING, Need.SERVER_OWNER, Log.PEOPLE)
    MANAGE_ROLES = ("assign roles in a workspace", Reach.NOTHING, Need.OWNER, Log.PEOPLE)
    READ_AUDIT = ("read the audit log", Reach.NOTHING, Need.SERVER_OWNER)
    LIST_WORKSPACES = ("list the workspaces that one may read", Reach.ANYTHING, Need.ANYONE)
    CREATE_WORKSPACES = ("create and delete workspaces", Reach.NOTHING, Need.SERVER_OWNER, Log.PEOPLE)
    READ_WORKSPACE = (
        "read experiments, models, datasets, environments, computes, web services without their keys, names of "
        "secrets, datastores without credentials, and who has which role",
        Reach.WORKSPACE,
        Need.READER,
    )
    REGISTER = (
        "create experiments, register and tag models and datasets, change resources and options of its own models",
        Reach.WORKSPACE,
        Need.CONTRIBUTOR,
        Log.PEOPLE,
    )
    REGISTER_ENVIRONMENTS = ("register and label environments", Reach.NOTHING, Need.CONTRIBUTOR, Log.PEOPLE)
    CHANGE_WORKSPACE = (
        "change datastores and computes, archive experiments, delete models, datasets and experiments",
        Reach.NOTHING,
        Need.OWNER,
        Log.PEOPLE,
    )
    CHANGE_VIEWS = ("save and delete views of the table of runs", Reach.NOTHING, Need.CONTRIBUTOR)
    DEPLOY_SERVICES = ("deploy web services", Reach.NOTHING, Need.CONTRIBUTOR, Log.PEOPLE)
    MANAGE_SERVICES = ("change and delete web services, read their keys", Reach.NOTHING, Need.MAKER, Log.PEOPLE)
    READ_SECRETS = ("read secrets", Reach.WORKSPACE, Need.CONTRIBUTOR, Log.ALL)
    WRITE_SECRETS = ("set and delete secrets", Reach.NOTHING, Need.OWNER, Log.PEOPLE)
    READ_ALL_CREDENTIALS = ("read the credentials of any datastore", Reach.NOTHING, Need.CONTRIBUTOR, Log.PEOPLE)
    READ_CREDENTIALS = ("read the credentials of a run's datastores", Reach.ITSELF, Need.MAKER, Log.PEOPLE)
    READ_STORE_FILES = ("read files of built-in datastores through the server", Reach.STORES, Need.READER)
    WRITE_STORE_FILES = ("write files of built-in datastores through the server", Reach.STORES, Need.CONTRIBUTOR)
    RESOLVE_ENVIRONMENTS = ("resolve and build environments on the server", Reach.NOTHING, Need.CONTRIBUTOR)
    SUBMIT_RUNS = (
        "submit runs that use nothing which the submitter may not use",
        Reach.WORKSPACE,
        Need.CONTRIBUTOR,
        Log.ALL,
    )
    READ_RUNS = ("read runs with their metrics, logs and files", Reach.WORKSPACE_RUNS, Need.READER)
    LOG_RUNS = ("log metrics, add files and warnings, send heartbeats", Reach.FAMILY, Need.MAKER)
    CHANGE_RUNS = ("tag, rename, archive, cancel, restart and end runs", Reach.FAMILY, Need.MAKER, Log.PEOPLE)
    DELETE_RUNS = ("delete runs", Reach.NOTHING, Need.MAKER, Log.PEOPLE)
    SERVE_AS_NODE = ("receive orders and report as a node agent", Reach.ITSELF, Need.NOBODY)
    FETCH_AGENT = ("fetch the programs of node agents", Reach.ANYTHING, Need.ANYONE)
    STORE_BLOBS = ("store content, and ask which content the server lacks", Reach.ANYTHING, Need.CONTRIBUTOR)
    READ_BLOBS = ("read content by its digest", Reach.ANYTHING, Need.READER)

    def __init__(self, meaning: str, reach: Reach, need: Need, log: Log = Log.NONE) -> None:
        self.meaning = meaning
        self.reach = reach
        self.need = need
        self.log = log


def require(right: Right, endpoint: Callable[..., Any]) -> None:
    """Declare the right that an endpoint requires."""
    setattr(endpoint, _ATTRIBUTE, right)


def right_of(endpoint: Callable[..., Any]) -> Right:
    right = getattr(endpoint, _ATTRIBUTE, None)
    if right is None:
        raise TypeError(f"{endpoint.__module__}.{endpoint.__name__} names no right: declare it with a Router")
    return right
