"""Prints stack traces, innermost call last. Processes with the same stack are printed once.

In a job that hangs, most ranks wait at the same line; this shows the one that does not.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import click

from footplate.cli.console import paint
from footplate.domain.stacks import ProcessStacks, ThreadStack

_ABOVE_SCRIPTS = ("footplate/job/bootstrap.py", "footplate/job/script_runner.py")


def show_stacks(processes: Sequence[ProcessStacks], hosts: Mapping[int, str]) -> None:
    groups: dict[Any, list[ProcessStacks]] = {}
    for process in processes:
        groups.setdefault(_place(process), []).append(process)
    pids = {process.pid for process in processes}
    for group in groups.values():
        _show_head(group, hosts, pids)
        first = group[0]
        click.echo(f"  {first.command}")
        if first.note:
            click.echo(f"  {first.note}")
        for thread in first.threads:
            _show_thread(thread)
        click.echo()


def _place(process: ProcessStacks) -> tuple[Any, ...]:
    """Return a key that is equal for processes with the same stack. A process that could not be read is unique."""
    if not process.threads:
        return (process.pid, process.node)
    threads = sorted((thread.name or "", thread.frames and _lines(thread)) for thread in process.threads)
    return (process.rank is None, process.command, process.source, process.note, tuple(threads))


def _show_head(group: Sequence[ProcessStacks], hosts: Mapping[int, str], pids: set[int]) -> None:
    first = group[0]
    source = f" · {first.source}" if first.source else ""
    if len(group) == 1:
        rank = f"rank {first.rank}" if first.rank is not None else "no rank"
        child = f" (child of {first.parent})" if first.parent in pids else ""
        host = f" on {hosts[first.node]}" if hosts.get(first.node) else ""
        click.echo(paint(f"{rank} · node {first.node}{host} · pid {first.pid}{child}{source}", bold=True))
        return
    ranks = sorted({process.rank for process in group if process.rank is not None})
    nodes = sorted({process.node for process in group})
    who = f"{'rank' if len(ranks) == 1 else 'ranks'} {_ranges(ranks)}" if ranks else "no rank"
    where = f"{'node' if len(nodes) == 1 else 'nodes'} {_ranges(nodes)}"
    click.echo(paint(f"{who} · {where} · {len(group)} processes with the same stack{source}", bold=True))
    click.echo(f"  pids {', '.join(str(process.pid) for process in group)}")


def _show_thread(thread: ThreadStack) -> None:
    click.echo(f"  thread {thread.name or thread.id}")
    for line in _lines(thread):
        click.echo(f"    {line}")
    if not thread.frames:
        click.echo("    (no Python code)")


def _lines(thread: ThreadStack) -> tuple[str, ...]:
    """Return the frames without Footplate's own above the script."""
    frames = [frame for frame in thread.frames if not frame.file.endswith(_ABOVE_SCRIPTS)]
    return tuple(f"{frame.file}:{frame.line} in {frame.function}" for frame in frames or thread.frames)


def _ranges(numbers: Iterable[int]) -> str:
    """Format numbers as ranges: 0–3, 5"""
    runs: list[list[int]] = []
    for number in numbers:
        if runs and number == runs[-1][1] + 1:
            runs[-1][1] = number
        else:
            runs.append([number, number])
    return ", ".join(str(first) if first == last else f"{first}–{last}" for first, last in runs)
