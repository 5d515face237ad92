"""Reports as text: caveats first, then the measurements, the targets, and the checks of the results."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence

from bench.harness import Report, number, unit_suffix


def render(report: Report) -> str:
    lines = [f"── {report.name}: {report.title} ".ljust(110, "─")]
    for caveat in report.paragraphs:
        lines += textwrap.wrap(caveat, 106, initial_indent="  ! ", subsequent_indent="    ")
    lines += ["", *_rows(report), ""]
    for target in report.targets:
        word = "reached" if target.met else "MISSED "
        lines.append(
            f"  {word}  {target.what}: {number(target.value)}{unit_suffix(target.unit)} (target: {target.wanted})"
        )
    for check in report.checks:
        seen = f" ({check.seen})" if check.seen else ""
        lines.append(f"  {'right  ' if check.ok else 'WRONG  '}  {check.what}{seen}")
    return "\n".join(lines) + "\n"


def _rows(report: Report) -> list[str]:
    tail = "p5" if report.more_is_better else "p95"
    table = [("", f"median, {report.unit}", tail, "n", "× of ours", "")]
    for row in report.rows:
        alone = report.ours in ("", row.who)  # without a row of ours, rows are pairs, and the targets compare them
        ratio = "" if alone else number(row.median / report.row(report.ours).median)
        table.append((row.who, number(row.median), number(report.tail(row)), str(len(row.samples)), ratio, row.note))
    return align(table)


def align(table: Sequence[Sequence[str]]) -> list[str]:
    """Align columns: the first and last to the left, numbers to the right."""
    widths = [max(len(line[column]) for line in table) for column in range(len(table[0]))]
    lines: list[str] = []
    for line in table:
        cells = [line[0].ljust(widths[0])]
        cells += [cell.rjust(width) for cell, width in zip(line[1:-1], widths[1:-1], strict=True)]
        lines.append(("  " + "   ".join([*cells, line[-1]])).rstrip())
    return lines
