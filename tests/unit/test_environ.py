"""`footplate.environ` is the only place that spells the name of a variable."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import footplate
from footplate import environ

SOURCE = Path(footplate.__file__).parent
NAME = re.compile(r"_?FOOTPLATE_[A-Z0-9_]*[A-Z0-9]")
DEFINED = {value for name, value in vars(environ).items() if name.isupper() and isinstance(value, str)}
# They run before anything can be imported, in the interpreter of the job.
ALONE = {
    SOURCE / "engines" / "agent_bootstrap.py",
    SOURCE / "environments" / "tensorflow1.py",
    SOURCE / "job" / "exit_report.py",
    SOURCE / "job" / "script_runner.py",
}


def modules() -> Iterator[Path]:
    return (path for path in SOURCE.rglob("*.py") if path != SOURCE / "environ.py")


def test_no_other_module_spells_a_variable_as_a_literal() -> None:
    found = [
        f"{path.relative_to(SOURCE)}:{node.lineno} {node.value!r}"
        for path in modules()
        if path not in ALONE
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Constant)
        and isinstance(node.value, (str, bytes))
        and NAME.fullmatch(node.value.decode("latin-1").rstrip("=") if isinstance(node.value, bytes) else node.value)
    ]
    assert found == []


def test_every_name_in_texts_and_comments_is_defined() -> None:
    prefixes = tuple(value for value in DEFINED if value.endswith("_") and value != environ.PREFIX)
    unknown = {
        f"{path.relative_to(SOURCE)}: {name}"
        for path in modules()
        for name in NAME.findall(path.read_text())
        if name not in DEFINED and f"{name}_" not in DEFINED and not name.startswith(prefixes)
    }
    assert unknown == set()


def test_variables_of_a_job_are_known_from_those_of_a_person() -> None:
    ours = [environ.RUN_ID, environ.RANK, environ.EXITS, environ.TOKEN, "AZUREML_RUN_ID", "AZ_BATCHAI_JOB_TEMP"]
    assert all(map(environ.belongs_to_job, ours))
    assert not any(map(environ.belongs_to_job, [environ.HOME, environ.IDLE_SECONDS, "PATH"]))
