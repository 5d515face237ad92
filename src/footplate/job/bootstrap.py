"""The first thing that runs in a rank: `python bootstrap.py SCRIPT ARGUMENTS…`.

It expands `$NAME` in the arguments against this process's own environment, makes the script the real `__main__`, and
leaves word of how it ended in `$FOOTPLATE_EXITS/rank_<n>.json`. How the process ends stays Python's own business: every
exception goes on to the interpreter, and only our frames are taken out of its traceback.

Nothing is imported before the user's first line that the interpreter has not loaded by itself: no annotations from
`typing`, no `from __future__`.
"""

import os
import sys

TYPE_CHECKING = False  # what `typing` says too, without loading it
if TYPE_CHECKING:
    from types import TracebackType

MESSAGE_LIMIT = 10_000
TRACEBACK_LIMIT = 100_000


def main() -> None:
    script, owner = _take_our_place(), os.getpid()
    try:
        _run(script)
    except SystemExit as ending:
        code, message = _meaning(ending.code)
        _record(owner, code, ending if message else None, message)
        raise
    except BaseException as error:
        _hide_our_frames(error)
        # Python ends by SIGINT after a KeyboardInterrupt, which shells write as 130.
        _record(owner, 130 if isinstance(error, KeyboardInterrupt) else 1, error)
        raise
    _record(owner, 0)


def _take_our_place() -> str:
    """Make arguments and path what they would be without us, and return the script."""
    script = sys.argv[1]
    sys.argv[:] = [script] + [os.path.expandvars(each) if "$" in each else each for each in sys.argv[2:]]
    original = getattr(sys, "orig_argv", [])
    if __file__ in original:
        original.remove(__file__)  # who starts the same command again means the script
    ours = os.path.dirname(os.path.realpath(__file__))
    if sys.path and os.path.realpath(sys.path[0]) == ours:
        del sys.path[0]
    # The folder of the script as Python does it, and behind it the root of the source, as Azure does.
    folders = [os.path.dirname(os.path.realpath(script)), os.getcwd()]
    sys.path[:0] = folders if folders[0] != os.path.realpath(folders[1]) else folders[:1]
    return script


def _run(script: str) -> None:
    path = os.path.abspath(script) if sys.version_info >= (3, 9) else script
    module = type(sys)("__main__")
    module.__dict__.update(
        __file__=path,
        __loader__=type(__loader__)("__main__", path),
        __builtins__=__builtins__,
        __cached__=None,
        __annotations__={},
    )
    ours = sys.modules["__main__"]  # still needed: the globals of these functions live in it
    sys.modules["__main__"] = module
    try:
        with open(path, "rb") as source:
            code = compile(source.read(), path, "exec", dont_inherit=True)
    except OSError as error:
        sys.stderr.write(f"{sys.executable}: can't open file {path!r}: [Errno {error.errno}] {error.strerror}\n")
        raise SystemExit(2) from None
    exec(code, module.__dict__)
    del ours


def _meaning(code: object) -> "tuple[int, str | None]":
    """What the interpreter makes of the argument of `sys.exit`: the exit code, and a message if it is one."""
    if code is None:
        return 0, None
    if isinstance(code, int):
        return (code & 0xFF if -(2**63) <= code < 2**63 else 0xFF), None
    return 1, _words(code)


def _hide_our_frames(error: BaseException) -> None:
    """Let whoever shows this exception, the interpreter or a hook of the user's, see the user's frames alone."""
    show = sys.excepthook

    def show_users(kind: "type[BaseException]", value: BaseException, frames: "TracebackType | None") -> None:
        if value is error:
            frames = _users(value.__traceback__)
            value.__traceback__ = sys.last_traceback = frames
        show(kind, value, frames)

    sys.excepthook = show_users


def _users(frames: "TracebackType | None") -> "TracebackType | None":
    """A traceback without the frames of this file, which stand first."""
    while frames is not None and frames.tb_frame.f_code.co_filename == __file__:
        frames = frames.tb_next
    return frames


def _record(owner: int, code: int, error: "BaseException | None" = None, message: "str | None" = None) -> None:
    """Write the word down, whole or not at all. Nothing that goes wrong here may change how the script ends."""
    folder = os.environ.get("FOOTPLATE_EXITS")
    if not folder or os.getpid() != owner:  # a forked child that ran to the end of the script speaks for itself only
        return
    text = '{"code": ' + str(code) + ', "exception": null, "exception_message": null, "traceback": null}'
    target = os.path.join(folder, "rank_" + os.environ.get("FOOTPLATE_RANK", "0") + ".json")
    try:
        if error is not None:
            text = _described(code, error, message)
        aside = f"{target}.{owner}"
        with open(aside, "w", encoding="ascii") as file:
            file.write(text)
        os.replace(aside, target)
    except Exception:
        return


def _described(code: int, error: BaseException, message: "str | None") -> str:
    import json  # only what failed pays for these two
    import traceback

    kind = type(error)
    ending = {
        "code": code,
        "exception": kind.__qualname__
        if kind.__module__ in ("builtins", "__main__")
        else f"{kind.__module__}.{kind.__qualname__}",
        "exception_message": message or _words(error),
        "traceback": None,
    }
    if message is None:
        lines = traceback.format_exception(kind, error, _users(error.__traceback__))
        ending["traceback"] = _shortened("".join(lines), TRACEBACK_LIMIT)
    return json.dumps(ending)


def _words(value: object) -> str:
    try:
        return _shortened(str(value), MESSAGE_LIMIT)
    except Exception:
        return f"<{type(value).__name__} that cannot be printed>"


def _shortened(text: str, limit: int) -> str:
    """Beginning and end of what is too long: a traceback's cause is at one of the two."""
    return text if len(text) <= limit else text[: limit // 2] + "\n…\n" + text[-limit // 2 :]


if __name__ == "__main__":
    main()
