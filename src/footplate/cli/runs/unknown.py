"""Errors about names that do not exist: a misspelled filter must not look like an empty result."""

from __future__ import annotations

import difflib
import itertools
import time
from collections.abc import Iterable

from footplate.domain.records import RunView
from footplate.domain.runs.run_filter import Field, fields_of, parse
from footplate.sdk.exceptions import UserErrorException
from footplate.sdk.workspace import Workspace

_LOOKED_AT = 500  # runs whose names are compared with an unknown name
_NOUNS = {"metrics": "metric", "params": "parameter", "tags": "tag", "properties": "property"}


def nearest_hint(name: str, known: Iterable[str]) -> str | None:
    near = difflib.get_close_matches(name, list(known), 1)
    return f"did you mean {near[0]!r}?" if near else None


def check_experiment(workspace: Workspace, name: str) -> None:
    """Raise if the experiment does not exist."""
    names = [view.name for view in workspace.session.api.experiments.list(workspace.id)]
    if name not in names:
        raise UserErrorException(
            f"there is no experiment {name!r} in workspace {workspace.name}",
            hint=nearest_hint(name, names) or "list experiments with: footplate experiments list",
        )


def check_names(workspace: Workspace, experiment: str | None, fields: Iterable[Field]) -> None:
    """Raise if none of the newest runs has a metric, parameter, tag or property with one of these names."""
    named = [field for field in fields if field.name is not None]
    if not named:
        return
    listed = workspace.session.api.runs.list(
        workspace.id, experiment=experiment, parent="any", show=["*"], limit=_LOOKED_AT
    )
    seen = list(itertools.islice(listed, _LOOKED_AT))
    for field in named:
        names = _names(seen, field.kind)
        if field.name not in names:
            noun = _NOUNS[field.kind]
            hint = nearest_hint(str(field.name), names) or f"known names: {', '.join(sorted(names)[:10]) or 'none'}"
            raise UserErrorException(f"no run has the {noun} {field.name!r}", hint=hint)


def fields_in(where: str | None) -> list[Field]:
    return [] if where is None else fields_of(parse(where, time.time()))


def _names(views: Iterable[RunView], kind: str) -> set[str]:
    attribute = {"params": "parameters"}.get(kind, kind)
    return {name for view in views for name in getattr(view, attribute)}
