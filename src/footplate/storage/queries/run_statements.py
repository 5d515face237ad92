"""Statements that every run or every event needs, built once (see `storage.database`). Their parameters have names."""

from __future__ import annotations

from sqlalchemy import and_, bindparam, exists, false, func, insert, select, update

from footplate.domain.records import Stage
from footplate.domain.runs import run_status
from footplate.domain.runs.run_kinds import kinds_with_nodes
from footplate.storage.schema import experiments, run_specs, runs, series, story, workspaces

ACTIVE = tuple(stage.value for stage in Stage if stage is not Stage.ENDED)
HOLDING = tuple(stage.value for stage in run_status.HOLDS_NODES)
HAS_NODES = runs.c.kind.in_(kinds_with_nodes())

_c = runs.c
_parents, _children = runs.alias("parents"), runs.alias("children")
_records = select(runs, run_specs.c.spec).join(run_specs, run_specs.c.run == _c.key)

RECORD = _records.where(_c.id == bindparam("run"))
ACTIVE_RECORDS = _records.where(_c.stage.in_(ACTIVE)).order_by(_c.key)
ACTIVE_WITH_NODES = ACTIVE_RECORDS.where(HAS_NODES)

PLACE = select(_c.key, _c.workspace).where(_c.id == bindparam("run"))
HOME = (
    select(experiments.c.id.label("experiment_id"), workspaces.c.id.label("workspace_id"))
    .add_columns(workspaces.c.name.label("workspace"), workspaces.c.subscription_id, workspaces.c.resource_group)
    .join(workspaces, workspaces.c.id == experiments.c.workspace)
    .where(experiments.c.key == bindparam("experiment"))
)
CREATOR = select(_c.workspace, _c.created_by, _c.person).where(_c.id == bindparam("run"))
# With the workspace, this is one step in an index, however many children there are.
_has_children = exists().where(_children.c.workspace == _c.workspace, _children.c.parent == _c.key)
VIEWS = (
    select(runs, experiments.c.name.label("experiment_name"), experiments.c.id.label("experiment_id"))
    .add_columns(_parents.c.id.label("parent_id"), _has_children.label("has_children"))
    .join(experiments, experiments.c.key == _c.experiment)
    .outerjoin(_parents, _parents.c.key == _c.parent)
    .where(_c.key.in_(bindparam("keys", expanding=True)))
)
SPECS = select(run_specs.c.run, run_specs.c.spec).where(run_specs.c.run.in_(bindparam("keys", expanding=True)))

_logged = and_(
    series.c.run == _c.key,
    series.c.system == false(),
    series.c.name.in_(bindparam("metrics", expanding=True)),
)
_workspace = select(_parents.c.workspace).where(_parents.c.key == bindparam("group")).scalar_subquery()
CHILDREN = (
    select(_c.id, _c.status, _c.attempt, _c.created, _c.started, _c.ended, _c.outcome)
    .add_columns(series.c.name.label("metric"), series.c.count.label("logged"))
    .add_columns(series.c.last, series.c.min, series.c.max)
    .select_from(runs.outerjoin(series, _logged))
    .where(_c.workspace == _workspace, _c.parent == bindparam("group"))
    .order_by(_c.key)
)
SOME_CHILDREN = CHILDREN.where(_c.id.in_(bindparam("only", expanding=True)))

INSERT_RUN, INSERT_SPEC, INSERT_LINES = insert(runs), insert(run_specs), insert(story)
SAVE = update(runs).where(_c.key == bindparam("saved"), _c.version == bindparam("expected"))
LAST_LINE = select(func.max(story.c.seq)).where(story.c.run == bindparam("run"))
