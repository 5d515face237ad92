"""What `footplate runs logs` prints instead of the whole log: lines that match, or those around a time."""

from __future__ import annotations

import time

import click

from footplate.cli.console import printable, say
from footplate.domain.runs.run_filter import read_time
from footplate.sdk.session import Session

_MATCHES = 1000  # of one request
_AROUND = 10  # lines before and after a time


def print_matches(session: Session, run: str, path: str, pattern: str, mode: str) -> None:
    """Print the lines that match with their numbers, as `grep -n` does."""
    offset: int | None = 0
    is_empty = True
    while offset is not None:
        page = session.api.logs.search(run, path, pattern, mode=mode, offset=offset, limit=_MATCHES)
        for match in page.matches:
            click.echo(f"{match.line + 1}:{printable(match.text)}")
        is_empty = is_empty and not page.matches
        offset = page.next
    if is_empty:
        say(f"no line of {path} {'reports an error' if mode == 'errors' else 'matches'}")


def print_around(session: Session, run: str, path: str, moment: str) -> None:
    """Print the lines around a time, each with the time at which it arrived."""
    at = read_time(moment, time.time())
    if at is None:
        raise click.UsageError(f"--around: {moment!r} is not a time; write 2024-05-31T14:00, or '10m ago'")
    before = session.api.logs.lines(run, path, time=at, limit=_AROUND, back=True)
    page = session.api.logs.lines(run, path, offset=before.offset, limit=len(before.texts) + _AROUND)
    for arrived, text in zip(page.times, page.texts, strict=True):
        clock = "--:--:--" if arrived is None else time.strftime("%H:%M:%S", time.localtime(arrived))
        click.echo(f"{clock} {printable(text)}")
    if not page.texts:
        say(f"{path} is empty")
