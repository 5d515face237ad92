"""A script under the bootstrap behaves as it does under bare Python: most tests run it both ways and compare."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

BOOTSTRAP = str(Path(__file__).parents[3] / "src" / "footplate" / "job" / "bootstrap.py")


@pytest.fixture
def job(tmp_path):
    (tmp_path / "exits").mkdir()

    class Job:
        exits = tmp_path / "exits"

        def write(self, code: str, name: str = "train.py") -> str:
            (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / name).write_text(textwrap.dedent(code), encoding="utf-8")
            return name

        def run(self, *arguments: str, bare: bool = False, python: str = sys.executable, **env: str):
            command = [python, *([] if bare else [BOOTSTRAP]), *arguments]
            variables = {**os.environ, "FOOTPLATE_EXITS": str(self.exits), "NO_COLOR": "1", **env}
            return subprocess.run(
                command, cwd=tmp_path, env=variables, capture_output=True, text=True, encoding="utf-8", timeout=120
            )

        def ending(self, rank: int = 0) -> dict:
            return json.loads((self.exits / f"rank_{rank}.json").read_text())

    return Job()


def same_as_bare(job, script: str, *arguments: str, **env: str) -> subprocess.CompletedProcess:
    ours, bare = job.run(script, *arguments, **env), job.run(script, *arguments, bare=True, **env)
    assert (ours.returncode, ours.stdout, ours.stderr) == (bare.returncode, bare.stdout, bare.stderr)
    return ours


def test_a_script_sees_the_same_as_under_bare_python(job):
    script = job.write(
        """
        import inspect, sys, pickle, dataclasses, typing
        def here(): return 1
        @dataclasses.dataclass
        class Thing:
            x: "int" = 1
            y: typing.List["Thing"] = dataclasses.field(default_factory=list)
        print(__name__, __file__, __package__, __spec__, __doc__)
        limit: "int" = 1
        print(type(__loader__).__name__, __loader__.name, __loader__.path)
        print(sorted(globals()))
        print(sys.argv, sys.path, getattr(sys, "orig_argv", None))
        print(sys.modules["__main__"].here is here, __builtins__, sys.modules["__main__"].__annotations__)
        print(pickle.loads(pickle.dumps(Thing(2))), typing.get_type_hints(Thing))
        print(inspect.getsource(here), inspect.getmodule(here).__name__)
        print("annotations" in dir(sys.modules["__main__"]), "bootstrap" in repr(sys.modules).lower())
        """
    )
    assert same_as_bare(job, script, "a", "b c").returncode == 0
    assert job.ending() == {"code": 0, "exception": None, "exception_message": None, "traceback": None}


def test_a_script_in_a_subfolder_imports_neighbours_and_the_root(job):
    job.write("WHO = 'neighbour'", "sub/helper.py")
    job.write("WHO = 'root'", "atroot.py")
    done = job.run(job.write("import sys, helper, atroot; print(helper.WHO, atroot.WHO, sys.path[:2])", "sub/train.py"))
    root = str(job.exits.parent)
    assert done.stdout.strip() == f"neighbour root ['{root}/sub', '{root}']"


def test_the_bootstrap_folder_is_not_on_the_path(job, tmp_path):
    (tmp_path / "runtime").symlink_to(Path(BOOTSTRAP).parents[1])
    script = job.write("import sys; print([p for p in sys.path if p.endswith('job')]); import journal")
    for path in (BOOTSTRAP, str(tmp_path / "runtime" / "job" / "bootstrap.py")):
        done = subprocess.run([sys.executable, path, script], cwd=tmp_path, capture_output=True, text=True, timeout=60)
        assert done.stdout == "[]\n"
        assert "ModuleNotFoundError: No module named 'journal'" in done.stderr
        assert "bootstrap.py" not in done.stderr


def test_arguments_are_expanded_from_the_environment(job):
    script = job.write("import sys; print(sys.argv[1:])")
    arguments = ["--d=$DATA", "${DATA}/x", "$NOPE", "${NOPE}", "a$", "$$", "$DATA$RANK", "plain", "", "~"]
    done = job.run(script, *arguments, DATA="/data $X", RANK="3")
    assert done.stdout.strip() == str(
        ["--d=/data $X", "/data $X/x", "$NOPE", "${NOPE}", "a$", "$$", "/data $X3", "plain", "", "~"]
    )


@pytest.mark.parametrize(
    ("argument", "code"),
    [("", 0), ("None", 0), ("0", 0), ("3", 3), ("-1", 255), ("256", 0), ("True", 1), ("2**70", 255), ("2.5", 1)],
)
def test_exit_codes_are_those_of_python(job, argument, code):
    done = same_as_bare(job, job.write(f"import sys; print('out'); sys.exit({argument})"))
    assert done.returncode == code == job.ending()["code"]
    assert job.ending()["traceback"] is None


def test_an_exit_message_is_recorded(job):
    done = same_as_bare(job, job.write("raise SystemExit('no data ☃')"))
    assert done.returncode == 1
    assert done.stderr == "no data ☃\n"
    ending = job.ending()
    assert (ending["code"], ending["exception"], ending["exception_message"]) == (1, "SystemExit", "no data ☃")


def test_a_failure_names_the_version_of_numpy(job):
    """Errors of pickled objects depend on it."""
    job.write("__version__ = '1.24.4'", "numpy.py")
    job.run(job.write("import numpy; raise ValueError"))
    assert job.ending()["numpy"] == "1.24.4"
    job.run(job.write("raise ValueError"))
    assert job.ending()["numpy"] is None


FAILURES = {
    "plain": "def f():\n    raise ValueError('wrong ☃')\nf()",
    "chained": "try:\n    1 / 0\nexcept ZeroDivisionError as e:\n    raise KeyError('x') from e",
    "context": "try:\n    1 / 0\nexcept ZeroDivisionError:\n    [][1]",
    "suppressed": "try:\n    1 / 0\nexcept ZeroDivisionError:\n    raise RuntimeError('y') from None",
    "syntax": "x = 1\ndef f(:\n    pass",
    "indentation": "if True:\nx = 1",
    "import": "import no_such_module_here",
    "custom": "class MyError(Exception):\n    pass\nraise MyError('mine', 2)",
    "generator": "list(1 / n for n in (1, 0))",
    "base": "class Odd(BaseException):\n    pass\nraise Odd",
    "unprintable": "class E(Exception):\n    def __str__(self):\n        raise OSError\nraise E",
    "hook": "import sys\nsys.excepthook = lambda k, v, t: print('hooked', k.__name__, t.tb_frame.f_code.co_name)\n1/0",
    "exit in atexit": "import atexit\natexit.register(lambda: print('bye'))\n1/0",
    "exec": "exec('1/0')",
}


@pytest.mark.parametrize("name", FAILURES)
def test_failures_look_the_same_as_under_bare_python(job, name):
    done = same_as_bare(job, job.write(FAILURES[name]))
    assert done.returncode == 1
    assert "bootstrap" not in done.stderr + done.stdout
    ending = job.ending()
    assert ending["code"] == 1
    assert ending["exception"]
    assert "bootstrap" not in ending["traceback"]
    if name not in ("hook", "unprintable"):
        # Until 3.10 the interpreter names the module of a script's own exceptions, and the traceback module does not.
        assert ending["traceback"].replace("__main__.", "") == done.stderr.replace("__main__.", "")


@pytest.mark.parametrize(
    ("code", "said"),
    [("# -*- coding: ascii -*-\nx = '☃'", "SyntaxError"), ("def f():\n    f()\nf()", "Previous line repeated")],
)
def test_failures_never_mention_the_bootstrap(job, code, said):
    """The text differs slightly from bare Python's: our two frames count, and source is decoded elsewhere."""
    done = job.run(job.write(code))
    assert done.returncode == job.run("train.py", bare=True).returncode == 1
    assert said in done.stderr
    assert "bootstrap" not in done.stderr


def test_the_record_of_a_failure(job):
    job.run(job.write("import json\njson.loads('{')"), FOOTPLATE_RANK="12")
    ending = job.ending(12)
    assert ending["exception"] == "json.decoder.JSONDecodeError"
    assert ending["exception_message"].startswith("Expecting property name")
    assert ending["traceback"].splitlines()[-1].startswith("json.decoder.JSONDecodeError: Expecting")
    assert sorted(path.name for path in job.exits.iterdir()) == ["rank_12.json", "rank_12.stacks"]


def test_a_long_message_is_shortened_only_in_the_record(job):
    done = job.run(job.write("raise ValueError('a' * 300_000 + 'end')"))
    assert len(done.stderr) > 300_000
    assert len(job.ending()["exception_message"]) < 11_000
    assert job.ending()["exception_message"].endswith("end")
    assert len(job.ending()["traceback"]) < 101_000


def test_a_keyboard_interrupt_ends_with_the_signal(job):
    done = same_as_bare(job, job.write("import os, signal\ndef f():\n    os.kill(os.getpid(), signal.SIGINT)\nf()"))
    assert done.returncode == -signal.SIGINT
    assert job.ending()["code"] == 130
    assert job.ending()["exception"] == "KeyboardInterrupt"


def test_a_missing_script_is_an_error(job):
    assert same_as_bare(job, "absent.py").returncode == 2
    assert job.ending()["code"] == 2


def test_spawned_and_forked_processes_know_the_main_module(job):
    script = job.write(
        """
        import multiprocessing, sys
        class Task:
            def __init__(self, x): self.x = x
        def work(task): return task.x * 2, sys.argv[1:]
        if __name__ == "__main__":
            for method in ("spawn", "fork"):
                with multiprocessing.get_context(method).Pool(2) as pool:
                    print(pool.map(work, [Task(1), Task(2)]))
        """
    )
    done = same_as_bare(job, script, "arg")
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == ["[(2, ['arg']), (4, ['arg'])]"] * 2


def test_a_forked_child_does_not_report_for_its_parent(job):
    script = job.write(
        """
        import os, sys
        if os.fork() == 0:
            sys.exit(9)
        os.wait()
        print("parent")
        """
    )
    assert job.run(script).stdout == "parent\n"
    assert job.ending()["code"] == 0
    child = job.run(job.write("import os\nif os.fork() == 0: 1/0\nelse:\n    os.wait()\n    os._exit(4)"))
    assert child.returncode == 4
    assert "ZeroDivisionError" in child.stderr
    assert job.ending()["code"] == 0, "the record of the previous run: this one wrote none"


def test_a_missing_folder_for_the_record_is_ignored(job):
    for folder in ("", "/nonexistent/folder"):
        for code in ("print('fine')", "import sys; sys.exit(5)", "1/0"):
            bare = job.run(job.write(code), bare=True)
            done = job.run("train.py", FOOTPLATE_EXITS=folder)
            assert (done.returncode, done.stdout, done.stderr) == (bare.returncode, bare.stdout, bare.stderr)


def test_a_success_is_recorded_on_a_full_disk(job):
    (job.exits / "rank_0.json.aside").mkdir()  # as little can be written as on a full disk
    assert job.run(job.write("print('well')")).returncode == 0
    assert (job.exits / "rank_0.succeeded").exists()


def test_the_bootstrap_loads_no_extra_modules(job):
    """Every run pays for modules that are loaded before the user's first line. Two are built in."""
    script = job.write("import sys; print(sorted({*sys.modules} - {'faulthandler', 'gc'}))")
    assert job.run(script, bare=True).stdout == job.run(script).stdout
    built_in = job.run(job.write("import sys; print(sys.builtin_module_names)")).stdout
    assert "'faulthandler'" in built_in and "'gc'" in built_in


def test_the_bootstrap_is_compiled_once(job, tmp_path):
    runtime = tmp_path / "job"
    shutil.copytree(Path(BOOTSTRAP).parent, runtime, ignore=shutil.ignore_patterns("__pycache__"))
    variables = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    command = [sys.executable, str(runtime / "bootstrap.py"), job.write("print('well')")]
    for _ in range(2):
        done = subprocess.run(command, cwd=tmp_path, env=variables, capture_output=True, text=True, timeout=60)
        assert (done.stdout, done.stderr) == ("well\n", "")
        assert [path.name.partition(".")[0] for path in runtime.glob("__pycache__/*")] == ["script_runner"]


@pytest.mark.parametrize("last", ["pass", "sys.exit(0)"])
def test_threads_of_old_torch_get_time_to_start_before_the_end(job, last):
    """torch 1.6 and 1.7 wait forever at exit for a thread that Python ended before it had started."""
    script = job.write(
        f"""
        import atexit, sys, time, types
        torch = sys.modules["torch"] = types.ModuleType("torch")
        torch.__version__ = "1.6.0+cpu"
        atexit.register(lambda: print(time.monotonic() - ended >= 0.5))
        ended = time.monotonic()
        {last}
        """
    )
    done = job.run(script)
    assert (done.returncode, done.stdout) == (0, "True\n")
