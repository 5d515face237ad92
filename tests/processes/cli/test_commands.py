"""Every command: its help, its line in the table, its documentation, and its answer to bad input."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
FOOTPLATE = [sys.executable, "-c", "from footplate.cli.main import main; main()"]


def footplate(*arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, **variables}
    return subprocess.run([*FOOTPLATE, *arguments], capture_output=True, text=True, timeout=250, env=environment)


def test_the_reference_page_is_current() -> None:
    done = subprocess.run(
        [sys.executable, str(ROOT / "scripts" / "reference.py"), "--check"], capture_output=True, text=True, timeout=250
    )
    assert done.returncode == 0, done.stderr


def test_help_imports_no_command() -> None:
    code = (
        "import sys; from footplate.cli.main import cli; cli.main(['--help'], standalone_mode=False);"
        "heavy = [m for m in sys.modules if m.startswith(('rich', 'footplate.sdk', 'footplate.client', 'sqlalchemy'))];"
        "sys.exit(f'loaded: {heavy}' if heavy else 0)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=250)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(
    ("arguments", "error", "hint"),
    [
        (["rnus"], "error: footplate has no command 'rnus'", "hint: did you mean runs?"),
        (["runs", "metrcis"], "error: footplate runs has no command 'metrcis'", "hint: did you mean metrics?"),
        (["server", "strat"], "error: footplate server has no command 'strat'", "hint: did you mean start"),
        (["zzz"], "error: footplate has no command 'zzz'", "hint: see: footplate --help"),
        (["runs", "list", "--limt", "3"], "error: No such option '--limt'", "hint: did you mean --limit"),
        (["runs", "list", "--limit", "0"], "error: Invalid value for '-n' / '--limit': 0", "see: footplate runs list"),
        (["runs", "show"], "error: Missing argument 'RUN'", "hint: see: footplate runs show --help"),
        (["run", "nothing-here.py"], "'nothing-here.py' does not exist", "for a command: footplate run -- nothing"),
        (["completion", "tcsh"], "'tcsh' is not one of", "hint: see: footplate completion --help"),
    ],
)
def test_wrong_usage_suggests_similar_names(arguments: list[str], error: str, hint: str) -> None:
    done = footplate(*arguments)
    assert done.returncode == 2
    assert done.stdout == ""
    assert error in done.stderr
    assert hint in done.stderr
    assert "Traceback" not in done.stderr


def test_a_group_without_a_command_prints_its_help() -> None:
    done = footplate()
    assert done.returncode == 2
    assert "Usage: footplate" in done.stderr


def test_version() -> None:
    done = footplate("--version")
    assert done.stdout.startswith("footplate 0.")
    assert done.returncode == 0


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_scripts_call_footplate(shell: str) -> None:
    done = footplate("completion", shell)
    assert done.returncode == 0
    assert f"_FOOTPLATE_COMPLETE={shell}_complete" in done.stdout


def test_completion_offers_commands_and_options() -> None:
    answer = footplate(_FOOTPLATE_COMPLETE="bash_complete", COMP_WORDS="footplate runs me", COMP_CWORD="2")
    assert answer.stdout.split() == ["plain,metrics"]
    answer = footplate(_FOOTPLATE_COMPLETE="bash_complete", COMP_WORDS="footplate runs list --stat", COMP_CWORD="3")
    assert answer.stdout.split() == ["plain,--status"]


def test_a_footplate_error_is_two_lines_and_a_bug_is_a_traceback(tmp_path: Path) -> None:
    (tmp_path / "f").write_text("")
    done = footplate("doctor", FOOTPLATE_HOME=str(tmp_path / "f" / "below"))
    assert done.returncode == 1
    assert "hint: set FOOTPLATE_HOME to a folder of your own" in done.stdout
    done = footplate("runs", "list", FOOTPLATE_HOME=str(tmp_path / "f"))
    assert done.returncode == 1
    assert done.stderr.startswith("error: ")
    assert done.stderr.count("\n") == 2
    assert done.stderr.splitlines()[1].startswith("hint: ")
    done = footplate("runs", "list", FOOTPLATE_HOME=str(tmp_path / "f"), FOOTPLATE_DEBUG="1")
    assert "Traceback" in done.stderr
