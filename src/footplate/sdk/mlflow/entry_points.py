"""The functions that MLflow loads by entry point. It loads them while it is imported itself: they import it late."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Optional

if TYPE_CHECKING:
    from footplate.sdk.mlflow.artifacts import ArtifactStore
    from footplate.sdk.mlflow.registry import RegistryStore
    from footplate.sdk.mlflow.tracking import TrackingStore


def tracking_store(store_uri: str, artifact_uri: Optional[str] = None) -> TrackingStore:
    from footplate.sdk.mlflow.tracking import TrackingStore  # noqa: PLC0415  # imports MLflow, which is importing this

    return TrackingStore(store_uri)


def registry_store(store_uri: str, tracking_uri: Optional[str] = None) -> RegistryStore:
    from footplate.sdk.mlflow.registry import RegistryStore  # noqa: PLC0415  # as above

    return RegistryStore(store_uri)


def artifact_store(artifact_uri: str, *more: Any, **options: Any) -> ArtifactStore:
    """Return the files at an address; newer versions of MLflow pass the addresses of both stores as well."""
    from footplate.sdk.mlflow.artifacts import ArtifactStore  # noqa: PLC0415  # as above

    return ArtifactStore(artifact_uri, *more, **options)


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
    # 30 ms, and MLflow loads this module early:
    from footplate.sdk.exceptions import UserErrorException  # noqa: PLC0415
    from footplate.sdk.mlflow.addresses import open_workspace  # noqa: PLC0415

    info = getattr(run, "info", None)
    if info is None:
        raise UserErrorException(f"run is of the type {type(run).__name__}", hint="give a run of MLflow")
    return open_workspace(info.artifact_uri).get_run(info.run_id).get_portal_url()
