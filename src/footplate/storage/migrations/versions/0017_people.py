"""Keep people, their tokens and roles, and the audit log."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0017"
down_revision = "0016"

_APPEND_ONLY = {
    "sqlite": (
        "CREATE TRIGGER audit_no_update BEFORE UPDATE ON audit "
        "BEGIN SELECT RAISE(ABORT, 'the audit log is append-only'); END",
        "CREATE TRIGGER audit_no_delete BEFORE DELETE ON audit "
        "BEGIN SELECT RAISE(ABORT, 'the audit log is append-only'); END",
    ),
    "postgresql": (
        "CREATE OR REPLACE FUNCTION audit_is_append_only() RETURNS trigger LANGUAGE plpgsql AS "
        "$$ BEGIN RAISE EXCEPTION 'the audit log is append-only'; END $$",
        "CREATE TRIGGER audit_no_change BEFORE UPDATE OR DELETE ON audit "
        "FOR EACH STATEMENT EXECUTE FUNCTION audit_is_append_only()",
    ),
}


def upgrade() -> None:
    op.add_column("runs", sa.Column("person", sa.Text()))
    op.add_column("sessions", sa.Column("person", sa.Text()))
    op.add_column("sessions", sa.Column("credential", sa.Text()))
    _create_people()
    op.create_table(
        "roles",
        sa.Column("workspace", sa.Text(), nullable=False),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("role", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("workspace", "kind", "name", name="pk_roles"),
    )
    op.create_table(
        "server_state",
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("value", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("name", name="pk_server_state"),
    )
    _create_audit()


def _create_people() -> None:
    op.create_table(
        "people",
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("created", sa.Double[float](), nullable=False),
        sa.Column("display_name", sa.Text()),
        sa.Column("email", sa.Text()),
        sa.Column("subject", sa.Text()),
        sa.Column("groups", sa.Text(), nullable=False),
        sa.Column("disabled", sa.Double[float]()),
        sa.PrimaryKeyConstraint("name", name="pk_people"),
        sa.UniqueConstraint("subject", name="uq_people_subject"),
    )
    op.create_table(
        "access_tokens",
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("digest", sa.Text(), nullable=False),
        sa.Column("person", sa.Text(), nullable=False),
        sa.Column("label", sa.Text(), nullable=False),
        sa.Column("created", sa.Double[float](), nullable=False),
        sa.Column("expires", sa.Double[float]()),
        sa.Column("workspace", sa.Text()),
        sa.Column("read_only", sa.Boolean(), nullable=False),
        sa.Column("last_used", sa.Double[float]()),
        sa.PrimaryKeyConstraint("id", name="pk_access_tokens"),
        sa.UniqueConstraint("digest", name="uq_access_tokens_digest"),
        sa.ForeignKeyConstraint(["person"], ["people.name"], name="fk_access_tokens_person"),
    )


def _create_audit() -> None:
    number = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
    texts = [sa.Column(name, sa.Text(), nullable=False) for name in ("who", "action", "method", "path")]
    op.create_table(
        "audit",
        sa.Column("number", number, nullable=False),
        sa.Column("time", sa.Double[float](), nullable=False),
        *texts,
        sa.Column("status", sa.Integer(), nullable=False),
        sa.Column("source", sa.Text(), nullable=False),
        sa.Column("workspace", sa.Text()),
        sa.Column("run", sa.Text()),
        sa.Column("credential", sa.Text()),
        sa.Column("detail", sa.Text()),
        sa.PrimaryKeyConstraint("number", name="pk_audit"),
    )
    op.create_index("audit_by_who", "audit", ["who", "number"])
    op.create_index("audit_by_workspace", "audit", ["workspace", "number"])
    for statement in _APPEND_ONLY[op.get_bind().dialect.name]:
        op.execute(statement)
