"""The functions that MLflow loads by entry point. It loads them while it is imported itself: they import it late."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Optional

from footplate.lazy import Deferred

if TYPE_CHECKING:
    from footplate.sdk import exceptions
    from footplate.sdk.mlflow import addresses, artifacts, registry, tracking
else:
    exceptions = Deferred("footplate.sdk.exceptions")
    addresses = Deferred("footplate.sdk.mlflow.addresses")
    artifacts = Deferred("footplate.sdk.mlflow.artifacts")
    registry = Deferred("footplate.sdk.mlflow.registry")
    tracking = Deferred("footplate.sdk.mlflow.tracking")


def tracking_store(store_uri: str, artifact_uri: Optional[str] = None) -> tracking.TrackingStore:
    return tracking.TrackingStore(store_uri)


def registry_store(store_uri: str, tracking_uri: Optional[str] = None) -> registry.RegistryStore:
    return registry.RegistryStore(store_uri)


def artifact_store(artifact_uri: str, *more: Any, **options: Any) -> artifacts.ArtifactStore:
    """Return the files at an address; newer versions of MLflow pass the addresses of both stores as well."""
    return artifacts.ArtifactStore(artifact_uri, *more, **options)


def get_portal_url(run: Any) -> str:
    """Return the address of a run of MLflow: on one machine a `footplate://` name, otherwise a URL.

    Args:
        run: The run, as `mlflow.active_run()` and `mlflow.get_run(run_id)` return it.

    Returns:
        The address.

    Raises:
        UserErrorException: It is no run of MLflow.

    Example:
        import mlflow

        mlflow.set_tracking_uri(ws.get_mlflow_tracking_uri())
        with mlflow.start_run(experiment_id=experiment.id) as started:
            print(get_portal_url(started))
    """
    info = getattr(run, "info", None)
    if info is None:
        raise exceptions.UserErrorException(f"run is of the type {type(run).__name__}", hint="give a run of MLflow")
    return addresses.open_workspace(info.artifact_uri).get_run(info.run_id).get_portal_url()
