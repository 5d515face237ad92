"""Modules and names that are loaded when they are first asked for: `import` stays quick however much there is."""

from __future__ import annotations

import importlib
import sys

TYPE_CHECKING = False  # and not typing's own: loading typing would cost more than all the rest here
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any


class Deferred:
    """Stands for a module, which is loaded when something in it is first asked for."""

    def __init__(self, module: str) -> None:
        self._module = module

    def __getattr__(self, name: str) -> Any:
        return getattr(importlib.import_module(self._module), name)


def lazily(
    module: str, names: Mapping[str, str], modules: tuple[str, ...] = ()
) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """`__getattr__` and `__dir__` for `module`; `names` tells where each public name is defined.

    `modules` are those below `module` that may be named without an import of their own.
    """

    def load(name: str) -> Any:
        if name in modules:
            return importlib.import_module(f"{module}.{name}")
        if name not in names:
            raise AttributeError(f"module {module!r} has no attribute {name!r}")
        value = getattr(importlib.import_module(names[name]), name)
        setattr(sys.modules[module], name, value)
        return value

    def listing() -> list[str]:
        return sorted({*vars(sys.modules[module]), *names, *modules})

    return load, listing
