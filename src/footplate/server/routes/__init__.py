"""The endpoints, one module per noun with a `router`: each one parses, makes one service call, and returns a model.

`parsing` holds what they share.
"""

from __future__ import annotations

import importlib
import pkgutil

from fastapi import APIRouter


def routers() -> list[APIRouter]:
    """Return the routers, those of agents first: a request is compared with the routes in this order."""
    names = sorted((module.name for module in pkgutil.iter_modules(__path__)), key=lambda name: name != "nodes")
    modules = [importlib.import_module(f"{__name__}.{name}") for name in names]
    return [module.router for module in modules if hasattr(module, "router")]
