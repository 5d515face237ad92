"""The bootstrap and the supervisor, run as nodes run them: one program, against a small HTTP server."""

from __future__ import annotations

from footplate import api, environ
from footplate.engines import agent_bootstrap
from footplate.node import supervisor


def test_names_are_those_of_the_package() -> None:
    assert (agent_bootstrap.BUNDLE, agent_bootstrap.NODE_HOME, agent_bootstrap.TOKEN) == (
        environ.BUNDLE,
        environ.NODE_HOME,
        environ.TOKEN,
    )
    assert agent_bootstrap.SHARED == environ.SHARED
    assert agent_bootstrap.STOPPED == supervisor.STOPPED
    assert agent_bootstrap.ARCHIVE_PATH.startswith(api.PREFIX)
