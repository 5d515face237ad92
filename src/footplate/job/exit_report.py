"""The part of the bootstrap that is loaded only when a script fails or calls `sys.exit`."""

from __future__ import annotations

import json
import os
import sys
import traceback
from types import TracebackType
from typing import Dict, Optional, Tuple, Type, Union

Record = Dict[str, Union[int, str, None]]
_MESSAGE_LIMIT = 10_000
_TRACEBACK_LIMIT = 100_000


def tell(error: BaseException, bootstrap: str) -> None:
    """Record how the script ended, and remove the frames of `bootstrap` from its traceback."""
    if isinstance(error, SystemExit):
        record = _exit(error)
    else:
        _hide_frames(error, bootstrap)
        record = _failure(error, bootstrap)
    folder = os.environ.get("FOOTPLATE_EXITS")
    if folder:
        target = os.path.join(folder, "rank_" + os.environ.get("FOOTPLATE_RANK", "0") + ".json")
        # An atomic write of its own: this file is executed by its path and may not import anything of ours.
        with open(target + ".aside", "w", encoding="ascii") as file:
            json.dump(record, file)
        os.replace(target + ".aside", target)


def exit_code(code: object) -> Tuple[int, Optional[str]]:
    """Return the exit code, and the message if any, that the interpreter derives from a `sys.exit` argument."""
    if code is None:
        return 0, None
    if isinstance(code, int):
        return (code & 0xFF if -(2**63) <= code < 2**63 else 0xFF), None
    return 1, _words(code)


def _exit(error: SystemExit) -> Record:
    code, message = exit_code(error.code)
    kind = None if message is None else "SystemExit"
    return {"code": code, "exception": kind, "exception_message": message, "traceback": None}


def _failure(error: BaseException, bootstrap: str) -> Record:
    kind = type(error)
    name = kind.__qualname__
    if kind.__module__ not in ("builtins", "__main__"):
        name = f"{kind.__module__}.{name}"
    lines = traceback.format_exception(kind, error, _users_frames(error.__traceback__, bootstrap))
    return {
        # After a KeyboardInterrupt Python kills itself with SIGINT, which shells report as 130.
        "code": 130 if isinstance(error, KeyboardInterrupt) else 1,
        "exception": name,
        "exception_message": _words(error),
        "traceback": _shorten("".join(lines), _TRACEBACK_LIMIT),
        "numpy": getattr(sys.modules.get("numpy"), "__version__", None),  # some errors depend on it
    }


def _hide_frames(error: BaseException, bootstrap: str) -> None:
    """Remove our frames, so that the interpreter or a hook of the user shows only the user's frames."""
    show = sys.excepthook

    def show_users(kind: Type[BaseException], value: BaseException, frames: Optional[TracebackType]) -> None:
        if value is error:
            frames = _users_frames(value.__traceback__, bootstrap)
            value.__traceback__ = sys.last_traceback = frames
        show(kind, value, frames)

    sys.excepthook = show_users


def _users_frames(frames: Optional[TracebackType], bootstrap: str) -> Optional[TracebackType]:
    ours = os.path.dirname(bootstrap)
    while frames is not None and os.path.dirname(frames.tb_frame.f_code.co_filename) == ours:
        frames = frames.tb_next
    return frames


def _words(value: object) -> str:
    try:
        # The SDK's exceptions print themselves in Azure's frame; a report needs only the sentences in it.
        return _shorten(str(getattr(value, "message_with_hint", value)), _MESSAGE_LIMIT)
    except Exception:
        return f"<{type(value).__name__} that cannot be printed>"


def _shorten(text: str, limit: int) -> str:
    """Keep the beginning and the end of a long text: the cause of a failure is in one of them."""
    return text if len(text) <= limit else text[: limit // 2] + "\n…\n" + text[-limit // 2 :]
