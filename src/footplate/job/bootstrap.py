"""The first thing that runs in a rank: `python bootstrap.py SCRIPT ARGUMENTS…`.

Expands `$NAME` in the arguments against this process's own environment, makes the script the real `__main__`, and leaves
word of how it ended in `$FOOTPLATE_EXITS/rank_<n>.json`. As little as possible is imported before the user's first line.
"""

import os
import sys


def main():
    # The interpreter put this file's folder first; the script's own folder belongs there.
    script = sys.argv[1]
    sys.argv[:] = [script] + [os.path.expandvars(argument) for argument in sys.argv[2:]]
    sys.path[0] = os.path.dirname(os.path.abspath(script))
    code = 0
    failure = None
    try:
        _run(script)
    except SystemExit as ending:
        code = _exit_code(ending.code)
        _record(code, None)
        raise
    except BaseException as error:
        failure = error
    if failure is None:
        _record(0, None)
        return
    _fail(failure)


def _run(script):
    import types  # noqa: PLC0415 (already loaded by the interpreter's own start)

    with open(script, "rb") as source:
        code = compile(source.read(), script, "exec", dont_inherit=True)
    main_module = types.ModuleType("__main__")
    main_module.__file__ = script
    main_module.__builtins__ = __builtins__
    main_module.__spec__ = None
    main_module.__cached__ = None
    # Kept alive here: the functions of this module still need their globals when the script has taken its name.
    sys.modules["footplate_bootstrap"] = sys.modules["__main__"]
    sys.modules["__main__"] = main_module
    exec(code, main_module.__dict__)


def _exit_code(code):
    if code is None:
        return 0
    return code & 0xFF if isinstance(code, int) else 1


def _fail(error):
    import traceback

    trimmed = error.with_traceback(_users_frames(error.__traceback__))
    text = "".join(traceback.format_exception(type(trimmed), trimmed, trimmed.__traceback__))
    sys.stdout.flush()
    if isinstance(error, KeyboardInterrupt):
        import signal

        _record(130, trimmed, text)
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        sys.stderr.write(text)
        sys.stderr.flush()
        os.kill(os.getpid(), signal.SIGINT)
    _record(1, trimmed, text)
    sys.excepthook(type(trimmed), trimmed, trimmed.__traceback__)
    sys.exit(1)


def _users_frames(frames):
    """Without the frames of this file, which stand first."""
    while frames is not None and frames.tb_frame.f_code.co_filename == __file__:
        frames = frames.tb_next
    return frames


def _record(code, error, text=None):
    folder, rank = os.environ.get("FOOTPLATE_EXITS"), os.environ.get("FOOTPLATE_RANK", "0")
    if not folder:
        return
    import json

    ending = {"code": code, "exception": None, "exception_message": None, "traceback": None}
    if error is not None:
        ending.update(exception=type(error).__name__, exception_message=str(error), traceback=text)
    target = os.path.join(folder, "rank_%s.json" % rank)
    try:
        with open(target + ".tmp", "w") as written:
            json.dump(ending, written)
        os.replace(target + ".tmp", target)
    except OSError:
        pass  # a full disk must not change how the user's script ends


if __name__ == "__main__":
    main()
