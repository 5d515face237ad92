"""Archive runs, keep their labels as numbers, too, and store the parameters of old runs."""

from __future__ import annotations

import json
from typing import Any

import sqlalchemy as sa
from alembic import op

from footplate.domain.runs.parameters import as_number, parse_parameters

revision = "0012"
down_revision = "0011"

_BATCH = 1_000


def upgrade() -> None:
    op.add_column("runs", sa.Column("archived", sa.Double()))
    op.add_column("run_labels", sa.Column("number", sa.Double()))
    connection = op.get_bind()
    labels = sa.table("run_labels", *map(sa.column, ("run", "kind", "name", "head", "value", "number", "experiment")))
    specs, runs = (
        sa.table("run_specs", *map(sa.column, ("run", "spec"))),
        sa.table("runs", *map(sa.column, ("key", "experiment"))),
    )
    last = -1
    while True:
        query = sa.select(specs.c.run, specs.c.spec, runs.c.experiment).join(runs, runs.c.key == specs.c.run)
        rows = connection.execute(query.where(specs.c.run > last).order_by(specs.c.run).limit(_BATCH)).all()
        if not rows:
            break
        last = rows[-1].run
        values = [
            {"run": row.run, "kind": "parameter", "name": name, "head": value[:200], "value": value,
             "number": as_number(value), "experiment": row.experiment}
            for row in rows
            for name, value in _parameters(row.spec).items()
        ]  # fmt: skip
        if values:
            connection.execute(sa.insert(labels), values)


def _parameters(spec: str) -> dict[str, str]:
    program: dict[str, Any] = json.loads(spec).get("program") or {}
    return parse_parameters(program.get("arguments") or ())
