"""What this tracking server is and can do."""

from __future__ import annotations

from footplate.server.mlflow.call import Call, Json

VERSION = "3.18.0"
"""The version of MLflow whose protocol the routes speak."""


def server_info(call: Call) -> Json:
    return {
        "store_type": "SqlStore",
        "workspaces_enabled": call.is_root,
        "trace_archival_enabled": False,
        "multipart_uploads_enabled": True,
        "multipart_downloads_enabled": True,
        "artifact_serving_enabled": True,
        "presigned_upload_run_id_supported": False,
        "presigned_upload_model_id_supported": False,
        "model_artifact_presigned_downloads_supported": False,
        "features_enabled": {"gateway": False, "scheduled_issue_detection": False},
        "tracking_auth": None,
        "artifacts_presigned_only": False,
    }


def workspaces(call: Call) -> Json:
    views = call.services.workspaces.find(None, None, None)
    readable = [view for view in views if call.principal.may_read(view.id)]
    return {"workspaces": [{"name": view.name, "description": view.friendly_name or ""} for view in readable]}
