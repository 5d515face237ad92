"""Every command: its help, its line in the table, its documentation, and its answer to bad input."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import click
import pytest

from footplate.cli.main import COMMANDS, cli
from footplate.domain.tuning.search_space import KINDS

ROOT = Path(__file__).parents[3]
FOOTPLATE = [sys.executable, "-c", "from footplate.cli.main import main; main()"]


def tree(command: click.Command, path: tuple[str, ...] = ()) -> dict[tuple[str, ...], click.Command]:
    found = {path: command}
    if isinstance(command, click.Group):
        ctx = click.Context(command)
        for name in command.list_commands(ctx):
            below = command.get_command(ctx, name)
            assert below is not None
            found |= tree(below, (*path, name))
    return found


ALL = tree(cli)


def footplate(*arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, **variables}
    return subprocess.run([*FOOTPLATE, *arguments], capture_output=True, text=True, timeout=60, env=environment)


def test_every_promised_command_exists() -> None:
    wanted = """init run doctor completion experiments models compute server
        runs/list runs/show runs/logs runs/metrics runs/files runs/download runs/cancel runs/story
        experiments/list experiments/archive models/list models/show models/register models/download models/delete
        compute/list compute/show compute/create compute/delete server/start server/status server/stop server/logs"""
    assert {tuple(path.split("/")) for path in wanted.split()} <= set(ALL)


@pytest.mark.parametrize("path", ALL, ids=" ".join)
def test_every_command_and_option_has_help(path: tuple[str, ...]) -> None:
    command = ALL[path]
    text = command.help or ""
    assert text.strip(), f"{path} has no help"
    assert text.strip().splitlines()[0].endswith("."), f"{path}: the first line is no sentence"
    for option in command.params:
        if isinstance(option, click.Option) and not option.hidden:
            known = bool(option.help) or option.show_default or option.metavar
            assert known, f"{path} {option.opts} is not explained"


@pytest.mark.parametrize("name", COMMANDS)
def test_the_help_table_matches_the_commands(name: str) -> None:
    assert COMMANDS[name][1] == (ALL[(name,)].help or "").strip().splitlines()[0]


@pytest.mark.parametrize("path", [p for p in ALL if p], ids=" ".join)
def test_every_command_is_documented(path: tuple[str, ...]) -> None:
    page = (ROOT / "docs" / "reference" / "cli.md").read_text(encoding="utf-8")
    assert f"# footplate {' '.join(path)}\n" in page


def test_the_reference_page_is_current() -> None:
    done = subprocess.run(
        [sys.executable, str(ROOT / "scripts" / "reference.py"), "--check"], capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("path", [p for p in ALL if p and not isinstance(ALL[p], click.Group)], ids=" ".join)
def test_every_command_that_prints_data_has_json(path: tuple[str, ...]) -> None:
    silent = {
        "completion",
        "archive",
        "restore",
        "reactivate",
        "delete",
        "start",
        "stop",
        "logs",
        "default",
        "remove",
        "resume",
        "use",
    }
    has = any("--json" in option.opts for option in ALL[path].params)
    assert has == (path[-1] not in silent)


@pytest.mark.parametrize("path", [p for p in ALL if p and p[-1] in ("delete", "remove")], ids=" ".join)
def test_every_command_that_deletes_has_yes(path: tuple[str, ...]) -> None:
    assert any("--yes" in option.opts for option in ALL[path].params)


def test_help_of_sweeps_lists_every_distribution() -> None:
    shown = ALL[("sweep", "run")].get_help(click.Context(ALL[("sweep", "run")]))
    for kind in KINDS:
        assert kind in ("choice", "when") or kind in shown, kind


def test_help_imports_no_command() -> None:
    code = (
        "import sys; from footplate.cli.main import cli; cli.main(['--help'], standalone_mode=False);"
        "heavy = [m for m in sys.modules if m.startswith(('rich', 'footplate.sdk', 'footplate.client', 'sqlalchemy'))];"
        "sys.exit(f'loaded: {heavy}' if heavy else 0)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
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
