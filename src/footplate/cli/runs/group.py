"""The group `footplate runs`. Modules beside this one add their commands to it."""

from __future__ import annotations

import click

from footplate.cli.main import Noun


@click.group(cls=Noun)
def runs() -> None:
    """Inspect runs, compare them, and control them.

    RUN is the id of a run, a unique part of one, or `latest`.
    """
