"""The group `footplate compute`. Modules beside this one add their commands to it."""

from __future__ import annotations

import click

from footplate.cli.main import Noun


@click.group(cls=Noun)
def compute() -> None:
    """Add, list, check and remove compute targets.

    `local` always exists: the server's machine, which runs as many jobs at once as its cores allow. `create` makes a
    queue on that machine, which limits how many nodes run at once; `add` adds a cluster that exists already. Runs that
    do not fit wait, with a reason.
    """
