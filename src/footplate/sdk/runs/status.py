"""The states of a run, in the order of Azure's transitions."""

from __future__ import annotations

from typing import Tuple

from footplate.domain.runs.run_status import TERMINAL


class RunStatus:
    QUEUED = "Queued"
    NOT_STARTED = "NotStarted"
    PREPARING = "Preparing"
    PROVISIONING = "Provisioning"
    STARTING = "Starting"
    RUNNING = "Running"
    CANCEL_REQUESTED = "CancelRequested"
    CANCELED = "Canceled"
    FINALIZING = "Finalizing"
    COMPLETED = "Completed"
    FAILED = "Failed"
    UNAPPROVED = "Unapproved"
    NOTRESPONDING = "NotResponding"
    PAUSING = "Pausing"
    PAUSED = "Paused"

    @classmethod
    def get_running_statuses(cls) -> Tuple[str, ...]:
        return (cls.NOT_STARTED, cls.QUEUED, cls.PREPARING, cls.PROVISIONING, cls.STARTING, cls.RUNNING, cls.UNAPPROVED,
                cls.NOTRESPONDING, cls.PAUSING, cls.PAUSED)  # fmt: skip

    @classmethod
    def get_post_processing_statuses(cls) -> Tuple[str, ...]:
        return (cls.CANCEL_REQUESTED, cls.FINALIZING)

    @classmethod
    def get_terminal_statuses(cls) -> Tuple[str, ...]:
        return TERMINAL
