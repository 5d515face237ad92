"""Names and modules that are imported when they are first used, so that `import` stays fast however much there is.

`Deferred` is for modules that a script, a job or an agent waits for. The functions are for public packages, whose names
(`footplate.Run`) and submodules (`azureml.core.runconfig`) people use without importing them.
`tests/processes/test_import_counts.py` measures it; everywhere else, imports are plain.
"""

from __future__ import annotations

import importlib
import sys

TYPE_CHECKING = False  # not typing's own: importing typing takes 8 ms, more than everything else here
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any


class Deferred:
    """A stand-in for a module, which it imports when one of the module's names is first used."""

    def __init__(self, module: str) -> None:
        self._module = module

    def __getattr__(self, name: str) -> Any:
        return getattr(importlib.import_module(self._module), name)


def lazy_names(
    package: str, names: Mapping[str, str], modules: tuple[str, ...] = ()
) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """Return `__getattr__` and `__dir__` for `package`; `names` maps each public name to the module that defines it.

    `modules` are submodules that callers may use without importing them.
    """

    def load(name: str) -> Any:
        if name in modules:
            return importlib.import_module(f"{package}.{name}")
        if name not in names:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        value = getattr(importlib.import_module(names[name]), name)
        setattr(sys.modules[package], name, value)
        return value

    def listing() -> list[str]:
        return sorted({*vars(sys.modules[package]), *names, *modules})

    return load, listing


def offer_submodules(namespace: str, modules: tuple[str, ...]) -> None:
    """Let callers use these submodules of a namespace package, which has no file of its own, without importing them."""
    load, listing = lazy_names(namespace, {}, modules)
    vars(sys.modules[namespace]).update(__getattr__=load, __dir__=listing)
