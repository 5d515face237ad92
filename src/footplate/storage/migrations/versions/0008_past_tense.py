"""Rename the events in the stories of old runs: event names are in the past tense now."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0008"
down_revision = "0007"

NAMES = {
    "Submitted": "RunSubmitted", "Locked": "EnvironmentLocked", "Waits": "WaitReasonChanged",
    "Admitted": "RunAdmitted", "Launched": "NodesLaunched", "Joined": "NodeJoined", "Prepares": "NodeProgressed",
    "Equipped": "GpusAssigned", "Prepared": "NodePrepared", "Started": "NodeStarted",
    "Attends": "NodeWorkersFinished", "Exited": "NodeExited", "Done": "NodeFinished", "Lost": "NodeLost",
    "Vanished": "NodeVanished", "Fails": "RunFailed", "CancelAsked": "RunCancelRequested",
    "Completes": "RunCompleted", "Restarted": "RunRestarted", "Warned": "WarningAdded",
    "AttemptBegins": "AttemptStarted",
}  # fmt: skip


def upgrade() -> None:
    """One pass over the story, however many names there are: a large database has millions of lines."""
    story = sa.table("story", sa.column("event", sa.Text))
    renamed = sa.case(NAMES, value=story.c.event)
    op.execute(story.update().where(story.c.event.in_(list(NAMES))).values(event=renamed))
