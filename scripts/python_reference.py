"""The generated pages about the Python API: its classes, and the names of Azure's SDK that work."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
from collections.abc import Iterator

import azureml
from footplate.cli.azureml.differences import DIFFERENCES
from footplate.cli.azureml.usage import share, symbols, why_missing

PYTHON_HEAD = """# Python

`make docs` generates this page from the signatures and docstrings of the SDK. The names are those of
Azure ML SDK v1; [names of Azure ML](azureml.md) lists the ones that public code uses.

"""
AZUREML_HEAD = """# Names of Azure ML

`make docs` generates this page. It lists the names of Azure ML SDK v1 that public code uses, with the
number of files that use each, from the most to the least used. {share:.1%} of all uses work.
`footplate azureml check PATH` reports about your own code, line by line.

| name | files | here |
|---|---|---|
"""


def python_page(_: str) -> str:
    parts = [PYTHON_HEAD]
    for module, classes in sorted(_classes().items()):
        parts.append(f"## {module}\n\n")
        for each in classes:
            parts += _describe_class(each)
    return "".join(parts).rstrip() + "\n"


def azureml_page(_: str) -> str:
    found = [(symbol, why_missing(symbol)) for symbol in symbols()]
    rows = [f"| `{symbol.name}` | {symbol.files} | {_state(symbol.name, why)} |\n" for symbol, why in found]
    return AZUREML_HEAD.format(share=share(found)) + "".join(rows)


def _state(name: str, why: str | None) -> str:
    if why is not None:
        return f"missing: {why.splitlines()[0]}"
    return DIFFERENCES.get(name, "works")


def _classes() -> dict[str, list[type]]:
    """Return the classes of every importable `azureml` module; a class stands where its shortest path is."""
    homes: dict[type, str] = {}
    for name in sorted(_modules(), key=lambda name: (name.count("."), name)):
        try:
            module = importlib.import_module(name)
        except ImportError:  # a part of Azure's SDK that Footplate does not have, and says so
            continue
        for public in getattr(module, "__all__", ()):
            found = getattr(module, public)
            if inspect.isclass(found) and found.__module__.startswith("footplate."):
                homes.setdefault(found, name)
    by_module: dict[str, list[type]] = {}
    for found, name in sorted(homes.items(), key=lambda pair: pair[0].__name__):
        by_module.setdefault(name, []).append(found)
    return by_module


def _modules() -> Iterator[str]:
    for found in pkgutil.walk_packages(azureml.__path__, "azureml.", onerror=lambda _: None):
        if "._" not in found.name:
            yield found.name


def _describe_class(found: type) -> Iterator[str]:
    yield f"### {found.__name__}{_signature(found)}\n\n"
    yield _text(found.__doc__)
    for name, member in _members(found).items():
        function = member.__func__ if isinstance(member, (staticmethod, classmethod)) else member
        if name.startswith("_") or not (inspect.isfunction(function) or isinstance(function, property)):
            continue
        signature = "" if isinstance(function, property) else _signature(function)
        yield f"- `{name}{signature}`{_summary(function.__doc__)}\n"
    yield "\n"


def _members(found: type) -> dict[str, object]:
    """Return the members of a class and of the classes of the SDK that it is made of."""
    made_of = [each for each in reversed(found.__mro__) if each.__module__.startswith("footplate.")]
    return {name: member for each in made_of for name, member in vars(each).items()}


def _signature(found: object) -> str:
    try:
        signature = inspect.signature(found)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        return ""
    names = [_parameter(each) for each in signature.parameters.values() if each.name not in ("self", "cls")]
    return f"({', '.join(name for name in names if name)})"


def _parameter(parameter: inspect.Parameter) -> str:
    if parameter.name.startswith("_"):
        return ""
    prefix = {parameter.VAR_POSITIONAL: "*", parameter.VAR_KEYWORD: "**"}.get(parameter.kind, "")
    default = "" if parameter.default is parameter.empty else f"={parameter.default!r}"
    return f"{prefix}{parameter.name}{default}"


def _text(doc: str | None) -> str:
    return f"{inspect.cleandoc(doc)}\n\n" if doc else ""


def _summary(doc: str | None) -> str:
    return f": {' '.join(inspect.cleandoc(doc).split())}" if doc else ""
