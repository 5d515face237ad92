"""The endpoints: each one parses, makes one service call, and returns."""

from __future__ import annotations

from fastapi import APIRouter

from footplate.server.routes import (
    blobs,
    computes,
    datasets,
    datastores,
    environments,
    experiments,
    files,
    locks,
    metrics,
    models,
    nodes,
    runs,
    secrets,
    store_files,
    workspaces,
)


def routers() -> list[APIRouter]:
    nouns = (
        workspaces,
        experiments,
        runs,
        files,
        metrics,
        blobs,
        nodes,
        computes,
        models,
        secrets,
        datastores,
        store_files,
        datasets,
        environments,
        locks,
    )
    return [noun.router for noun in nouns]
