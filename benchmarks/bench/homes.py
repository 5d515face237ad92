"""Footplate in a home that lasts as long as the benchmark."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stdout
from io import StringIO
from pathlib import Path

from footplate import Workspace
from footplate.client.launcher import stop_server

WORKSPACE = "bench"


@contextmanager
def footplate_home(folder: Path) -> Iterator[Workspace]:
    """Provide a workspace on its own server, started by the SDK as a user's first call starts it."""
    home = folder / "home"
    os.environ["FOOTPLATE_HOME"] = str(home)
    try:
        with redirect_stdout(StringIO()):
            workspace = Workspace.create(WORKSPACE, exist_ok=True)
        yield workspace
    finally:
        stop_server(str(home))
        del os.environ["FOOTPLATE_HOME"]
