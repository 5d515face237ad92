"""`python -m footplate.server.verify --home HOME [--database URL] [--repair] [--json]`: check what the server keeps.

It reads while a server runs. A repair needs the server's lock, so no server may run meanwhile. The exit code is 0 when
everything is sound or was repaired, 1 when something is lost, and 2 when the check could not be made.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Sequence
from contextlib import closing
from dataclasses import asdict
from pathlib import Path

from footplate.errors import Broken, FootplateError, NotFound
from footplate.server.process import take_lock
from footplate.storage import Storage
from footplate.storage.database import Database
from footplate.storage.store import check_not_lost
from footplate.storage.upkeep.verification import Problem, Verification, VerificationReport


def main(argv: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m footplate.server.verify")
    parser.add_argument("--home", required=True)
    parser.add_argument("--database")
    parser.add_argument("--repair", action="store_true")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args(argv)
    try:
        if options.repair:
            take_lock(options.home)
        report = verify(Path(options.home), options.database, options.repair)
    except FootplateError as error:
        _print_error(f"error: {error}")
        return 2
    print(_as_json(report) if options.json else _as_text(report))  # noqa: T201  the command's output
    return 0 if report.is_sound else 1


def verify(home: Path, address: str | None, repair: bool) -> VerificationReport:
    if address is None and not os.path.exists(home / "footplate.db") and not os.path.isdir(home / "runs"):
        raise NotFound(f"there is nothing to check in {home}", "set FOOTPLATE_HOME to the home folder of a server")
    try:
        with closing(Database(address or home / "footplate.db")) as database:
            if address is None:
                check_not_lost(database, home)
            return Verification(Storage(home, database), repair, _print_error).run()
    except Broken as error:  # not even readable
        problem = Problem("database", error.message, path=str(error.details.get("path") or home / "footplate.db"))
        return VerificationReport(problems=[problem])


def _as_json(report: VerificationReport) -> str:
    problems = [asdict(problem) for problem in report.problems]
    return json.dumps({"sound": report.is_sound, "checked": dict(report.checked), "problems": problems}, indent=2)


def _as_text(report: VerificationReport) -> str:
    lines = [_line(problem) for problem in report.problems]
    checked = ", ".join(f"{count} {name}" for name, count in report.checked.items())
    lines.append(f"checked {checked or 'the database'}: {len(report.problems) or 'no'} problems")
    return "\n".join(lines)


def _line(problem: Problem) -> str:
    where = f"run {problem.run}: " if problem.run and problem.run not in problem.message else ""
    path = f" ({problem.path})" if problem.path and problem.path not in problem.message else ""
    return f"{problem.kind}: {where}{problem.message}{path}" + (f"; {problem.repair}" if problem.repair else "")


def _print_error(line: str) -> None:
    print(line, file=sys.stderr, flush=True)  # noqa: T201  progress and errors, beside the output


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
