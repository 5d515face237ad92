"""Environments that this machine resolves for nodes of another kind."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

from footplate import environments
from footplate.domain.node_kinds import NodeKind
from footplate.domain.specs import EnvironmentSpec
from footplate.environments.base import ResolverSettings
from footplate.environments.containers import availability

OWN = "%d.%d" % sys.version_info[:2]  # noqa: UP031
MACHINE = os.uname().machine
PATH = "/opt/python/bin/python3"


def node(**about: Any) -> NodeKind:
    known: dict[str, Any] = {"machine": MACHINE, "libc": "2.36", "pythons": {PATH: f"{OWN}.1"}}
    return NodeKind(**{**known, **about})


def test_a_node_without_a_container_engine_gets_a_warning(tmp_path: Path) -> None:
    spec = EnvironmentSpec(builder="venv", options={"docker": {"base_image": "python:3.11"}})
    why = availability.why_not(spec, ResolverSettings(tmp_path, node=node()))
    assert why == "neither podman nor docker answers on the nodes of this compute target"


def test_only_an_unchanged_interpreter_needs_no_node() -> None:
    for spec, needs in (
        (EnvironmentSpec(), False),
        (EnvironmentSpec(options={"mpi": True}), True),
        (EnvironmentSpec(options={"docker": {"enabled": True}}), True),
        (EnvironmentSpec(builder="venv"), True),
        (EnvironmentSpec(builder="conda"), True),
    ):
        assert environments.needs_node(spec) is needs
