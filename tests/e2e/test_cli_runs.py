"""Commands that select, compare and change runs, against a real server."""

from __future__ import annotations

import json
import os
import subprocess
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from azureml.core import Experiment, Workspace
from footplate.testing.waiting import wait_until

pytestmark = pytest.mark.shared_home

TRAIN = (
    "import argparse",
    "from azureml.core import Run",
    "parser = argparse.ArgumentParser()",
    "parser.add_argument('--lr', type=float)",
    "rate = parser.parse_args().lr",
    "Run.get_context().log({'loss': rate, 'val': {'loss': 2 * rate}}, step=1)",
    "print('first line')",
    "print('last line')",
)


def test_show_names_the_commit_and_no_value_of_lists_and_images(footplate: Any) -> None:
    footplate.write(
        "train.py",
        "from azureml.core import Run",
        "run = Run.get_context()",
        "run.log_list('curve', [1, 2])",
        "run.log('loss', 0.5)",
        "run.tag('mlflow.model.net', 'x' * 1500)",
        "run.tag('kind', 'toy')",
    )
    known = {"AZUREML_GIT_COMMIT": "0123456789abcdef", "AZUREML_GIT_BRANCH": "main", "AZUREML_GIT_DIRTY": "True"}
    footplate("run", "--wait", "--no-stream", "train.py", **known)
    lines = footplate("runs", "show", "latest").stdout.splitlines()
    rows = dict(line.split(None, 1) for line in lines if len(line.split()) > 1)
    assert rows["metrics"] == "curve, loss=0.5"
    assert rows["commit"] == "0123456789ab on main, with uncommitted changes"
    assert rows["tags"] == "kind=toy"
    assert len(footplate.json("runs", "show", "latest")["tags"]["mlflow.model.net"]) == 1500


def test_list_and_show_reveal_that_a_run_has_children(footplate: Any) -> None:
    footplate.write(
        "train.py",
        "import sys",
        "from azureml.core import Run",
        "for number in range(int(sys.argv[1])):",
        "    with Run.get_context().child_run() as child:",
        "        child.log('fold', number)",
    )
    footplate("run", "--wait", "--no-stream", "train.py", "0")
    alone = footplate("runs", "list")
    assert "child" not in alone.stderr
    assert "children" not in footplate("runs", "show", "latest").stdout
    footplate("run", "--wait", "--no-stream", "train.py", "5")
    run = footplate.json("runs", "list", "-n", "1")[0]
    assert run["has_children"]
    assert f"{run['id']} has child runs; to see them, add --children" in footplate("runs", "list").stderr
    children = [view for view in footplate.json("runs", "list", "--children") if view["parent"] == run["id"]]
    lines = footplate("runs", "show", "latest").stdout.splitlines()
    shown = dict(line.split(None, 1) for line in lines if len(line.split()) > 1)
    oldest = [view["id"] for view in reversed(children)]
    assert len(oldest) == 5
    assert shown["children"] == f"5 runs: {', '.join(oldest[:3])}, …"
    table = footplate("runs", "list", "--children")
    assert table.stdout.splitlines()[0].split()[:2] == ["ID", "PARENT"]
    assert "has child runs" not in table.stderr


def test_umask_000_leaves_nothing_writable_for_others(footplate: Any, home: Path) -> None:
    footplate.write("train.py", "import os", "os.makedirs('outputs/deep')", "open('outputs/deep/x', 'w').write('1')")
    before = os.umask(0)
    try:
        footplate("server", "stop")
        footplate("run", "--wait", "--no-stream", "train.py")
    finally:
        os.umask(before)
    assert (home / "server.json").stat().st_mode & 0o777 == 0o600
    tops = [home / name for name in ("runs", "cache", "logs", "runtime", "work", "clock", "migrate.lock")]
    written = [path for top in tops for path in (top, *top.rglob("*")) if path.exists() and not path.is_symlink()]
    assert len(written) > 10
    assert [str(path) for path in written if path.stat().st_mode & 0o002] == []


def test_snapshot_restores_the_code_of_a_run(footplate: Any) -> None:
    footplate.write("train.py", "print('first')")
    (footplate.folder / "tool.sh").write_text("#!/bin/sh\n")
    (footplate.folder / "tool.sh").chmod(0o755)
    footplate("run", "--wait", "--no-stream", "train.py")
    run = footplate.json("runs", "list")[0]["id"]
    footplate.write("train.py", "print('second')")
    said = footplate("runs", "snapshot", "latest").stderr
    code = footplate.folder / f"{run}-code"
    assert str(code) in said
    assert (code / "train.py").read_text().strip() == "print('first')"
    assert os.access(code / "tool.sh", os.X_OK)
    again = footplate("runs", "snapshot", "latest", code=1).stderr
    assert "is not an empty folder" in again and "hint: choose another one" in again
    assert footplate.json("runs", "snapshot", "latest", "--to", "elsewhere")["files"] == len(list(code.iterdir()))


def test_runs_are_selected_compared_changed_and_deleted(footplate: Any, home: Path) -> None:
    footplate.write("train.py", *TRAIN)
    footplate("run", "--wait", "--no-stream", "--tag", "fold=1", "train.py", "--lr", "0.1")
    first = footplate.json("runs", "list")[0]
    assert first["parameters"] == {"lr": "0.1"}
    assert first["metrics"] == {"loss": 0.1, "val/loss": 0.2}, "a list as JSON has all metrics"
    assert footplate.json("runs", "show", "latest")["metrics"] == first["metrics"]
    footplate.write("helper.py", "x = 1")
    second = footplate("run", "--env", "SEED=2", "train.py", "--lr", "0.5").stdout.strip()
    footplate("runs", "logs", "-f", second)

    listed = footplate("runs", "list", "--where", "metrics.loss < 0.3 and params.lr <= 0.1 and started > '1h ago'")
    assert [line.split()[0] for line in listed.stdout.splitlines()[1:]] == [first["id"]]
    wrong = footplate("runs", "list", "--where", "metrics.los < 0.3", code=1).stderr
    assert "no run has the metric 'los'\nhint: did you mean 'loss'?" in wrong
    assert "\n                ^\n" in footplate("runs", "list", "--where", "metrics.loss <", code=1).stderr
    rows = footplate("runs", "list", "--columns", "id,params.lr,metrics.loss,tags.fold", "--csv").stdout.splitlines()
    assert rows == ["id,params.lr,metrics.loss,tags.fold", f"{second},0.5,0.5,", f"{first['id']},0.1,0.1,1"]
    assert json.loads(footplate("runs", "list", "--json", "params.lr").stdout) == [
        {"params.lr": "0.5"}, {"params.lr": "0.1"},
    ]  # fmt: skip
    compared = footplate("runs", "compare", first["id"][-8:], second).stdout.splitlines()
    assert compared[0].split() == ["ID", "NAME", "STATUS", "LR", "LOSS", "VAL/LOSS"]

    found = footplate.json("runs", "diff", first["id"], second)
    sections = {name: [change["what"] for change in found[name]] for name in found if name not in ("before", "after")}
    assert sections == {
        "arguments": ["lr", "$SEED"], "code": ["helper.py"], "environment": [], "data": [],
        "metrics": ["loss", "val/loss"],
    }  # fmt: skip
    shown = footplate("runs", "diff", first["id"], second)
    assert "the same: environment, data" in shown.stderr
    assert shown.stdout.splitlines()[1].split() == ["WHAT", first["id"], second]

    assert footplate("runs", "logs", second, "--tail", "1", "--rank", "0").stdout == "last line\n"
    whole = footplate("runs", "logs", second).stdout
    assert footplate("runs", "logs", second, "--since", "1h").stdout == whole
    assert footplate("runs", "logs", "-f", second, "--tail", "1").stdout == "last line\n", "nothing is printed twice"
    wait_until(lambda: footplate("runs", "logs", second, "--since", "1s").stdout == "")
    old = footplate("runs", "logs", second, "--since", "1s").stderr
    assert old == "nothing was written to user_logs/std_log.txt in the last 1s\n"
    assert footplate("runs", "logs", second, "--search", "LAST").stdout == "2:last line\n"
    assert footplate("runs", "logs", second, "--regex", "^first").stdout == "1:first line\n"
    assert footplate("runs", "logs", second, "--errors").stderr == "no line of user_logs/std_log.txt reports an error\n"
    around = [
        line.partition(" ")[2] for line in footplate("runs", "logs", second, "--around", "now").stdout.splitlines()
    ]
    assert around == whole.splitlines()
    assert "excludes -f" in footplate("runs", "logs", second, "--errors", "-f", code=2).stderr
    assert "not a time" in footplate("runs", "logs", second, "--around", "soon", code=2).stderr
    assert "has no file 'nothing.txt'" in footplate("runs", "logs", second, "--file", "nothing.txt", code=1).stderr
    footplate("runs", "rename", second, "the second")
    footplate("runs", "note", second, "worse")
    assert footplate("runs", "tag", second, "kept", "a=b").stdout == "a=b, kept\n"
    assert footplate("runs", "tag", second, "--remove", "kept").stdout == "a=b\n"
    footplate("runs", "archive", second)
    assert [run["id"] for run in footplate.json("runs", "list")] == [first["id"]]
    (archived,) = footplate.json("runs", "list", "--archived")
    assert (archived["display_name"], archived["description"], archived["tags"]) == ("the second", "worse", {"a": "b"})
    footplate("runs", "restore", second)
    assert len(footplate.json("runs", "watch")) == 2
    assert "had already ended: Completed" in footplate("runs", "cancel", second).stderr
    assert f"footplate runs rerun {second}" in footplate("runs", "restart", second, code=1).stderr

    kept = footplate.json("runs", "show", second)["snapshot"]
    refused = footplate("runs", "delete", first["id"], second, code=1).stderr
    assert refused.endswith(" for good? Nobody can answer here.\nhint: to do it without a question, add --yes\n")
    footplate("runs", "delete", first["id"], second, "--yes")
    assert footplate.json("runs", "list") == []
    assert "has no run" in footplate("runs", "show", second, code=1).stderr
    assert footplate.json("gc")["blobs"] == 0, "recent content stays"
    planned = footplate.json("gc", "--dry-run", "--older-than", "0s")
    assert planned["bytes"] > 0
    assert footplate.json("gc", "--older-than", "0s") == planned
    assert not list(home.glob(f"blobs/??/{kept}"))
    assert "freed 0 B in 0 files" in footplate("gc").stderr
    footplate("run", "--wait", "--no-stream", "train.py", "--lr", "0.1")


def test_exports_have_all_runs_and_tables_count_the_rest(footplate: Any, workspace: Workspace) -> None:
    experiment = Experiment(workspace, "many")
    for number in range(22):
        with experiment.start_logging(snapshot_directory=None) as run:
            run.log("number", number)
    where = ("--where", "metrics.number >= 0")
    for command in (("list",), ("list", *where), ("compare",)):
        assert len(footplate.json("runs", *command)) == 22, command
        assert len(footplate("runs", *command, "--csv").stdout.splitlines()) == 23, command
        shown = footplate("runs", *command)
        assert len(shown.stdout.splitlines()) == 21, command
        assert shown.stderr.endswith("20 of 22 runs; for more, use --limit 22\n"), command
        assert len(footplate.json("runs", *command, "--limit", "3")) == 3, command
    assert "of 22" not in footplate("runs", "list", "--limit", "22").stderr
    assert footplate("runs", "list", *where, "--limit", "2", "--json", "metrics.number").stdout == (
        '[\n  {\n    "metrics.number": 21\n  },\n  {\n    "metrics.number": 20\n  }\n]\n'
    )
    assert footplate("runs", "list", "--tag", "fold=1", code=1).stdout == ""
    _, created = footplate("runs", "list", "--csv", "--columns", "created", "-n", "1").stdout.splitlines()
    assert datetime.fromisoformat(created).utcoffset() == timedelta(0)
    assert abs(datetime.fromisoformat(created).timestamp() - footplate.json("runs", "list")[0]["created"]) < 0.01


def test_names_that_are_not_utf8_are_printed_and_downloaded(footplate: Any) -> None:
    footplate.write("odd.py", "with open(b'outputs/odd\\xff.txt', 'w') as file:", "    file.write('content')")
    footplate("run", "--wait", "--no-stream", "odd.py")

    def printed(*command: str) -> bytes:
        strict = {**os.environ, "PYTHONIOENCODING": "utf-8:strict"}  # as in a terminal
        argv = [*footplate.ENTRY, "runs", *command]
        done = subprocess.run(argv, cwd=footplate.folder, capture_output=True, timeout=90, env=strict)
        assert done.returncode == 0, done.stderr
        return done.stdout

    name = json.loads(printed("files", "latest", "--prefix", "outputs", "--json").decode("utf-8"))[0]["path"]
    assert name == os.fsdecode(b"outputs/odd\xff.txt")
    shown = printed("files", "latest", "--prefix", "outputs").decode("utf-8").split()[3]
    assert shown == "outputs/odd�.txt", "tables and jq print it like this"
    for place, path in (("folder", "outputs"), ("exact", name), ("shown", shown)):
        assert printed("download", "latest", path, "--to", place) == os.fsencode(f"{place}/{name}\n")
        assert (footplate.folder / place / name).read_text() == "content"
        assert place == "folder" or printed("logs", "latest", "--file", path) == b"content"
    assert json.loads(printed("download", "latest", name, "--to", "exact", "--json").decode()) == [f"exact/{name}"]


def test_a_failed_submission_leaves_no_experiment_behind(footplate: Any) -> None:
    footplate.write("train.py", *TRAIN)
    refused = footplate("run", "-e", "new-one", "-t", "no-such-target", "train.py", code=1)
    assert "no-such-target" in refused.stderr
    footplate("sweep", "run", "-e", "new-two", "-t", "no-such-target", "train.py", "--lr", "1,2", code=1)
    assert not {"new-one", "new-two"} & {each["name"] for each in footplate.json("experiments", "list")}
