from __future__ import annotations

import pytest

from footplate.domain.runs import events
from footplate.domain.runs.run_kinds import GROUP, INTERACTIVE, JOB, kind_named, kinds_with_nodes
from footplate.errors import InvalidInput

KINDS = [kind_named(name) for name in (JOB, INTERACTIVE, GROUP)]


def test_admitted_events_exist_and_each_event_is_admitted_by_a_kind() -> None:
    known = {event.__name__ for event in events.Event.__subclasses__()}
    assert frozenset().union(*(kind.admits for kind in KINDS)) == known
    assert frozenset().union(*(frozenset(kind.refusals) for kind in KINDS)) <= known


def test_children_are_of_known_kinds() -> None:
    assert frozenset().union(*(kind.children for kind in KINDS)) <= {kind.name for kind in KINDS}


def test_only_jobs_have_nodes() -> None:
    assert kinds_with_nodes() == (JOB,)


def test_an_unknown_kind_is_refused_by_name() -> None:
    with pytest.raises(InvalidInput, match="run kind 'batch' is unknown"):
        kind_named("batch")
