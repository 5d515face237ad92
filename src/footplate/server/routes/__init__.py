"""The endpoints, one module per noun: each one parses, makes one service call, and returns a model.

The nouns are workspaces, experiments, runs, files, metrics, blobs, nodes, computes, models, secrets, datastores,
store_files, datasets, endpoints, environments, locks and notifications.

`parsing` holds what they share. `tests/conformance/test_api_contract.py` checks their description in the OpenAPI
document, and `tests/unit/services/test_get_requests.py` that GET changes nothing; e2e tests send the other requests.
"""

from __future__ import annotations

from fastapi import APIRouter

from footplate.server.routes import (
    blobs,
    computes,
    datasets,
    datastores,
    endpoints,
    environments,
    experiments,
    files,
    locks,
    metrics,
    models,
    nodes,
    notifications,
    runs,
    secrets,
    store_files,
    workspaces,
)


def routers() -> list[APIRouter]:
    """Return the routers, those of agents first: a request is compared with the routes in this order."""
    nouns = (
        nodes,
        workspaces,
        experiments,
        runs,
        files,
        metrics,
        blobs,
        computes,
        models,
        endpoints,
        secrets,
        datastores,
        store_files,
        datasets,
        environments,
        locks,
        notifications,
    )
    return [noun.router for noun in nouns]
