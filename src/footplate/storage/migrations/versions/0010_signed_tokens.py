"""Drop the tokens of runs: they are signed with the key of the home, and end with their runs."""

from __future__ import annotations

from alembic import op

revision = "0010"
down_revision = "0009"


def upgrade() -> None:
    op.drop_index("tokens_by_expiry", "tokens")
    op.drop_table("tokens")
