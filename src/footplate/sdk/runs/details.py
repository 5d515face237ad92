"""Descriptions of a run in Azure's format: `get_details`, its error, its table in a notebook, its stacks."""

from __future__ import annotations

import json
import logging
import os
import time
import traceback
from pathlib import Path
from typing import Any, Dict, List, Optional, Union

from footplate.api.links import file_link
from footplate.content.blobs import BlobFolder
from footplate.domain.orders import Cause, DataInput
from footplate.domain.records import FileView, RunView
from footplate.domain.stacks import ProcessStacks
from footplate.sdk.exceptions import ActivityFailedException, AzureMLException, UserErrorException
from footplate.sdk.session import Session
from footplate.sdk.values.timestamps import utc_text

LOG_FOLDERS = ("azureml-logs/", "user_logs/", "system_logs/", "logs/")


def details(session: Session, view: RunView) -> Dict[str, Any]:
    described = _base(view)
    described["outputDatasets"] = _written(session, view)
    described["logFiles"] = {file.path: _address(session, view.id, file) for file in _logs(session, view.id)}
    return described


def _address(session: Session, run_id: str, file: FileView) -> str:
    """Return an address that a browser or `urllib` can read: a file on one machine, a signed link in a team."""
    if session.is_local:
        logs = os.path.join(session.info.home, "runs", run_id, "logs", *file.path.split("/"))
        path = BlobFolder(session.blob_folder).path(file.digest) if file.digest and session.blob_folder else logs
        return Path(path).as_uri()
    secret, token_id = session.link_signer
    return file_link(session.endpoint, run_id, file.path, secret, token_id=token_id)


def details_with_logs(session: Session, view: RunView) -> Dict[str, Any]:
    """Return the details with the contents of the logs instead of their addresses."""
    described = _base(view)
    logs = {file.path: b"".join(session.api.files.read(view.id, file.path)) for file in _logs(session, view.id)}
    described["logFiles"] = {name: content.decode("utf-8", "replace") for name, content in logs.items()}
    return described


def _logs(session: Session, run_id: str) -> List[FileView]:
    return [file for file in session.api.files.list(run_id) if file.path.startswith(LOG_FOLDERS)]


def detailed_status(view: RunView) -> Dict[str, Any]:
    """Return the status and the reason for it."""
    words: List[str] = []
    if view.waiting is not None:
        place = f"position {view.waiting.position}: " if view.waiting.position else ""
        words.append(f"{place}{view.waiting.reason}")
    words += [f"node {node.index}: {node.message}" for node in view.nodes if node.message]
    if view.outcome is not None and view.outcome.cause is not None:
        words.append(view.outcome.cause.message)
    return {"status": view.status, "details": "; ".join(words)}


def failure(view: RunView, described: Dict[str, Any]) -> ActivityFailedException:
    """Return the exception that waiting for a failed run raises: one sentence, then the error as JSON."""
    cause = view.outcome.cause if view.outcome else None
    sentence = cause.message if cause else "the run failed"
    error = described.get("error")
    text = f"Activity Failed: {sentence}\n{json.dumps(error, indent=4)}"
    hint = (cause.hint if cause else None) or f"see its output with: footplate runs logs {view.id}"
    return ActivityFailedException(text, error_details=error, hint=hint)


def failure_cause(error: Union[str, BaseException, None], code: Optional[str]) -> Cause:
    if error is None:
        return Cause(code or "UserError", "marked as failed by the user")
    if isinstance(error, str):
        return Cause(code or "UserError", error)
    if isinstance(error, BaseException):  # pyright: ignore[reportUnnecessaryIsInstance]
        return _cause_of(error, code)
    raise TypeError(f"error_details is a string or an exception, not {error!r}")


def _cause_of(error: BaseException, code: Optional[str]) -> Cause:
    """Describe an exception of this process as the cause of a failure."""
    kind = type(error).__name__
    words = str(getattr(error, "message_with_hint", error))
    lines = traceback.format_exception(type(error), error, error.__traceback__)
    return Cause(
        code or "UserError",
        f"{kind}: {words}" if words else kind,
        exception=kind,
        exception_message=words,
        traceback="".join(lines),
    )


def _base(view: RunView) -> Dict[str, Any]:
    described: Dict[str, Any] = {
        "runId": view.id,
        "target": view.target,
        "status": view.status,
        "startTimeUtc": utc_text(view.started),
        "services": {},
        "warnings": [{"source": "Footplate", "message": message} for message in view.warnings],
        "properties": dict(view.properties),
        "inputDatasets": [_input(each) for each in view.spec.inputs if each.dataset] if view.spec else [],
        "outputDatasets": [],
        "runDefinition": dict(view.spec.definition) if view.spec else {},
        "logFiles": {},
        "submittedBy": view.created_by,
    }
    if view.ended is not None:
        described["endTimeUtc"] = utc_text(view.ended)
    cause = view.outcome.cause if view.outcome else None
    if cause is not None and view.outcome is not None and view.outcome.kind == "failed":
        described["error"] = {"error": _error(cause), "time": utc_text(view.ended)}
    return described


def _input(each: DataInput) -> Dict[str, Any]:
    mechanism = {"inputName": each.name, "mechanism": each.mode.capitalize()}
    return {"dataset": {"id": each.dataset}, "consumptionDetails": dict(mechanism, type="RunInput")}


def _written(session: Session, view: RunView) -> List[Dict[str, Any]]:
    """Return the datasets that a run with registered outputs wrote."""
    if view.spec is None or not any(each.register for each in view.spec.outputs):
        return []
    uses = [use for use in session.api.datasets.of_run(view.id) if use.role == "wrote" and use.dataset_name]
    return [
        {
            "identifier": {"savedId": use.dataset, "registeredId": f"{use.dataset_name}:{use.version}"},
            "outputType": "RunOutput",
            "outputDetails": {"outputName": use.name},
        }
        for use in uses
    ]


def _error(cause: Cause) -> Dict[str, Any]:
    """Return the error without fields that are unknown."""
    entries: Dict[str, Any] = {
        "code": cause.code,
        "message": cause.message,
        "hint": cause.hint,
        "node": cause.node,
        "rank": cause.rank,
        "exitCode": cause.exit_code,
        "signal": cause.signal,
        "lastLines": list(cause.last_lines) or None,
    }
    if cause.exception:
        entries["debugInfo"] = {
            "type": cause.exception,
            "message": cause.exception_message,
            "stackTrace": cause.traceback,
        }
    return {key: value for key, value in entries.items() if value is not None}


_WAIT = 10.0
_log = logging.getLogger(__name__)


def ask(session: Session, run_id: str, timeout: float) -> List[ProcessStacks]:
    """Return the answers of all nodes, or after `timeout` those that arrived; raise if there are none."""
    if not 0 <= timeout < float("inf"):
        raise UserErrorException(f"the timeout is {timeout:g}", hint="give a number of seconds, 0 or more")
    key = os.urandom(8).hex()
    deadline = time.monotonic() + timeout
    while True:
        wait = max(0.0, min(_WAIT, deadline - time.monotonic()))
        stacks = session.api.runs.stacks(run_id, key, wait)
        if not stacks.missing:
            return list(stacks.processes)
        if time.monotonic() >= deadline:
            break
    nodes = ", ".join(str(node) for node in stacks.missing)
    if not stacks.processes:
        raise AzureMLException(
            f"no node of run {run_id} answered within {timeout:g} seconds (nodes: {nodes})",
            hint="a swapping node may need longer: increase timeout_seconds",
        )
    _log.warning("nodes %s of run %s did not answer within %g seconds", nodes, run_id, timeout)
    return list(stacks.processes)
