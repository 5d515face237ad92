"""How stacks are shown: process by process, thread by thread, the innermost call last."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import click

from footplate.cli.console import paint
from footplate.domain.stacks import ProcessStacks, ThreadStack


def show_stacks(processes: Sequence[ProcessStacks], hosts: Mapping[int, str]) -> None:
    ranks = {process.pid for process in processes}
    for process in processes:
        rank = f"rank {process.rank}" if process.rank is not None else "no rank"
        child = f" (child of {process.parent})" if process.parent in ranks else ""
        host = f" on {hosts[process.node]}" if hosts.get(process.node) else ""
        source = f" · {process.source}" if process.source else ""
        _head(f"{rank} · node {process.node}{host} · pid {process.pid}{child}{source}")
        click.echo(f"  {process.command}")
        if process.note:
            click.echo(f"  {process.note}")
        for thread in process.threads:
            _show_thread(thread)
        click.echo()


def _show_thread(thread: ThreadStack) -> None:
    click.echo(f"  thread {thread.name or thread.id}")
    for frame in thread.frames:
        click.echo(f"    {frame.file}:{frame.line} in {frame.function}")
    if not thread.frames:
        click.echo("    (no Python code)")


def _head(text: str) -> None:
    click.echo(paint(text, bold=True))
