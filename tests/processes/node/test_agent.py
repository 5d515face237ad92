"""The agent as a process, against a fake server that records the requests."""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

import footplate
from footplate.content.blobs import BlobFolder
from footplate.domain.orders import Lock, MpiOrders, Program
from footplate.job.journal_format import Decoder
from footplate.node import process_tree
from footplate.testing.waiting import wait_until

RUN = "fake_1"
STD = "user_logs/std_log.txt"


def wait_for_output(node: Any, line: bytes = b"\n") -> None:
    node.server.wait(lambda: line in node.server.logs.get(STD, b""))


def points(node: Any, writer: str, run: str = RUN) -> list[tuple[str, Any]]:
    """Return the logged points as the server received them."""
    text = node.server.journals[f"{run}/{writer}.text"]
    decoder = Decoder(lambda offset, length: text[offset : offset + length])
    return [(p.name, p.value) for p in decoder.feed(node.server.journals[f"{run}/{writer}.slots"])]


def rank_writers(node: Any, run: str = RUN) -> list[str]:
    prefix = f"{run}/rank_"
    return [n[len(run) + 1 : -6] for n in node.server.journals if n.startswith(prefix) and n.endswith(".slots")]


# ── The way it should go ──────────────────────────────────────────────────────────────────────────────────────────────


AGENT_IMPORTS = """
import sys
sys.path.append(sys.argv[1])
from footplate.api import nodes
from footplate.node import agent
print(*sorted(sys.modules))
"""


def test_ranks_do_not_wait_for_modules_that_they_do_not_need() -> None:
    source = Path(footplate.__file__).parent.parent
    argv = [sys.executable, "-I", "-S", "-c", AGENT_IMPORTS, str(source)]
    loaded = set(subprocess.run(argv, capture_output=True, text=True, check=True).stdout.split())
    later = {"reporting", "shipper", "salvage"}
    assert "footplate.node.agent" in loaded
    assert not loaded & {f"footplate.node.delivery.{name}" for name in later}
    assert not loaded & {
        f"footplate.node.{name}" for name in ("ranks.containers", "node_data", "mpi", "sampler", "stacks")
    }
    assert not loaded & {f"footplate.domain.{name}" for name in ("launch", "records", "replies", "shipments", "specs")}
    assert not loaded & {"argparse", "ctypes", "logging", "ssl", "subprocess", "tempfile", "uuid", "zipfile"}


def test_a_script_runs_from_join_to_done(node: Any) -> None:
    node.script(
        "import os, sys\n"
        "print('hello', sys.argv[1:], os.path.basename(os.getcwd()), flush=True)\n"
        "print('to stderr', file=sys.stderr)\n"
        "open('outputs/model.bin', 'wb').write(b'weights')\n"
        "open('logs/train.log', 'w').write('step 1\\n')\n",
        "--rank", "$FOOTPLATE_RANK",
    )  # fmt: skip
    assert node.run() is None
    assert node.server.names() == ["started", "exited", "done"]
    assert node.server.logs[STD] == b"hello ['--rank', '0'] wd\nto stderr\n"
    assert node.server.logs["logs/train.log"] == b"step 1\n"
    assert node.content("outputs/model.bin") == b"weights"
    assert b"started rank 0" in node.server.logs["system_logs/node_0.txt"]
    assert not (node.home / "work" / RUN).exists()
    join = node.server.joins[0]
    assert join["attempt"] == 1 and join["info"]["cpus"] == os.cpu_count()


@pytest.mark.parametrize("is_killed", [False, True])
def test_files_of_the_snapshot_are_outputs_only_when_they_change(node: Any, is_killed: bool) -> None:
    """A file that the script writes again with the same content is an output; an agent that takes over knows it too."""
    for folder in ("outputs/deep", "logs"):
        (node.source / folder).mkdir(parents=True)
        for name in ("read", "again", "grown", "replaced"):
            (node.source / folder / name).write_text("old\n")
    node.script(
        "import os, sys, time\n"
        "from pathlib import Path\n"
        "for folder in map(Path, ('outputs/deep', 'logs')):\n"
        "    print(folder / 'read', (folder / 'read').read_text(), end='', flush=True)\n"
        "    (folder / 'again').write_text('old\\n')\n"
        "    (folder / 'grown').open('a').write('new\\n')\n"
        "    (folder / 'tmp').write_text('new\\n')\n"
        "    os.replace(folder / 'tmp', folder / 'replaced')\n"
        "while not os.path.exists(sys.argv[1]): time.sleep(0.01)\n",
        str(node.home / "gate"),
    )
    agent = node.start()
    wait_for_output(node, b"logs/read old")
    if is_killed:
        agent.kill()
        agent.wait()
        agent = node.start()
    (node.home / "gate").touch()
    assert agent.wait(60) == 0, node.log()
    changed = {"again": b"old\n", "grown": b"old\nnew\n", "replaced": b"new\n"}
    outputs = {name: node.content(name) for name in node.server.files}
    assert outputs == {f"outputs/deep/{name}": content for name, content in changed.items()}
    logs = {name: content for name, content in node.server.logs.items() if name.startswith("logs/")}
    assert logs == {f"logs/{name}": content for name, content in changed.items()}


@pytest.mark.parametrize("refuses", [False, True])
def test_an_agent_with_orders_joins_with_its_first_report(node: Any, refuses: bool) -> None:
    """A server that refuses a shipment gets everything one by one, beginning with the request to join."""
    node.server.refuses_shipments = refuses
    node.script("print('well done')")
    agent = node.start(has_orders=True)
    assert agent.wait(60) == 0, node.log()
    joined = ["joined"] if not refuses else []
    assert node.server.names() == [*joined, "started", "exited", "done"]
    assert len(node.server.joins) == refuses
    host = node.server.joins[0] if refuses else node.server.events[0]["host"]
    assert host["address"] == "127.0.0.1" and host["info"]["pid"] == agent.pid
    assert node.server.logs[STD] == b"well done\n"


def test_a_command_finds_the_python_of_its_environment(node: Any) -> None:
    node.give(Program(command="python -c 'import sys; print(sys.executable)'; echo $0 done"))
    assert node.run() is None
    assert node.server.logs[STD].decode().splitlines() == [sys.executable, "/bin/sh done"]


def test_python_is_the_interpreter_whatever_its_name(node: Any, tmp_path: Path) -> None:
    odd = tmp_path / "it's mine"
    odd.mkdir()
    (odd / "py").symlink_to(sys.executable)
    lock = Lock("d" * 64, "existing", {"interpreter": str(odd / "py")})
    node.give(Program(command="python -c 'import sys; print(sys.executable)'"), lock=lock)
    assert node.run() is None
    assert node.server.logs[STD].decode().strip() == str(odd / "py")


def test_a_rank_finds_its_variables(node: Any) -> None:
    node.script(
        "import json, os; print(json.dumps(dict(os.environ)))",
        variables={"MINE": "1", "PYTHONPATH": "/users/own", "AZUREML_RUN_ID": RUN},
    )
    assert node.run(AZUREML_STALE="x", FOOTPLATE_SECRET="x", TZ="y", OF_THE_STARTER="z") is None
    seen = json.loads(node.server.logs[STD])
    runtime = node.home / "runtime"
    assert seen["MINE"] == "1" and seen["TZ"] == "y" and "OF_THE_STARTER" not in seen and seen["AZUREML_RUN_ID"] == RUN
    assert "AZUREML_STALE" not in seen and "FOOTPLATE_SECRET" not in seen and process_tree.MACHINERY not in seen
    assert (seen["FOOTPLATE_RUN_ID"], seen["FOOTPLATE_NODE"], seen["FOOTPLATE_RANK"]) == (RUN, "0", "0")
    assert seen["FOOTPLATE_ENDPOINT"] == node.server.endpoint
    assert seen["PYTHONPATH"].startswith(str(runtime)) and ":/users/own:" in seen["PYTHONPATH"]
    assert seen["PYTHONUNBUFFERED"] == "1"
    assert Path(seen["FOOTPLATE_JOURNALS"]).name == "journals" and Path(seen["FOOTPLATE_EXITS"]).name == "exits"


def test_each_rank_has_its_own_variables_and_its_own_log(node: Any) -> None:
    node.script("import os; print(os.environ['RANK'], os.environ['WORLD_SIZE'])", ranks=2)
    assert node.run() is None
    logs = {name: data for name, data in node.server.logs.items() if name.startswith("user_logs")}
    assert logs == {
        "user_logs/std_log_process_00.txt": b"0 2\n",
        "user_logs/std_log_process_01.txt": b"1 2\n",
    }


def test_output_and_metrics_arrive_while_the_rank_runs(node: Any) -> None:
    node.script(
        "import os, time\n"
        "from footplate.job.journal import Journal\n"
        "journal = Journal(os.path.join(os.environ['FOOTPLATE_JOURNALS'], os.environ['FOOTPLATE_RUN_ID']))\n"
        "print('first'); journal.log('loss', 0.5)\n"
        "while not os.path.exists('go'): time.sleep(0.01)\n"
        "journal.log('loss', 0.25); print('second')\n"
    )
    agent = node.start()
    node.server.wait(lambda: node.server.logs.get(STD) == b"first\n" and rank_writers(node))
    (writer,) = rank_writers(node)
    node.server.wait(lambda: len(points(node, writer)) == 1)
    (node.folder / "wd" / "go").touch()
    assert agent.wait(120) == 0
    assert points(node, writer) == [("loss", 0.5), ("loss", 0.25)]
    assert node.server.logs[STD] == b"first\nsecond\n"


def test_a_replaced_log_is_replaced_at_the_server(node: Any) -> None:
    node.script(
        "import os, time\n"
        "def write(text, to='logs/state'):\n"
        "    open(to + '.new', 'w').write(text); os.replace(to + '.new', to)\n"
        "write('one, rather long\\n')\n"
        "while not os.path.exists('go1'): time.sleep(0.01)\n"
        "write('two\\n')\n"
        "while not os.path.exists('go2'): time.sleep(0.01)\n"
        "open('logs/state', 'w').write('TWO\\nand three\\n')\n"
    )
    agent = node.start()
    for step, text in (("go1", b"one, rather long\n"), ("go2", b"two\n")):
        node.server.wait(lambda t=text: node.server.logs.get("logs/state") == t)
        (node.folder / "wd" / step).touch()
    assert agent.wait(120) == 0
    assert node.server.logs["logs/state"] == b"TWO\nand three\n"


def test_samples_of_the_machine_are_marked_as_system(node: Any) -> None:
    node.give(Program(command="while ! [ -e ../journals/*/node_0.slots ]; do sleep 0.05; done"))
    assert node.run() is None
    seen = dict(points(node, "node_0"))
    assert seen["system/node_0/memory_used_bytes"] > 0
    assert {"system/node_0/cpu_percent", "system/node_0/disk_free_bytes"} <= set(seen)
    assert node.server.system == {f"{RUN}/node_0.slots", f"{RUN}/node_0.text"}


def test_journals_of_child_runs_go_to_the_children(node: Any) -> None:
    node.script(
        "import os\n"
        "from footplate.job.journal import Journal\n"
        "Journal(os.path.join(os.environ['FOOTPLATE_JOURNALS'], 'child_7')).log('x', 1)\n"
    )
    assert node.run() is None
    (writer,) = rank_writers(node, "child_7")
    assert points(node, writer, "child_7") == [("x", 1)]


def test_outputs_with_odd_names_links_and_special_files(node: Any, tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_text("not yours")
    node.script(
        "import os\n"
        "os.makedirs('outputs/deep/er'); os.makedirs('elsewhere')\n"
        "open('outputs/deep/er/sp ace#?%.txt', 'w').write('odd')\n"
        "open(b'outputs/\\xff\\xfe', 'w').write('no utf-8')\n"
        "open('elsewhere/x', 'w').write('inside')\n"
        "os.symlink('../elsewhere', 'outputs/linked'); os.symlink('.', 'outputs/loop')\n"
        f"os.symlink({str(secret)!r}, 'outputs/leak'); os.symlink('nowhere', 'outputs/dangling')\n"
        "os.mkfifo('outputs/pipe')\n"
    )
    assert node.run() is None
    assert set(node.server.files) == {"outputs/deep/er/sp ace#?%.txt", "outputs/\udcff\udcfe", "outputs/linked/x"}
    assert node.content("outputs/linked/x") == b"inside"
    said = node.server.logs["system_logs/node_0.txt"].decode()
    assert "outputs/leak is not kept: it is a link that leaves the working directory" in said
    assert "outputs/pipe is not kept" in said and "outputs/loop is not kept" in said


# ── Failures, in words ────────────────────────────────────────────────────────────────────────────────────────────────


def test_an_exception_becomes_the_cause(node: Any) -> None:
    node.script("open('outputs/partial', 'w').write('x')\nprint('before')\nraise ValueError('bad learning rate')")
    cause = node.run()
    assert (cause["code"], cause["message"]) == ("user_exception", "ValueError: bad learning rate")
    assert cause["exit_code"] == 1 and cause["rank"] == 0
    assert "raise ValueError" in cause["traceback"]
    assert cause["last_lines"][0] == "before" and "bad learning rate" in cause["last_lines"][-1]
    assert node.content("outputs/partial") == b"x"


@pytest.mark.parametrize(
    ("text", "code", "message"),
    [
        ("import sys; sys.exit(3)", "exit_code", "ended with exit code 3"),
        ("import os; os.kill(os.getpid(), 11)", "signal", "crashed with a segmentation fault (SIGSEGV)"),
        ("import os; os.kill(os.getpid(), 9)", "signal", "ended by SIGKILL, which Footplate did not send"),
    ],
)
def test_exit_codes_and_signals_become_the_cause(node: Any, text: str, code: str, message: str) -> None:
    node.script(text)
    cause = node.run()
    assert (cause["code"], cause["message"]) == (code, message)


def test_a_missing_script_is_named(node: Any) -> None:
    node.give(Program(script="train.py"))
    cause = node.run()
    assert cause["code"] == "start_failed" and "'train.py'" in cause["message"] and cause["hint"]
    assert node.server.names() == ["exited", "done"]


def test_a_missing_interpreter_is_named(node: Any) -> None:
    node.script("", lock=Lock("d" * 64, "existing", {"interpreter": "/nowhere/python"}))
    cause = node.run()
    assert cause["code"] == "environment_failed" and "/nowhere/python" in cause["message"]


def test_an_unforeseen_error_is_reported(node: Any) -> None:
    node.script("", mpi=MpiOrders((), 1, "s3cret"))
    node.server.orders["ranks"] = []
    cause = node.run()
    assert cause["message"] == "the ranks could not be started: IndexError: tuple index out of range"
    assert "report" in cause["hint"]
    assert b"Traceback" in node.server.logs["system_logs/node_0.txt"]


def test_a_missing_snapshot_fails_the_run(node: Any) -> None:
    node.script("")
    node.server.orders["snapshot"] = "0" * 64
    assert node.run()["code"] == "snapshot_failed"


def test_an_impossible_argument_fails_the_run(node: Any) -> None:
    node.script("", "a\0b")
    cause = node.run()
    assert cause["code"] == "start_failed"


def test_the_first_failed_rank_is_named_and_the_others_are_ended(node: Any) -> None:
    node.script(
        "import os, time\n"
        "if os.environ['RANK'] == '1': raise RuntimeError('it was me')\n"
        "time.sleep(600)\n",
        ranks=3,
    )  # fmt: skip
    cause = node.run()
    assert (cause["message"], cause["rank"]) == ("RuntimeError: it was me", 1)


LEAVES_ITS_GROUP = """
import os, time
if os.environ["RANK"] == "1":
    try:
        raise ValueError("it was me")
    finally:
        open("outputs/left", "w").close()
        time.sleep(0.7)
while not os.path.exists("outputs/left"):
    time.sleep(0.01)
raise ConnectionResetError("the other is gone")
"""


def test_a_rank_that_leaves_its_group_before_it_fails_is_the_root_cause(node: Any) -> None:
    """As with `finally: destroy_process_group()`: the others fail long before its exception is reported."""
    node.script(LEAVES_ITS_GROUP, ranks=2, processes=2)
    cause = node.run()
    assert (cause["rank"], cause["exception"]) == (1, "ValueError")


def test_a_report_of_a_lost_peer_is_final_after_a_while(node: Any) -> None:
    node.script(
        "import os, time\n"
        "if os.environ['RANK'] == '1': raise ConnectionResetError('the other is gone')\n"
        "time.sleep(600)\n",
        ranks=2,
    )  # fmt: skip
    cause = node.run()
    assert (cause["rank"], cause["exception"]) == (1, "ConnectionResetError")


def test_a_failure_after_the_script_has_ended_is_not_the_root_cause(node: Any) -> None:
    """The rank reported a good end, and a library aborts it at the end of its process when others fail."""
    node.script(
        "import atexit, os, signal, time\n"
        "def wait_and_abort():\n"
        "    while not os.path.exists('outputs/failed'): time.sleep(0.01)\n"
        "    os.kill(os.getpid(), signal.SIGABRT)\n"
        "if os.environ['RANK'] == '0':\n"
        "    atexit.register(wait_and_abort)\n"
        "    open('outputs/over', 'w').close()\n"
        "else:\n"
        "    while not os.path.exists('outputs/over'): time.sleep(0.01)\n"
        "    time.sleep(0.3)\n"
        "    atexit.register(lambda: (open('outputs/failed', 'w').close(), time.sleep(0.5)))\n"
        "    raise ValueError('it was me')\n",
        ranks=2, processes=2,
    )  # fmt: skip
    cause = node.run()
    assert (cause["rank"], cause["exception"]) == (1, "ValueError")


def test_a_rank_that_raised_and_hangs_has_failed(node: Any) -> None:
    """A thread keeps it alive, and makes the exception look an hour old."""
    node.script(
        "import os, threading, time\n"
        "def stay():\n"
        "    note = os.environ['FOOTPLATE_EXITS'] + '/rank_1.json'\n"
        "    while not os.path.exists(note): time.sleep(0.01)\n"
        "    os.utime(note, (time.time() - 3600,) * 2)\n"
        "    time.sleep(600)\n"
        "if os.environ['RANK'] == '1':\n"
        "    threading.Thread(target=stay).start()\n"
        "    raise ValueError('it was me')\n"
        "time.sleep(600)\n",
        ranks=2, processes=2,
    )  # fmt: skip
    cause = node.run(options=("--linger", "0.5"))
    assert (cause["rank"], cause["message"]) == (1, "rank 1 on node 0: ValueError: it was me")


def test_the_time_limit_ends_the_ranks(node: Any) -> None:
    node.script("import time; print('on'); time.sleep(600)", max_seconds=0.4)
    cause = node.run()
    assert (cause["code"], cause["message"]) == ("time_limit", "ran longer than the limit of 0.4 seconds")


SAVES = """
import os, signal, subprocess, sys, time
subprocess.Popen(["sleep", "600"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
os.makedirs("checkpoints", exist_ok=True)
def save(*_):
    with open("checkpoints/last.txt", "w") as file:
        file.write("saved")
    sys.exit(3)
if os.environ.get("RANK", "0") == "0":
    signal.signal(signal.SIGUSR1, save)
print("ready", flush=True)
while True:
    time.sleep(0.1)
"""
WARNED = {"warning_signal": "SIGUSR1", "max_seconds": 3600.0}


@pytest.mark.parametrize("ranks", [1, 2])
def test_ranks_that_handle_the_signal_are_warned_and_saved(node: Any, ranks: int) -> None:
    """Neither a rank without a handler nor a process that a rank has started gets the signal."""
    node.script(SAVES, ranks=ranks, processes=ranks, warning_seconds=3599.99, **WARNED)
    cause = node.run()
    assert (cause["code"], cause["exit_code"], cause["rank"]) == ("time_limit", 3, 0)
    assert "ended after the warning of the time limit" in cause["message"]
    log = node.server.logs[STD if ranks == 1 else "user_logs/std_log_process_00.txt"].decode()
    assert log.count("──── the time limit is near: SIGUSR1") == 1
    assert list(node.server.checkpoints) == ["checkpoints/last.txt"]


def test_the_warning_of_the_engine_reaches_a_script_below_shells(node: Any) -> None:
    (node.source / "train.py").write_text(SAVES)
    (node.source / "train.sh").write_text("python train.py | cat\nexit 5\n")
    node.give(Program(command="bash train.sh; exit 4"), warning_seconds=1.0, **WARNED)
    agent = node.start()
    wait_for_output(node, b"ready\n")
    agent.send_signal(signal.SIGUSR1)
    assert agent.wait(60) == 0, node.log()
    cause = node.server.cause()
    assert (cause["code"], cause["exit_code"]) == ("engine_time_limit", 4)
    assert list(node.server.checkpoints) == ["checkpoints/last.txt"]


@pytest.mark.parametrize(("boot", "ends"), [("this", True), ("another", False)])
def test_the_time_limit_counts_from_the_first_agent_on(node: Any, boot: str, ends: bool) -> None:
    """By the monotonic clock, which counts from boot: a jump of the wall clock changes nothing."""
    node.script("print('up', flush=True); import time; time.sleep(600)", max_seconds=3600)
    first = node.start()
    wait_for_output(node)
    first.kill()
    first.wait()
    path = node.folder / "state.json"
    state = json.loads(path.read_text())
    assert abs(state["began"] - time.monotonic()) < 600 and state["boot"] == process_tree.boot()
    state["began"] -= 3601
    path.write_text(json.dumps({**state, "boot": state["boot"] if boot == "this" else "x"}))
    second = node.start(FOOTPLATE_GRACE_SECONDS="0.3")
    wait_until(lambda: "took over" in node.log())
    if not ends:
        second.terminate()
    assert second.wait(120) == 0
    assert node.server.cause()["code"] == ("time_limit" if ends else "agent_stopped")


# ── Being stopped ─────────────────────────────────────────────────────────────────────────────────────────────────────

# A rank with a daemon in a session of its own; both ignore SIGTERM.
DEAF = """
import os, signal, sys, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
open('outputs/early', 'w').write('kept')
if os.fork() == 0:
    os.setsid()
    if os.fork():
        os._exit(0)
    os.environ.clear()
    os.execv(sys.executable, [sys.executable, '-c', "import signal, time, os; signal.signal(15, signal.SIG_IGN);"
             "open('daemon', 'w').write(str(os.getpid())); time.sleep(600)"])
print('up', flush=True)
time.sleep(600)
"""


@pytest.mark.parametrize("how", ["signal", "answer"])
def test_a_stop_leaves_no_process_and_keeps_the_outputs(node: Any, how: str) -> None:
    node.script(DEAF)
    agent = node.start(FOOTPLATE_GRACE_SECONDS="0.3")
    wait_for_output(node)
    daemon = int(wait_until(lambda: (p := node.folder / "wd" / "daemon").exists() and p.read_text()))
    if how == "signal":
        agent.terminate()
    else:
        node.server.stop = True
    assert agent.wait(120) == 0
    assert node.server.cause()["code"] == ("agent_stopped" if how == "signal" else "canceled")
    assert node.content("outputs/early") == b"kept"
    wait_until(lambda: process_tree.identity(daemon) is None)  # the kernel may still be removing a killed process
    assert node.members() == []


def test_a_stop_before_the_start_starts_nothing(node: Any) -> None:
    node.script("print('never')")
    node.server.stop = True
    assert node.run()["code"] == "canceled"
    assert STD not in node.server.logs


def test_a_rank_that_ends_in_time_is_not_killed(node: Any) -> None:
    node.script(
        "import signal, sys, time\n"
        "def leave(*_): print('saved'); sys.exit(0)\n"
        "signal.signal(signal.SIGTERM, leave); print('up', flush=True); time.sleep(600)\n"
    )
    agent = node.start()
    wait_for_output(node)
    agent.terminate()
    assert agent.wait(120) == 0
    assert node.server.logs[STD] == b"up\nsaved\n"
    assert "were killed" not in node.server.logs["system_logs/node_0.txt"].decode()


def test_background_processes_of_a_rank_end_with_it(node: Any) -> None:
    node.give(Program(command="sleep 600 & setsid sleep 601 & echo gone"))
    assert node.run() is None
    assert "left behind" in node.server.logs["system_logs/node_0.txt"].decode()
    assert node.members() == []


# ── Nothing lost ──────────────────────────────────────────────────────────────────────────────────────────────────────

STEADY = """
import os, time
from footplate.job.journal import Journal
journal = Journal(os.path.join(os.environ['FOOTPLATE_JOURNALS'], os.environ['FOOTPLATE_RUN_ID']))
for step in range(60):
    print('line', step, flush=True)
    journal.log('step', step)
    if step == 20:
        while not os.path.exists('go'): time.sleep(0.01)
    time.sleep(0.01)
open('outputs/result', 'w').write('all')
"""


def check_steady(node: Any) -> None:
    assert node.server.logs[STD].decode().splitlines() == [f"line {step}" for step in range(60)]
    (writer,) = rank_writers(node)
    assert points(node, writer) == [("step", step) for step in range(60)]
    assert node.content("outputs/result") == b"all"


def test_the_successor_of_a_killed_agent_continues(node: Any) -> None:
    node.script(STEADY)
    first = node.start()
    wait_for_output(node, b"line 20\n")
    first.kill()
    first.wait()
    second = node.start()
    wait_until(lambda: "took over from an agent that died: 1 of 1" in node.log())
    (node.folder / "wd" / "go").touch()
    assert second.wait(120) == 0
    assert node.server.cause() is None
    check_steady(node)
    assert node.server.names().count("exited") == 1


def test_a_rank_that_ended_without_an_agent_is_reported(node: Any) -> None:
    node.script(STEADY)
    first = node.start()
    wait_for_output(node, b"line 20\n")
    first.kill()
    first.wait()
    (node.folder / "wd" / "go").touch()
    wait_until((node.folder / "exits" / "rank_0.json").exists)
    wait_until(lambda: not node.members())
    assert node.run() is None
    check_steady(node)


WAIT = "echo up; while [ ! -e go ]; do sleep 0.02; done"
UNKNOWN = "ended while no agent watched it; its exit status is unknown"


@pytest.mark.parametrize(
    ("command", "message"),
    [(f"{WAIT}; exit 5", "ended with exit code 5"), (f"exec sh -c '{WAIT}'", UNKNOWN)],
    ids=["noted by the shell", "the shell was replaced"],
)
def test_a_command_that_ended_without_an_agent_is_reported(node: Any, command: str, message: str) -> None:
    node.give(Program(command=command))
    first = node.start()
    wait_for_output(node)
    first.kill()
    first.wait()
    (node.folder / "wd" / "go").touch()
    wait_until(lambda: not node.members())
    assert node.run()["message"] == message


def test_an_agent_killed_before_the_start_starts_the_ranks_once(node: Any) -> None:
    node.script("print('once')")
    node.folder.mkdir(parents=True)
    (node.folder / "state.json").write_text(json.dumps({"run": RUN, "began": time.time()}))
    assert node.run() is None
    assert node.server.logs[STD] == b"once\n"


def test_an_agent_killed_by_the_start_itself_started_nothing(node: Any) -> None:
    """It recorded that it had started nothing, as it always does: that is not a run that ended well."""
    node.script("print('once')")
    node.folder.mkdir(parents=True)
    (node.folder / "state.json").write_text(json.dumps({"run": RUN, "began": time.time(), "ranks": []}))
    assert node.run() is None
    assert node.server.logs[STD] == b"once\n"


def test_ranks_that_were_never_started_fail_the_run(node: Any) -> None:
    node.script("print('once')", ranks=2)
    (node.folder / "exits").mkdir(parents=True)
    (node.folder / "exits" / "rank_0.json").write_text('{"code": 0}')
    first = {"rank": 0, "pid": 1, "identity": "of another time", "log": "user_logs/std_log_process_00.txt"}
    (node.folder / "state.json").write_text(json.dumps({"run": RUN, "began": time.time(), "ranks": [first]}))
    cause = node.run()
    assert (cause["code"], cause["rank"]) == ("start_failed", 1)
    assert cause["message"] == "the agent died before it had started rank 1"


def test_unrecorded_ranks_of_a_killed_agent_are_found(node: Any) -> None:
    node.script(STEADY)
    first = node.start()
    wait_for_output(node, b"line 20\n")
    first.kill()
    first.wait()
    (node.folder / "state.json").write_text(json.dumps({"run": RUN, "began": time.time()}))
    second = node.start()
    wait_until(lambda: "took over" in node.log())
    (node.folder / "wd" / "go").touch()
    assert second.wait(120) == 0
    check_steady(node)


def test_nothing_is_lost_while_the_server_is_unavailable(node: Any) -> None:
    node.script(STEADY)
    agent = node.start()
    wait_for_output(node, b"line 20\n")
    node.server.away = True
    (node.folder / "wd" / "go").touch()
    wait_until((node.folder / "exits" / "rank_0.json").exists)
    assert agent.poll() is None
    node.server.away = False
    assert agent.wait(60) == 0
    check_steady(node)


def test_a_second_agent_exits_at_once(node: Any) -> None:
    node.give(Program(command="echo up; while [ ! -e go ]; do sleep 0.02; done"))
    first = node.start()
    wait_for_output(node)
    assert node.start().wait(120) == 0
    assert not (node.folder / "agent.exit").exists() and len(node.server.joins) == 1
    (node.folder / "wd" / "go").touch()
    assert first.wait(120) == 0


def test_a_kept_directory_contains_the_exit_code(node: Any) -> None:
    node.script("open('outputs/o', 'w').write('x')")
    node.run(FOOTPLATE_KEEP_WORK="1")
    assert (node.folder / "agent.exit").read_text() == "0"
    kept = node.folder / "wd" / "outputs" / "o"
    assert kept.read_text() == "x"
    kept.write_text("changed")
    assert node.content("outputs/o") == b"x"


def test_a_run_that_has_ended_at_the_server_is_abandoned(node: Any) -> None:
    node.give(Program(command="sleep 600"))
    first = node.start()
    node.server.wait(lambda: "started" in node.server.names())
    first.kill()
    first.wait()
    node.server.over = True
    assert node.start().wait(120) == 0
    assert node.members() == []
    assert not node.folder.exists()


def test_an_unknown_option_is_named() -> None:
    argv = [sys.executable, "-m", "footplate.node", "--run", "x", "--colour", "red"]
    done = subprocess.run(argv, capture_output=True, text=True)
    assert done.returncode != 0 and "--colour" in done.stderr and "usage" in done.stderr


def test_an_out_of_memory_kill_is_recognized(node: Any) -> None:
    """Needs a memory cgroup that we may create: the rank moves itself there and allocates more than allowed."""
    group = Path("/sys/fs/cgroup/memory") / f"footplate_test_{os.getpid()}"
    try:
        group.mkdir()
        (group / "memory.limit_in_bytes").write_text(str(64 << 20))
    except OSError:
        pytest.skip("no memory cgroup can be made here")
    try:
        node.script(
            "import os\n"
            f"open({str(group / 'cgroup.procs')!r}, 'w').write(str(os.getpid()))\n"
            "print('in', flush=True); hog = [bytearray(os.urandom(1 << 20)) for _ in range(512)]\n"
        )
        cause = node.run()
        assert cause["code"] == "out_of_memory"
        assert cause["message"].startswith("killed by the kernel's out-of-memory killer")
        assert cause["signal"] == signal.SIGKILL.name
    finally:
        group.rmdir()


def test_large_outputs_are_moved_and_links_to_them_keep_their_names(node: Any) -> None:
    node.script(
        "import os\n"
        "open('outputs/epoch_9.bin', 'wb').write(bytes(40 << 20)); os.symlink('epoch_9.bin', 'outputs/latest.bin')\n"
        "open('outputs/small', 'w').write('s')\n"
    )
    assert node.run() is None
    assert node.content("outputs/latest.bin") == node.content("outputs/epoch_9.bin") == bytes(40 << 20)
    assert node.content("outputs/small") == b"s"


def test_a_moved_output_of_a_killed_agent_gets_its_name(node: Any) -> None:
    """Such an agent leaves a blob whose name is only in the record."""
    node.script("print('x')")
    blobs = node.home / "blobs"
    data = b"moved"
    digest = hashlib.sha256(data).hexdigest()
    (blobs / digest[:2]).mkdir(parents=True, exist_ok=True)
    (blobs / digest[:2] / digest).write_bytes(data)
    node.folder.mkdir(parents=True)
    rows = [["outputs/big", 5, digest], ["outputs/never_moved", 5, "0" * 64]]
    (node.folder / "moved").write_text("".join(json.dumps(row) + "\n" for row in rows) + '["outputs/cut')
    assert node.run() is None
    assert list(node.server.files) == ["outputs/big"]


def test_an_agent_on_another_machine_fetches_and_sends_everything(node: Any, tmp_path: Path) -> None:
    node.script("import os; open('outputs/m', 'w').write('far'); print(os.getcwd(), os.environ.get('FOOTPLATE_HOME'))")
    own = tmp_path / "scratch"
    agent = node.start(shared=False, FOOTPLATE_NODE_HOME=str(own))
    assert agent.wait(120) == 0
    assert node.server.logs[STD].decode().split() == [str(own / "work" / RUN / "node_0" / "wd"), "None"]
    assert node.content("outputs/m") == b"far"
    assert not (own / "work" / RUN).exists() and list((own / "blobs").iterdir())


def test_a_damaged_source_file_fails_the_run_and_names_the_file(node: Any) -> None:
    node.script("print('right')")
    replace_blob(node.home / "blobs", b"print('right')", b"print('wrong')")
    cause = node.run()
    assert cause is not None and cause["code"] == "snapshot_failed"
    assert "'train.py' is damaged" in cause["message"] and "again" in cause["hint"]
    assert STD not in node.server.logs
    assert node.server.store.missing([hashlib.sha256(b"print('right')").hexdigest()])


def test_an_agent_on_another_machine_replaces_its_damaged_copy(node: Any, tmp_path: Path) -> None:
    node.script("print('right')")
    own = tmp_path / "scratch"
    BlobFolder(str(own / "blobs")).put_bytes(b"print('right')")
    replace_blob(own / "blobs", b"print('right')", b"print('wrong')")
    assert node.start(shared=False, FOOTPLATE_NODE_HOME=str(own)).wait(120) == 0
    assert node.server.logs[STD] == b"right\n"


def replace_blob(blobs: Path, content: bytes, damaged: bytes) -> None:
    digest = hashlib.sha256(content).hexdigest()
    path = blobs / digest[:2] / digest
    path.chmod(0o644)
    path.write_bytes(damaged)


def test_a_build_is_reported_and_its_log_is_shipped(node: Any) -> None:
    content = {"python": f"{sys.version_info.major}.{sys.version_info.minor}", "requirements": "", "options": []}
    node.script("import sys; print(sys.prefix)", lock=Lock("c" * 64, "venv", content))
    assert node.run() is None
    assert node.server.names() == ["prepares", "started", "exited", "done"]
    assert node.server.events[0]["message"].startswith("building the environment ")
    assert b"the environment is complete" in node.server.logs["azureml-logs/20_image_build_log.txt"]
    assert node.server.logs[STD].decode().strip() == str(node.home / "environments" / ("c" * 64))


def test_a_stop_reaches_an_agent_that_waits_for_a_build(node: Any) -> None:
    (node.home / "environments").mkdir()
    lock = node.home / "environments" / ("c" * 64 + ".lock")
    content = {"python": "3.11", "requirements": "", "options": []}
    node.script("print('never')", lock=Lock("c" * 64, "venv", content))
    with open(lock, "w") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        agent = node.start()
        node.server.wait(lambda: "prepares" in node.server.names())
        node.server.stop = True
        assert agent.wait(120) == 0
    assert node.server.cause()["code"] == "canceled" and STD not in node.server.logs


def test_a_gang_waits_until_it_is_complete(node: Any) -> None:
    node.script("print('together')")
    node.server.orders["ready"] = False
    agent = node.start()
    node.server.wait(lambda: node.server.asked > 0)
    assert "started" not in node.server.names()
    node.server.orders["ready"] = True
    assert agent.wait(120) == 0
    assert node.server.logs[STD] == b"together\n"


def test_an_agent_stopped_without_a_server_keeps_its_directory(node: Any) -> None:
    node.script("print('never')")
    node.server.away = True
    agent = node.start()
    wait_until((node.folder / "wd").exists)
    agent.terminate()
    assert agent.wait(120) == 75
    assert (node.folder / "agent.exit").read_text() == "75"


def test_an_agent_loads_nothing_slow_before_its_ranks_start() -> None:
    """Their import would delay the first line of every script on a cluster."""
    program = (
        "import sys; from footplate.node import agent; import importlib, footplate.environments.existing\n"
        "list(map(importlib.import_module, agent.IMPORTED_MEANWHILE)); print(*sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    slow = {"argparse", "asyncio", "ctypes", "dataclasses", "inspect", "logging", "shutil", "ssl", "subprocess"}
    at_start = subprocess.run([sys.executable, "-c", "import sys; print(*sys.modules)"], capture_output=True, text=True)
    assert set(done.stdout.split()) & slow - set(at_start.stdout.split()) == set()
