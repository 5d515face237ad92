"""Runs the script of a rank, inside `bootstrap.py`, whose globals these are: `__file__` is its path.

It expands `$NAME` in the arguments from this process's environment, makes the script the real `__main__`, and writes
how the script ended to `$FOOTPLATE_EXITS/rank_<n>.json`. The process still ends the way Python ends it: every exception
reaches the interpreter, and only our frames are removed from its traceback.

All of this runs before the user's first line. So it is short, and imports only modules that the interpreter has already
loaded: code that only a failure needs is in `exit_report.py`.
"""

import gc
import os
import sys
import time

TYPE_CHECKING = False  # the same constant as in `typing`, without loading it
if TYPE_CHECKING:
    from typing import Any


def main() -> None:
    script = _hide_bootstrap()
    process = os.getpid()
    _dump_stacks_on_signal()
    try:
        _run(script)
    except BaseException as error:
        if os.getpid() == process:  # a forked child that reaches the end of the script does not report for the rank
            _report_failure(error)
        raise
    else:
        if os.getpid() == process:
            _report_success()
    finally:
        _let_torch_start()


def _hide_bootstrap() -> str:
    """Set arguments and path to their values without this program, and return the script."""
    script = sys.argv[1]
    sys.argv[:] = [script] + [os.path.expandvars(each) if "$" in each else each for each in sys.argv[2:]]
    original = getattr(sys, "orig_argv", [])
    if __file__ in original:
        original.remove(__file__)  # a script that restarts its own command line means the script
    if sys.path and _is_own_folder(sys.path[0]):
        del sys.path[0]
    # The directory of the script, as Python does it, then the root of the source, as Azure does.
    folder = os.path.dirname(os.path.realpath(script))
    root = os.getcwd()
    sys.path[:0] = [folder] if folder == root else [folder, root]
    return script


def _is_own_folder(path: str) -> bool:
    if path == os.path.dirname(__file__):
        return True
    return os.path.realpath(path) == os.path.dirname(os.path.realpath(__file__))  # dozens of calls of the system


def _dump_stacks_on_signal() -> None:
    """Make this process, and its forked children, write their stacks to a file on a signal.

    faulthandler does it in C, so it works for code that hangs. The signal is `footplate.domain.stacks.SIGNAL`.
    """
    folder = os.environ.get("FOOTPLATE_EXITS")
    if not folder:
        return
    name = "rank_" + os.environ.get("FOOTPLATE_RANK", "0") + ".stacks"
    try:
        import faulthandler  # noqa: PLC0415  # built in

        file = os.open(os.path.join(folder, name), os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
        faulthandler.register(50, file=file, all_threads=True, chain=False)
    except (
        ImportError,
        OSError,
        ValueError,
        AttributeError,
    ):  # no such signal here, or a full disk: stacks are not available then
        pass


def _run(script: str) -> None:
    if script.endswith(".ipynb"):
        script = os.path.join(os.path.dirname(__file__), "notebook_runner.py")
    path = os.path.abspath(script) if sys.version_info >= (3, 9) else script
    module = type(sys)("__main__")
    module.__dict__.update(
        __file__=path,
        __loader__=type(__loader__)("__main__", path),
        __builtins__=__builtins__,
    )
    if sys.version_info < (3, 15):
        module.__dict__.update(__cached__=None)
    if sys.version_info < (3, 14):  # from there on they are made on request, and an empty one would hide them
        module.__dict__.update(__annotations__={})
    ours = sys.modules["__main__"]  # kept, because the globals of these functions live in it
    sys.modules["__main__"] = module
    try:
        with open(path, "rb") as source:
            code = compile(source.read(), path, "exec", dont_inherit=True)
    except OSError as error:
        sys.stderr.write(f"{sys.executable}: can't open file {path!r}: [Errno {error.errno}] {error.strerror}\n")
        raise SystemExit(2) from None
    # The interpreter's own objects live as long as it does: collections, such as those at its end, skip them (2 ms).
    gc.freeze()
    exec(code, module.__dict__)
    del ours


def _let_torch_start() -> None:
    """Give threads of torch 1.6 and 1.7 time to start before Python ends.

    They wait for the interpreter at their start. One that is late is ended by Python, and torch then waits for it
    forever when the process exits, so that a short script would never end.
    """
    torch = sys.modules.get("torch")
    if torch is not None and str(getattr(torch, "__version__", "")).startswith(("1.6.", "1.7.")):
        time.sleep(0.5)


def _report_success() -> None:
    folder = os.environ.get("FOOTPLATE_EXITS")
    if not folder:
        return
    rank = os.path.join(folder, "rank_" + os.environ.get("FOOTPLATE_RANK", "0"))
    try:
        # An atomic write of its own: this file may not import anything of ours.
        with open(rank + ".json.aside", "w") as file:
            file.write('{"code": 0, "exception": null, "exception_message": null, "traceback": null}')
        os.replace(rank + ".json.aside", rank + ".json")
    except OSError:
        try:
            os.rename(rank + ".stacks", rank + ".succeeded")  # a full disk has room for another name
        except OSError:  # it must not change how the script ends
            pass


def _report_failure(error: BaseException) -> None:
    """Load the module beside this one without the import path, which is the user's now."""
    path = os.path.join(os.path.dirname(os.path.realpath(__file__)), "exit_report.py")
    names: dict[str, Any] = {"__name__": "footplate_exit_report", "__file__": path}
    try:
        with open(path, "rb") as source:
            exec(compile(source.read(), path, "exec", dont_inherit=True), names)
        names["tell"](error, __file__)
    except Exception:  # show the user's error, not ours
        pass
