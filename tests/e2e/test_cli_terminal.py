"""The command line on a terminal and in a pipe."""

from __future__ import annotations

import base64
import json
import os
import pty
import re
import subprocess
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.shared_home

TRAIN = (
    "from azureml.core import Run",
    "run = Run.get_context()",
    "for i in range(40):",
    "    run.log('loss', 1 / (i + 1))",
    "run.log('score', float('nan'))",
    "for name in 'abcdefgh':",
    "    run.log('a_metric_with_a_long_name_' + name, 1e-5 / 3)",
    "open('outputs/model.txt', 'w').write('weights')",
    "open('outputs/curve.png', 'wb').write(b'\\x89PNG' + bytes(40))",
)
_ESCAPE = re.compile("\x1b\\[[0-9;]*m")


@pytest.fixture
def trained(footplate: Any) -> Any:
    """Provide a folder with a run that has ended, and a model from it."""
    footplate.write("train.py", *TRAIN)
    footplate("run", "--wait", "--no-stream", "--name", "a display name that no column has room for", "train.py")
    footplate("models", "register", "net", "outputs/model.txt", "--run", "latest")
    return footplate


def on_terminal(
    footplate: Any,
    *arguments: str,
    columns: int = 140,
    talk: bool = False,
    answer: str = "",
    code: int = 0,
    **variables: str,
) -> str:
    """Return the output of a command on a terminal of that width; with `talk`, including stderr.

    `answer` is typed before the command starts; the terminal keeps it until the command reads it.
    """
    ours, theirs = pty.openpty()
    os.write(ours, answer.encode())
    environment = {**os.environ, "TERM": "xterm-256color", "COLUMNS": str(columns), **variables}
    streams = {"stdin": theirs, "stdout": theirs, "stderr": theirs if talk else None}
    started = subprocess.Popen([*footplate.ENTRY, *arguments], cwd=footplate.folder, env=environment, **streams)
    os.close(theirs)
    shown = b""
    try:
        while piece := os.read(ours, 65536):
            shown += piece
    except OSError:  # Linux reports a closed other side like this
        pass
    os.close(ours)
    assert started.wait(120) == code
    return shown.decode()


def test_colours_and_plots_need_a_terminal(trained: Any) -> None:
    listed = on_terminal(trained, "runs", "list")
    assert "\x1b[32mCompleted" in listed
    assert "─────" in listed
    plotted = on_terminal(trained, "runs", "metrics", "latest", "--name", "loss")
    assert "loss  40 points, last value 0.025" in plotted
    assert "    1 ┤" in plotted
    assert "└────" in plotted
    plain = on_terminal(trained, "runs", "list", NO_COLOR="1")
    assert "\x1b" not in plain and "─────" in plain, "without colours, but still in lines that fit"
    assert "Completed" in plain
    shown = on_terminal(trained, "runs", "show", "latest")
    assert "\x1b[32mCompleted\x1b[0m" in shown and "�" not in shown
    assert "\x1b" not in trained("runs", "list").stdout
    assert "\x1b" not in trained("doctor").stdout


def test_plots_of_several_runs_fill_the_terminal(trained: Any) -> None:
    trained("run", "--wait", "--no-stream", "train.py")
    runs = [run["id"] for run in trained.json("runs", "list")]
    for columns in (80, 140):
        plotted = on_terminal(trained, "runs", "plot", *runs, "--metric", "loss", columns=columns, NO_COLOR="1")
        lines = plotted.splitlines()
        assert max(map(len, lines)) == columns
        assert lines[-2:] == [
            f"{letter} {run}  last 0.025  min 0.025  max 1" for letter, run in zip("AB", runs, strict=True)
        ]
    values = trained("runs", "plot", *runs, "-m", "loss").stdout.splitlines()
    assert values[0] == f"{runs[0]}\t0\t1" and len(values) == 80
    assert list(trained.json("runs", "plot", *runs, "-m", "loss")) == runs
    assert "did you mean 'loss'?" in trained("runs", "plot", *runs, "-m", "los", code=1).stderr
    assert "--metric: loss, score" in trained("runs", "plot", "latest", code=2).stderr


def test_images_are_shown_where_the_terminal_can(trained: Any) -> None:
    (run,) = trained.json("runs", "list")
    content = base64.b64encode(b"\x89PNG" + bytes(40)).decode()
    shown = on_terminal(trained, "runs", "images", "latest", TERM="xterm-kitty")
    assert shown.splitlines()[:2] == ["outputs/curve.png", f"\x1b_Ga=T,f=100,q=2,m=0;{content}\x1b\\"]
    elsewhere = on_terminal(trained, "runs", "images", "latest", talk=True, FOOTPLATE_IMAGES="none")
    assert f"  footplate runs download {run['id']} outputs/curve.png" in elsewhere
    assert [file["path"] for file in trained.json("runs", "images", "latest")] == ["outputs/curve.png"]
    assert "has no image 'outputs/model.txt'" in trained("runs", "images", "latest", "outputs/model.txt", code=1).stderr


def test_destructive_commands_ask_on_a_terminal(trained: Any, home: Path) -> None:
    (run,) = trained.json("runs", "list")
    delete = ("runs", "delete", "--force", "latest")
    refused = on_terminal(trained, *delete, talk=True, answer="n\n", code=130)
    assert f"delete {run['id']} for good? [y/N]:" in refused
    assert len(trained.json("runs", "list")) == 1
    kept = on_terminal(trained, "workspace", "delete", "--force", "testing", talk=True, answer="n\n", code=130)
    assert "delete workspace testing and everything in it for good? [y/N]:" in kept
    stayed = on_terminal(trained, "init", "elsewhere", talk=True, answer="\n", code=130)
    assert "this folder belongs to workspace testing (local/tests); connect it to elsewhere instead? [y/N]:" in stayed
    assert "1 run deleted" in on_terminal(trained, *delete, talk=True, answer="y\n")
    assert trained.json("runs", "list") == []


def test_tables_fit_a_narrow_terminal_with_whole_ids(trained: Any) -> None:
    (run,) = trained.json("runs", "list")
    for arguments in (
        ("runs", "list"),
        ("runs", "list", "--sort", "loss"),
        ("runs", "story", "latest"),
        ("runs", "metrics", "latest"),
        ("runs", "metrics", "latest", "--name", "loss"),
        ("runs", "plot", "latest", "-m", "loss", "-m", "score"),
        ("runs", "images", "latest"),
        ("models", "list"),
        ("env", "list", "--curated"),
        ("runs", "compare", "--all"),
    ):
        lines = _ESCAPE.sub("", on_terminal(trained, *arguments, columns=80)).splitlines()
        assert max(map(len, lines)) <= 80, arguments
        if arguments[:2] == ("runs", "list"):
            assert lines[2].startswith(f"{run['id']}  ")
            assert "…" in lines[2]


def seen_in_the_end(shown: str) -> list[str]:
    """Return the lines that remain after all erasures."""
    kept = shown.replace("\r\n", "\n").split("\n")
    return [_ESCAPE.sub("", line.rpartition("\r\x1b[2K")[2]) for line in kept]


def test_status_line_leaves_nothing_behind(footplate: Any) -> None:
    footplate.write(
        "slow.py",
        "import time",
        "print('half', end='', flush=True)",
        "time.sleep(1.5)",
        "print(' whole')",
        "print('end', end='')",
    )
    waited = on_terminal(footplate, "run", "--wait", "--no-stream", "slow.py", columns=60, talk=True)
    assert re.search("[⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏] Running  [0-9.]+s", waited)
    *_, submitted, ended, nothing = seen_in_the_end(waited)
    assert submitted.startswith("submitted slow_")
    assert ended.startswith("── Completed after")
    assert nothing == ""
    streamed = on_terminal(footplate, "run", "--wait", "slow.py", talk=True)
    assert seen_in_the_end(streamed)[-4:-2] == ["half whole", "end"], "the script's own lines are left alone"
    assert "\x1b[2K" not in on_terminal(footplate, "run", "--wait", "slow.py", talk=True, TERM="dumb")
    assert "\x1b" not in footplate("run", "--wait", "slow.py").stderr


def test_json_of_every_command_is_json(trained: Any) -> None:
    """Stdout holds nothing else."""
    trained("compute", "create", "pair", "--max-nodes", "2")
    for command in (
        "init other --path other",
        "run --wait --json train.py",
        "run --json train.py",
        "runs list --sort score",
        "runs show latest",
        "runs metrics latest",
        "runs metrics latest --system",
        "runs files latest",
        "runs download latest --to got",
        "runs story latest",
        "runs cancel latest",
        "experiments list",
        "models list",
        "models show net",
        "models register other train.py",
        "models download net --to got",
        "compute list",
        "compute show pair",
        "compute create pair --max-nodes 3",
        "server status",
        "doctor",
    ):
        words = command.split()
        printed = trained(*words, *([] if "--json" in words else ["--json"])).stdout
        found = json.loads(printed, parse_constant=_refuse)
        assert found or "--system" in words, command  # a run as short as this has no samples of the machine
    trained("runs", "logs", "-f", "latest")


def _refuse(word: str) -> None:
    raise AssertionError(f"{word} is not JSON")


def test_completion_offers_existing_names(trained: Any, home: Path) -> None:
    (run,) = trained.json("runs", "list")

    def offered(line: str) -> list[str]:
        words = {"_FOOTPLATE_COMPLETE": "bash_complete", "COMP_WORDS": line, "COMP_CWORD": str(line.count(" "))}
        return [each.partition(",")[2] for each in trained(**words).stdout.split()]

    assert offered("footplate runs show tr") == [run["id"]]
    assert offered("footplate runs show x") == []
    assert offered("footplate runs cancel tr") == [run["id"]]
    assert offered("footplate runs list -e t") == ["train"]
    assert offered("footplate models show n") == ["net"]
    assert offered("footplate runs metrics latest --name l") == ["loss"]
    assert "outputs/model.txt" in offered("footplate runs download latest outputs/")
    assert len(offered("footplate runs list -w ")) == 1, "the only workspace"

    trained("server", "stop")
    assert offered("footplate runs show tr") == [], "Tab starts no server"
    assert trained("server", "status", code=3).stdout.startswith("server  not running")


def test_doctor_fits_the_terminal(footplate: Any) -> None:
    lines = seen_in_the_end(on_terminal(footplate, "doctor", columns=80))
    assert any(line.startswith("ok") for line in lines)
    assert max(map(len, lines)) <= 80
