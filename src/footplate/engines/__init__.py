"""Engines by name, loaded when first asked for: name → module and class, and the words to show when it is missing."""

from __future__ import annotations

import importlib

from footplate.domain.shapes import Shape
from footplate.engines.base import Engine
from footplate.engines.host_shape import machine_shape
from footplate.errors import InvalidInput

_REGISTRY = {
    "local": ("footplate.engines.local", "LocalEngine"),
}


def node_shape(name: str) -> Shape | None:
    """What every node of this engine has; None when that is known only where they start."""
    return machine_shape() if name == "local" else None


def load(name: str) -> Engine:
    if name not in _REGISTRY:
        raise InvalidInput(f"there is no engine {name!r}", f"the engines are {', '.join(sorted(_REGISTRY))}")
    module, attribute = _REGISTRY[name]
    return getattr(importlib.import_module(module), attribute)()
