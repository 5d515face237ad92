"""All commands, against a real server."""

from __future__ import annotations

import json
import signal
import time
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any

import joblib
import pytest
from sklearn.linear_model import LinearRegression

from footplate.cli.doctor import EXTRAS
from footplate.testing.waiting import wait_until

pytestmark = pytest.mark.shared_home

TRAIN = (
    "import sys",
    "from azureml.core import Run",
    "run = Run.get_context()",
    "for i in range(5):",
    "    run.log('loss', 1 / (i + 1))",
    "run.log('score', float(sys.argv[1]) if len(sys.argv) > 1 else 0.5)",
    "open('outputs/model.txt', 'w').write('weights')",
    "print('trained with', sys.argv[1:])",
)


def test_whole_loop_works(footplate: Any) -> None:
    footplate.write("train.py", *TRAIN)
    done = footplate("run", "--wait", "--tag", "data=may", "--name", "the first", "train.py", "0.9")
    assert done.stdout == "trained with ['0.9']\n"
    assert "── Running" in done.stderr
    assert "Completed after" in done.stderr

    (run,) = footplate.json("runs", "list", "--tag", "data=may", "--experiment", "train")
    assert run["status"] == "Completed"
    assert run["tags"] == {"data": "may"}
    assert run["display_name"] == "the first"
    shown = footplate("runs", "show", run["id"]).stdout
    assert "script      train.py 0.9" in shown
    assert footplate("runs", "logs", run["id"]).stdout == "trained with ['0.9']\n"
    assert footplate("runs", "logs", "-f", "--exit-code", "latest").stdout == "trained with ['0.9']\n"

    table = footplate("runs", "metrics", "latest").stdout.splitlines()
    assert [line.split()[:5] for line in table[1:]] == [
        ["loss", "5", "0.2", "0.2", "1"],
        ["score", "1", "0.9", "0.9", "0.9"],
    ]
    series = footplate("runs", "metrics", "latest", "--name", "loss").stdout.splitlines()
    assert series == ["0\t1", "1\t0.5", "2\t0.333333", "3\t0.25", "4\t0.2"]
    error = footplate("runs", "metrics", "latest", "--name", "los", code=1).stderr
    assert "has no metric 'los'\nhint: did you mean 'loss'?\n" in error
    error = footplate("runs", "metrics", "latest", "--name", "zzz", code=1).stderr
    assert f"hint: list its metrics with: footplate runs metrics {run['id']}" in error
    error = footplate("runs", "list", "--sort", "los", code=1).stderr
    assert error.endswith("error: no run has the metric 'los'\nhint: did you mean 'loss'?\n")

    paths = [file["path"] for file in footplate.json("runs", "files", "latest")]
    assert {"outputs/model.txt", "user_logs/std_log.txt"} <= set(paths)
    written = footplate.json("runs", "download", "latest", "outputs", "--to", "got")
    assert written == ["got/outputs/model.txt"]
    assert (footplate.folder / written[0]).read_text() == "weights"

    error = footplate("runs", "download", "latest", "weights", code=1).stderr
    assert "has no file or folder 'weights'" in error
    assert f"hint: list its files with: footplate runs files {run['id']}" in error

    story = footplate.json("runs", "story", "latest")
    assert [line["status"] for line in story][-1] == "Completed"
    assert any("the script runs" in line["text"] for line in story)


def test_a_model_is_converted_to_onnx(footplate: Any) -> None:
    joblib.dump(LinearRegression().fit([[0.0], [1.0]], [0.0, 2.0]), footplate.write("line.pkl", ""))
    footplate("models", "register", "line", "line.pkl", "--framework", "ScikitLearn")
    footplate.write("sample.json", "[[0], [0.5]]")
    made = footplate.json("models", "to-onnx", "line", "--sample", "sample.json")
    assert (made["version"], made["framework"], made["properties"]) == (2, "Onnx", {"converted_from": "line:1"})

    footplate.write("sample.json", "[[0]")
    assert "is not JSON" in footplate("models", "to-onnx", "line:1", "--sample", "sample.json", code=2).stderr
    footplate.write("wide.json", "[[0, 1, 2]]")
    refused = footplate("models", "to-onnx", "line:1", "--sample", "wide.json", code=1).stderr
    assert refused.splitlines()[-2:] == [
        "error: model line:1 was not converted: the sample does not fit the model: "
        "input 'data' has the shape [1, 3], and the model takes [any, 1]",
        "hint: give rows as the model takes them",
    ]


def test_a_web_service_is_deployed_called_and_deleted(footplate: Any) -> None:
    joblib.dump(LinearRegression().fit([[0.0], [1.0]], [0.0, 2.0]), footplate.write("line.pkl", ""))
    footplate("models", "register", "line", "line.pkl", "--framework", "ScikitLearn")
    address = footplate("models", "deploy", "line", "svc", "--key").stdout.strip()
    keys = footplate.json("endpoints", "keys", "svc")
    assert ask(address, keys["primary"]) == ask(address, keys["secondary"]) == 200
    lines = footplate("endpoints", "keys", "svc").stdout.splitlines()
    assert [line.split() for line in lines] == [["primary", keys["primary"]], ["secondary", keys["secondary"]]]
    renewed = footplate.json("endpoints", "keys", "svc", "--renew", "primary")
    assert renewed["secondary"] == keys["secondary"]
    wait_until(lambda: ask(address, keys["primary"]) == 401 and ask(address, renewed["primary"]) == 200)

    wrong = footplate("endpoints", "call", "svc", '{"data": [[1, 2]]}', code=1).stderr
    assert "status 400" in wrong and wrong.endswith("hint: see footplate endpoints logs svc\n")
    assert "add --yes" in footplate("endpoints", "delete", "svc", code=1).stderr
    assert [each["name"] for each in footplate.json("endpoints", "list")] == ["svc"]
    footplate("endpoints", "delete", "svc", "--yes")
    assert footplate.json("endpoints", "list") == []

    footplate("models", "deploy", "line", "open")
    refused = footplate("endpoints", "keys", "open", code=1).stderr
    assert "web service open requires no key\nhint: deploy it with one: " in refused
    footplate("endpoints", "delete", "open", "--yes")


def ask(address: str, key: str) -> int:
    """Return the status that a request with this key gets."""
    headers = {"Authorization": f"Bearer {key}", "Content-Type": "application/json"}
    try:
        with urllib.request.urlopen(urllib.request.Request(address, b'{"data": [[1]]}', headers), timeout=60) as answer:
            return answer.status
    except urllib.error.HTTPError as error:
        return error.code


def test_models_are_registered_listed_downloaded_and_deleted(footplate: Any) -> None:
    footplate.write("train.py", *TRAIN)
    footplate("run", "--wait", "--no-stream", "train.py")
    made = footplate("models", "register", "net", "outputs/model.txt", "--run", "latest", "--tag", "a=1")
    assert made.stdout == "net:1\n"
    footplate.write("other.txt", "other")
    assert footplate("models", "register", "net", "other.txt", "--description", "by hand").stdout == "net:2\n"
    assert [m["version"] for m in footplate.json("models", "list")] == [2, 1]
    assert [m["version"] for m in footplate.json("models", "list", "--tag", "a=1")] == [1]
    assert "by hand" in footplate("models", "show", "net").stdout
    assert footplate.json("models", "show", "net:1")["run"].startswith("train_")
    path = footplate("models", "download", "net:1", "--to", "models").stdout.strip()
    assert (footplate.folder / path).read_text() == "weights"
    again = footplate("models", "download", "net:1", "--to", "models", code=1)
    assert again.stderr.startswith("error: ") and "--overwrite" in again.stderr
    footplate("models", "download", "net:1", "--to", "models", "--overwrite")
    assert "add --yes" in footplate("models", "delete", "net:1", code=1).stderr
    assert [m["version"] for m in footplate.json("models", "list")] == [2, 1]
    footplate("models", "delete", "net:1", "--yes")
    assert [m["version"] for m in footplate.json("models", "list")] == [2]
    assert "has no version" in footplate("models", "delete", "net", code=2).stderr
    assert "'x' is not a version" in footplate("models", "show", "net:x", code=2).stderr
    assert footplate("models", "show", "nothing", code=1).stderr.startswith("error: ")
    missing = footplate("models", "register", "net", "nothing", code=1).stderr
    assert missing.startswith("error: there is no file or folder 'nothing'") and "\nhint: relative paths" in missing
    (footplate.folder / "taken").touch()
    blocked = footplate("models", "download", "net", "--to", "taken/below", code=1).stderr
    assert f"error: {footplate.folder}/taken/below: Not a directory\nhint: " in blocked


@pytest.mark.parametrize(
    ("line", "code", "words"),
    [
        ("sys.exit(0)", 0, "Completed"),
        ("sys.exit(3)", 3, "Failed"),
        ("raise ValueError('boom')", 1, "boom"),
        ("os.kill(os.getpid(), signal.SIGKILL)", 137, "Failed"),
    ],
)
def test_exit_code_is_the_outcome(footplate: Any, line: str, code: int, words: str) -> None:
    footplate.write("s.py", "import os, signal, sys", line)
    done = footplate("run", "--wait", "s.py", code=code)
    assert words in done.stderr
    shown = footplate("runs", "show", "latest").stdout
    assert ("because" in shown) == (code != 0)


def test_cancel_ends_the_run_with_exit_code_130(footplate: Any) -> None:
    footplate.write("long.py", "import time", "print('begun', flush=True)", "time.sleep(600)")
    waiting = footplate.open("run", "--wait", "long.py")
    assert waiting.stdout.readline() == "begun\n"
    done = footplate("runs", "cancel", "latest", "--reason", "enough seen")
    assert "latest" not in done.stderr
    assert waiting.wait(60) == 130
    assert "canceled by" in waiting.stderr.read()
    assert any("enough seen" in line["text"] for line in footplate.json("runs", "story", "latest"))


def test_ctrl_c_leaves_the_run_running(footplate: Any) -> None:
    footplate.write("long.py", "import time", "print('begun', flush=True)", "time.sleep(600)")
    waiting = footplate.open("run", "--wait", "long.py")
    assert waiting.stdout.readline() == "begun\n"
    waiting.send_signal(signal.SIGINT)
    assert waiting.wait(120) == 130
    said = waiting.stderr.read()
    assert "the run continues; cancel it with: footplate runs cancel long_" in said
    assert "watch it with: footplate runs logs -f long_" in said
    assert "Traceback" not in said
    (run,) = footplate.json("runs", "list", "--status", "running")
    footplate("runs", "cancel", run["id"])
    assert "canceled" in footplate("runs", "logs", "-f", run["id"]).stderr.lower()


def test_closed_pipe_is_not_an_error(footplate: Any) -> None:
    footplate.write("chatty.py", "for i in range(200000): print('line', i)")
    footplate("run", "--wait", "--no-stream", "chatty.py")
    reading = footplate.open("runs", "logs", "latest")
    assert reading.stdout.readline() == "line 0\n"
    reading.stdout.close()
    assert reading.wait(120) == 1
    assert reading.stderr.read() == ""


def test_runs_are_found_by_a_prefix_of_their_id(footplate: Any) -> None:
    error = footplate("runs", "show", "latest", code=1).stderr
    assert error == "error: workspace testing has no runs\nhint: submit one with: footplate run --wait SCRIPT\n"
    footplate.write("a.py", "pass")
    ids = [footplate("run", "-e", name, "a.py").stdout.strip() for name in ("same-one", "same-two", "other")]
    assert footplate.json("runs", "show", "oth")["id"] == ids[2]
    assert footplate.json("runs", "show", ids[0])["id"] == ids[0]
    assert footplate.json("runs", "show", "latest")["id"] == ids[2]
    error = footplate("runs", "show", "same", code=1).stderr
    assert "error: 'same' matches 2 runs: same-two_" in error
    assert "hint: type more of the id" in error
    error = footplate("runs", "show", "nobody", code=1).stderr
    assert "has no run whose id contains 'nobody'" in error
    assert "hint: list runs with: footplate runs list" in error
    for run in ids:
        footplate("runs", "logs", "-f", run)


def test_runs_are_sorted_by_a_metric(footplate: Any) -> None:
    footplate.write("train.py", *TRAIN)
    for score in ("0.2", "0.8", "0.5"):
        footplate("run", "--wait", "--no-stream", "train.py", score)
    lines = footplate("runs", "list", "--sort", "-score").stdout.splitlines()
    assert lines[0].split()[-1] == "SCORE"
    assert [line.split()[-1] for line in lines[1:]] == ["0.8", "0.5", "0.2"]
    lines = footplate("runs", "list", "--sort", "score", "-n", "1").stdout.splitlines()
    assert [line.split()[-1] for line in lines[1:]] == ["0.2"]
    listed = footplate.json("runs", "list", "--sort", "-score", "--columns", "metrics.score")
    assert [run["metrics"]["score"] for run in listed] == [0.8, 0.5, 0.2]
    error = footplate("runs", "list", "--experiment", "trian", code=1).stderr
    assert "there is no experiment 'trian' in workspace testing\nhint: did you mean 'train'?" in error


def test_run_options_reach_the_script(footplate: Any) -> None:
    footplate.write("show.py", "import os, sys", "print(os.environ['A'], os.environ['B'], sys.argv[1:])")
    footplate.write("variables", "# a comment", "", "A=from file", "B=from file")
    done = footplate("run", "--wait", "--env-file", "variables", "--env", "B=x=y", "show.py", "--lr", "-1")
    assert done.stdout == "from file x=y ['--lr', '-1']\n"
    assert "is not KEY=VALUE" in footplate("run", "--env", "B", "show.py", code=2).stderr
    assert "choose one of them" in footplate("run", "-r", "variables", "--python", "p", "show.py", code=2).stderr


def test_modules_shell_scripts_commands_and_data_run(footplate: Any) -> None:
    (footplate.folder / "pkg").mkdir()
    footplate.write("pkg/show.py", "import sys", "print('module', sys.argv[1:])")
    assert footplate("run", "--wait", "-m", "pkg.show", "--lr", "a  b").stdout == "module ['--lr', 'a  b']\n"
    footplate.write("hello.sh", "echo shell $1")
    assert footplate("run", "--wait", "hello.sh", "says hello").stdout == "shell says hello\n"
    footplate.write("words.txt", "data")
    footplate("datastore", "upload", "workspaceblobstore", "words.txt")
    footplate(
        "run", "--wait", "--input", "words=workspaceblobstore:words.txt", "--output", "kept=workspaceblobstore:made",
        "--", "sh", "-c", 'cp "$words" "$kept/copy.txt" && echo $0', "$words",
    )  # fmt: skip
    assert "copy.txt" in footplate("datastore", "ls", "workspaceblobstore", "made").stdout
    error = footplate("run", "trian.sh", code=2).stderr
    assert "the script 'trian.sh' does not exist" in error
    assert "hint: for a command: footplate run -- trian.sh" in error


def test_script_below_uses_this_folder_and_one_elsewhere_its_own(footplate: Any, tmp_path: Path) -> None:
    (footplate.folder / "src").mkdir()
    footplate.write("src/main.py", "import os", "print(sorted(os.listdir('.')))")
    footplate.write("data.txt", "x")
    assert "'data.txt'" in footplate("run", "--wait", "src/main.py").stdout
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "alone.py").write_text("import os\nprint(sorted(os.listdir('.')))\n")
    assert "'data.txt'" not in footplate("run", "--wait", str(elsewhere / "alone.py")).stdout


def test_errors_name_options_and_what_to_do(footplate: Any) -> None:
    footplate.write("s.py", "import no_such_package")
    failed = footplate("run", "--wait", "s.py", code=1).stderr
    assert "a line no_such_package in a requirements file, footplate run -r FILE" in failed
    assert "footplate run -r FILE" in footplate("runs", "show", "latest").stdout
    assert "error: --nodes is 100000\n" in footplate("run", "--nodes", "100000", "s.py", code=1).stderr


def test_json_of_a_waited_run_is_alone_on_stdout(footplate: Any) -> None:
    footplate.write("s.py", "print('to stderr, please')")
    done = footplate("run", "--wait", "--json", "s.py")
    assert json.loads(done.stdout)["status"] == "Completed"
    assert "to stderr, please" in done.stderr


def test_workspace_comes_from_the_folder(bare: Any, home: Path) -> None:
    assert "hint: create one with: footplate init" in bare("runs", "list", code=1).stderr
    made = bare.json("init", "--name", "first-one", "--path", "sub")
    assert made["workspace"] == "first-one"
    assert json.loads((bare.folder / "sub" / ".azureml" / "config.json").read_text())["Scope"].endswith("/first-one")
    assert bare("runs", "list").stderr == "no runs\n", "the only workspace there is needs no name"
    bare("init", "second-one", "--path", "other")
    assert "use one" in bare("init", "one-name", "--name", "other-name", code=2).stderr
    error = bare("runs", "list", code=1).stderr
    assert "there are 2: first-one, second-one" in error
    assert "--workspace" in error
    assert bare("runs", "list", "-w", "second-one").stderr == "no runs\n"
    assert "there is no workspace 'third'" in bare("runs", "list", "-w", "third", code=1).stderr
    assert bare.json("init", "--name", "first-one", "--path", "sub")["id"] == made["id"]
    assert bare.json("init", "--path", "sub")["id"] == made["id"], "without a name nothing changes"
    moved = bare("init", "second-one", "--path", "sub").stderr
    assert "this folder moved from workspace first-one to second-one" in moved
    bare("workspace", "use", "first-one")
    assert bare.json("workspace", "show")["id"] == made["id"]
    listed = [line.split()[:2] for line in bare("workspace", "list").stdout.splitlines()[1:]]
    assert listed == [["*", "first-one"], ["second-one", "local"]]
    bare.write("s.py", "print('hello')")
    bare("run", "--wait", "s.py")
    assert "add --yes" in bare("workspace", "delete", "first-one", "--force", code=1).stderr
    assert "it has 1 run\n" in bare("workspace", "delete", "first-one", "--yes", code=1).stderr
    bare("workspace", "delete", "first-one", "--force", "--yes")
    assert [view["name"] for view in bare.json("workspace", "list")] == ["second-one"]


def test_experiments_are_listed_and_archived(footplate: Any) -> None:
    footplate.write("a.py", "pass")
    for name in ("one", "two"):
        footplate("run", "-e", name, "--wait", "--no-stream", "a.py")
    footplate("experiments", "archive", "one")
    assert [e["name"] for e in footplate.json("experiments", "list")] == ["two"]
    assert [e["name"] for e in footplate.json("experiments", "list", "--archived")] == ["one"]
    assert len(footplate.json("runs", "list")) == 2, "archiving hides no runs"
    footplate("experiments", "reactivate", "one")
    assert {e["name"] for e in footplate.json("experiments", "list")} == {"one", "two"}
    error = footplate("experiments", "archive", "three", code=1).stderr
    assert "has no experiment 'three'" in error
    assert "hint: it has: one, two" in error


def test_cluster_queue_gives_its_reasons(footplate: Any) -> None:
    footplate.write("wait.py", "import time", "print('begun', flush=True)", "time.sleep(600)")
    footplate("compute", "create", "single", "--max-nodes", "1")
    first = footplate.open("run", "-t", "single", "--wait", "wait.py")
    assert first.stdout.readline() == "begun\n"
    second = footplate("run", "-t", "single", "wait.py").stdout.strip()
    end = time.monotonic() + 20
    while "waiting" not in (shown := footplate("runs", "show", second).stdout):
        assert time.monotonic() < end
    assert "position 1: 1 of 1 node of 'single' is busy" in shown
    assert footplate.json("compute", "show", "single")["busy_nodes"] == 1
    (anywhere,) = footplate.json("compute", "queue")
    assert (anywhere["run"], anywhere["target"], anywhere["position"]) == (second, "single", 1)
    queue = footplate("compute", "queue").stdout
    assert queue.splitlines()[1].split()[:5] == ["1", second, "single", "1", "0"], "place, run, target, nodes, GPUs"
    assert "30d" not in queue, "no run has a time limit of its own"
    row = next(line for line in footplate("compute", "queue", "single").stdout.splitlines() if second in line)
    assert row.split()[:4] == ["1", second, "1", "0"], "place, run, nodes, GPUs"
    (queued,) = footplate.json("compute", "queue", "single")
    assert (queued["nodes"], queued["gpus"]) == (1, 0)
    assert (queued["run"], queued["position"], queued["reason"]) == (second, 1, "1 of 1 node of 'single' is busy")
    row = next(line for line in footplate("compute", "list").stdout.splitlines() if line.startswith("single"))
    assert row.split()[1:6] == ["local", "1", "0", "1", "1"]
    footplate("runs", "cancel", second, "latest", footplate.json("runs", "list", "--status", "running")[0]["id"])
    assert first.wait(60) == 130
    nobody = footplate("compute", "queue", "single")
    assert (nobody.stdout, nobody.stderr) == ("", "no runs wait for single\n")
    assert footplate("compute", "queue").stderr == "no runs wait\n"
    assert "add --yes" in footplate("compute", "delete", "single", code=1).stderr
    assert "0 busy, 1 idle, at most 1" in footplate("compute", "show", "single").stdout
    footplate("compute", "delete", "single", "--yes")
    assert [c["name"] for c in footplate.json("compute", "list")] == ["local"]
    assert "the target 'local' cannot be deleted" in footplate("compute", "delete", "local", "--yes", code=1).stderr


def test_doctor_reports_the_installation(footplate: Any, home: Path) -> None:
    findings = {f["name"]: f for f in footplate.json("doctor")}
    assert {f["state"] for f in findings.values()} <= {"ok", "warn"}
    assert {"python", "home", "space", "socket", "server", "database", "uv", "git"} <= set(findings)
    assert str(home) in findings["database"]["message"]
    assert {"gpu", "fuse", "containers", "mpi", *EXTRAS} <= set(findings)
    assert "py-spy installed" in findings["debug"]["message"]
    footplate("server", "stop")
    (home / "footplate.db").write_bytes(b"this is no database" * 1000)
    for name in ("footplate.db-wal", "footplate.db-shm"):
        (home / name).unlink(missing_ok=True)
    done = footplate("doctor", code=1)
    assert "fail  database" in done.stdout
    assert "failed: server, database" in done.stderr
    assert json.loads(footplate("doctor", "--json", code=1).stdout)[0]["state"] == "ok"


def test_team_server_requires_its_token(bare: Any, home: Path, tmp_path: Path) -> None:
    serving = bare.open("server", "--host", "127.0.0.1", "--port", "0")
    wait_until((home / "server.json").exists)
    url = json.loads((home / "server.json").read_text())["url"]
    token = (home / "token").read_text().strip()
    elsewhere = {"FOOTPLATE_HOME": str(tmp_path / "elsewhere")}
    refused = bare("init", "--server", url, "--name", "vision", code=1, **elsewhere)
    assert "set FOOTPLATE_TOKEN" in refused.stderr
    known = {**elsewhere, "FOOTPLATE_TOKEN": token}
    bare("init", "--server", url, "--name", "vision", **known)
    bare.write("s.py", "print('from afar')")
    assert bare("run", "--wait", "s.py", **known).stdout == "from afar\n"
    assert f"ok    server      {url}, version " in bare("doctor", **known).stdout
    assert "fail  server" in bare("doctor", code=1, **elsewhere, FOOTPLATE_TOKEN="another").stdout
    assert json.loads(bare("server", "status", "--json", **known).stdout)["url"] == url
    assert "not available" in bare("server", "status", code=3, **elsewhere).stdout
    assert len(json.loads(bare("runs", "list", "-w", "vision", "--json", **known).stdout)) == 1
    second = bare("server", "--host", "127.0.0.1", "--port", "0", code=1)
    assert "hint: stop it first, its runs continue: footplate server stop" in second.stderr
    assert token not in (bare.folder / ".azureml" / "config.json").read_text()
    assert not (tmp_path / "elsewhere" / "server.json").exists(), "no server of its own was started"
    serving.terminate()
    assert serving.wait(120) == 0
