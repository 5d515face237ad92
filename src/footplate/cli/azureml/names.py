"""The meaning of an Azure name here. The truth is our own modules: they are imported, and their signatures are read.

`DIFFERENCES`: uses that work, but in another way than on Azure. Keys are the names that `checker` reports, or a keyword
of one.
"""

from __future__ import annotations

import ast
import collections.abc
import functools
import importlib
import inspect
import pkgutil
import textwrap
import typing
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from types import FunctionType, MethodType, ModuleType
from typing import Any

from footplate import sdk
from footplate.sdk.exceptions import AzureMLException

# `Experiment.submit` may return the classes of this module.
from footplate.sdk.pipelines import pipeline_run  # noqa: F401  # pyright: ignore[reportUnusedImport]
from footplate.sdk.run import Run
from footplate.sdk.unsupported import PARTS
from footplate.sdk.values.checked_attributes import nearest

_TOKEN = "accepted and ignored; a team server reads its token from FOOTPLATE_TOKEN"
_NETWORK = "accepted and ignored: the nodes are your own machines"
_RESOURCE = "accepted and ignored: Footplate uses no Azure resources"
_SERVICES = "web services run on the server's machine"

DIFFERENCES = {
    "AbstractAuthentication": _TOKEN,
    "ArmTokenAuthentication": _TOKEN,
    "AzureCliAuthentication": _TOKEN,
    "InteractiveLoginAuthentication": _TOKEN,
    "MsiAuthentication": _TOKEN,
    "ServicePrincipalAuthentication": _TOKEN,
    "TokenAuthentication": _TOKEN,
    "AksCompute.attach_configuration": _SERVICES,
    "AksCompute.provisioning_configuration": _SERVICES,
    "AksConfiguration.enable_ssl": "does nothing: each service has its own certificate, in its deploy_configuration",
    "AmlCompute.provisioning_configuration": "a cluster limits how many nodes of your own machines run at once",
    "ComputeInstance.provisioning_configuration": "a cluster of one node, which is always on",
    "ComputeInstance.start": "does nothing: the machine is your own",
    "ComputeInstance.stop": "does nothing: the machine is your own",
    "ComputeTarget.attach": "adds a cluster on an engine of the server, such as a Slurm partition",
    "set_diagnostics_collection": "does nothing: Footplate collects no telemetry",
    "RunDetails.show": "shows the run once, and does not follow it",
    "Workspace.create": "creates a workspace of this server, in no cloud",
    "Datastore.register_azure_sql_database": "needs the ODBC driver of the database on the nodes",
}
"""Name of a class, function or method → what is different here."""

IGNORED_KEYWORDS: dict[str, dict[str, str]] = {
    "AmlCompute.provisioning_configuration": {
        **dict.fromkeys(
            (
                "admin_username", "admin_user_password", "admin_user_ssh_key", "vnet_resourcegroup_name", "vnet_name",
                "subnet_name", "remote_login_port_public_access", "identity_type", "identity_id", "location",
                "enable_node_public_ip",
            ),
            _NETWORK,
        ),
    },
    "Workspace.create": dict.fromkeys(
        (
            "storage_account", "key_vault", "app_insights", "container_registry", "adb_workspace", "cmk_keyvault",
            "resource_cmk_uri", "hbi_workspace", "private_endpoint_config", "sku", "create_resource_group",
        ),
        _RESOURCE,
    ),
}  # fmt: skip
"""Name of a method → its keywords that change nothing here."""

METHODS_OF_OTHER_RUNS = {
    "azureml.train.automl": "get_output get_best_child get_guardrails get_run_sdk_dependencies summarize",
}
"""Module → methods of its runs. `Experiment.submit` returns them on Azure, so that they look like methods of Run."""

KEYWORDS_OF_OTHER_PARTS = {
    "Experiment.submit": {
        "show_output": "azureml.train.automl",
    },
}
"""Name of a method with other keywords → its keywords that only other parts of Azure's SDK accept, and these parts."""


ROOT = "azureml"


class Missing(Exception):
    """A name that Footplate does not have. The text says what is missing, `hint` what to do instead."""

    def __init__(self, text: str, hint: str = "") -> None:
        super().__init__(text)
        self.hint = hint


@dataclass(frozen=True)
class Thing:
    """A module, a class or a function; or, as `instance`, an object whose class or annotation is known."""

    target: Any
    name: str
    is_instance: bool = False


def module(name: str) -> Thing:
    """Import a module of Azure's SDK. Raises Missing."""
    try:
        return Thing(importlib.import_module(name), name)
    except ImportError as error:
        text, _, hint = str(error).partition("\nhint: ")
        if error.name and not name.startswith(str(error.name)):
            text = f"{name} cannot be imported here: {error}"  # a package that it needs is not installed
        raise Missing(text if hint else f"there is no module {name}", hint or _near_module(name)) from None


def _near_module(name: str) -> str:
    parent, _, last = name.rpartition(".")
    try:
        path = list(importlib.import_module(parent).__path__) if parent else []
    except (ImportError, AttributeError):
        return ""
    return nearest(last, [info.name for info in pkgutil.iter_modules(path)])


def member(owner: Thing, name: str) -> Thing | None:
    """Return an attribute; None if nothing is known about it. Raises Missing."""
    if isinstance(owner.target, ModuleType):
        return _of_module(owner, name)
    kind = _class_of(owner)
    if kind is None or not kind.__module__.startswith("footplate."):
        return None
    label = f"{owner.name}.{name}"
    others = _of_other_runs(kind, name)
    if others:
        raise Missing(f"{kind.__name__} has no {name}", others)
    owners = [each for each in _relatives(kind) if name in vars(each) or name in _assigned(each)]
    possible = [each for each in owners if each is owners[0] or each not in kind.__mro__]
    things = [_member_of(each, name, kind, label, owner.is_instance) for each in possible]
    if things:
        return things[0] if _have_one_type(things) else Thing(object(), label, True)
    if name.startswith("__") or any("__getattr__" in vars(each) for each in kind.__mro__):
        return None
    names = {key for each in _relatives(kind) for key in (*vars(each), *_assigned(each)) if not key.startswith("_")}
    raise Missing(f"{kind.__name__} has no {name}", nearest(name, names))


def _of_other_runs(kind: type, name: str) -> str:
    """Return a hint if the runs of automated machine learning have this method."""
    for part, methods in METHODS_OF_OTHER_RUNS.items():
        if name in methods.split() and kind is Run:
            return f"runs of {part} have it, which Footplate does not: {PARTS[part][1]}"
    return ""


def _member_of(kind: type, name: str, of: type, label: str, of_instance: bool) -> Thing | None:
    if name in vars(kind):
        return _of_value(vars(kind)[name], of, label, of_instance)
    return _from_annotation(_assigned(kind)[name], kind, label)


def _have_one_type(things: list[Thing | None]) -> bool:
    """Return whether an attribute has one type: a list of a class may be a dictionary of its subclass."""
    kinds = {_class_of(each) for each in things if each is not None and each.is_instance}
    classes = [kind for kind in kinds if kind is not None]
    return all(issubclass(one, classes[0]) or issubclass(classes[0], one) for one in classes)


def _of_module(owner: Thing, name: str) -> Thing | None:
    label = f"{owner.name}.{name}"
    if hasattr(owner.target, name):
        return Thing(getattr(owner.target, name), label)
    path = list(getattr(owner.target, "__path__", ()))
    if name in {info.name for info in pkgutil.iter_modules(path)}:
        return module(label)
    raise Missing(f"{owner.name} has no {name}", nearest(name, dir(owner.target)))


def _of_value(value: Any, kind: type, label: str, of_instance: bool) -> Thing | None:
    if type(value) in (staticmethod, classmethod):
        return Thing(value.__get__(None, kind), label)
    if isinstance(value, (property, functools.cached_property)):
        getter = value.fget if isinstance(value, property) else value.func
        return _result_of(getter, label) if of_instance else None
    if isinstance(value, (FunctionType, type)):
        return Thing(value, label)
    return Thing(type(value), label, True)


def call(function: Thing, name: str) -> Thing | None:
    """Return the result of a call; None if nothing is known about it. Raises Missing for one that always fails."""
    if function.is_instance:
        return None
    if isinstance(function.target, type):
        constructor = vars(function.target).get("__new__")
        return _result_of(constructor, name) if constructor else Thing(function.target, name, True)
    if not isinstance(function.target, (FunctionType, MethodType)):
        return None
    if function.target.__annotations__.get("return") == "NoReturn":
        raise Missing(*_refusal(function.target))
    return _result_of(function.target, name)


def _refusal(function: Callable[..., typing.NoReturn]) -> tuple[str, str]:
    """Return message and hint of a function that does nothing but raise them."""
    parameters = inspect.signature(function).parameters.values()
    count = sum(each.kind is each.POSITIONAL_OR_KEYWORD and each.default is each.empty for each in parameters)
    try:
        function(*["…"] * count)
    except AzureMLException as error:
        return error.message, error.hint or ""


def parameters(function: Thing) -> Mapping[str, inspect.Parameter] | None:
    """Return the parameters of a call, without `self` and `cls`; None if they are not known."""
    if function.is_instance or not callable(function.target):
        return None
    if not str(getattr(function.target, "__module__", "")).startswith("footplate."):
        return None
    try:
        parameters = dict(inspect.signature(function.target).parameters)
    except (TypeError, ValueError):
        return None
    first = next(iter(parameters), "")
    if first in ("self", "cls") and not isinstance(function.target, type):
        del parameters[first]
    return parameters


def unknown_parameter(name: str, word: str, parameters: Mapping[str, inspect.Parameter]) -> Missing | None:
    """Return why a call does not accept a keyword; None if it does. `known` has the parameters of the call."""
    part = KEYWORDS_OF_OTHER_PARTS.get(name, {}).get(word)
    if part:
        return Missing(f"{name} has no parameter {word}", f"it belongs to {part}: {PARTS[part][1]}")
    if word in parameters or any(each.kind is each.VAR_KEYWORD for each in parameters.values()):
        return None
    return Missing(f"{name} has no parameter {word}", nearest(word, parameters))


def element(container: Thing, of_loop: bool) -> Thing | None:
    """Return an element of a container: what `[…]` gives, or what a loop gives."""
    kinds, origin = typing.get_args(container.target), typing.get_origin(container.target)
    if not isinstance(origin, type) or not kinds:
        return None
    if issubclass(origin, collections.abc.Mapping):
        return None if of_loop else _instance(kinds[-1], f"{container.name}[…]")
    return _instance(kinds[0], f"{container.name}[…]")


def annotation(text: str, where: ModuleType | None, label: str) -> Thing | None:
    """Return an instance of what an annotation names; None if it cannot be read."""
    namespace = {**vars(typing), **_classes(), **(vars(where) if where else {})}
    try:
        value = eval(text, namespace)  # our own annotations
    except Exception:  # an annotation under TYPE_CHECKING with names of the standard library
        return None
    return _instance(value, label)


def _instance(value: Any, label: str) -> Thing | None:
    chosen = [kind for kind in typing.get_args(value) if kind is not type(None)]
    if typing.get_origin(value) is typing.Union:
        return _instance(chosen[0], label) if len(chosen) == 1 else None
    if isinstance(value, str):
        return annotation(value, None, label)
    if value in (Any, None) or isinstance(value, typing.TypeVar):
        return None
    return Thing(value, label, True)


def _result_of(function: Any, label: str) -> Thing | None:
    function = getattr(function, "__func__", function)
    text = getattr(function, "__annotations__", {}).get("return")
    return annotation(text, inspect.getmodule(function), label) if isinstance(text, str) else None


def _from_annotation(text: str, kind: type, label: str) -> Thing | None:
    return annotation(text, inspect.getmodule(kind), label) if text else None


def _class_of(thing: Thing) -> type | None:
    target = typing.get_origin(thing.target) or thing.target
    return target if isinstance(target, type) else None


@functools.cache
def _relatives(kind: type) -> list[type]:
    """Return the class, its bases and its subclasses: ComputeTarget(…) may return an AmlCompute."""
    kinds = [each for each in kind.__mro__ if each.__module__.startswith("footplate.")]
    todo = [kind]
    while todo:
        below = todo.pop().__subclasses__()
        kinds += below
        todo += below
    return kinds


@functools.cache
def _assigned(kind: type) -> dict[str, str]:
    """Return the attributes that methods of a class assign to `self`, or that it declares, with their annotations."""
    annotations = {name: str(text) for name, text in vars(kind).get("__annotations__", {}).items()}
    try:
        body = ast.parse(textwrap.dedent(inspect.getsource(kind)))
    except (OSError, TypeError, SyntaxError):
        return annotations
    for target, text in _targets(body):
        if isinstance(target, ast.Attribute) and isinstance(target.value, ast.Name) and target.value.id == "self":
            annotations.setdefault(target.attr, text)
    return annotations


def _targets(body: ast.AST) -> Iterator[tuple[ast.expr, str]]:
    for node in ast.walk(body):
        if isinstance(node, ast.AnnAssign):
            yield node.target, ast.unparse(node.annotation)
        elif isinstance(node, ast.Assign):
            function = node.value.func if isinstance(node.value, ast.Call) else None
            text = function.id if isinstance(function, ast.Name) else ""
            for target in node.targets:
                for each in target.elts if isinstance(target, ast.Tuple) else [target]:
                    yield each, text


@functools.cache
def _classes() -> dict[str, type]:
    """Return the classes of the SDK by name: annotations name classes that their modules import for type checkers."""
    classes: dict[str, type] = {}
    for info in pkgutil.walk_packages(sdk.__path__, f"{sdk.__name__}."):
        try:
            module = importlib.import_module(info.name)
        except ModuleNotFoundError as error:
            if (error.name or "").startswith("footplate"):
                raise
            continue  # it needs a library that is not installed, such as MLflow
        for name, value in vars(module).items():
            if isinstance(value, type) and value.__module__ == info.name:
                classes.setdefault(name, value)
    return classes
