"""How the SDK moves bytes: through `footplate.data` in this process or, inside a job, in one of the agent's making.

The SDK itself is written for any Python since 3.8 with nothing installed; what moves bytes is not. The agent tells its
ranks in FOOTPLATE_DATA_WORKER how to start a process that has all of it.
"""

from __future__ import annotations

import importlib
import json
import os
import subprocess
import sys
from typing import IO, Any, Callable, ContextManager, Dict, List, Mapping, Optional, Sequence, cast

from footplate import environ
from footplate.client.home import home_folder
from footplate.errors import Broken, InvalidInput, from_wire
from footplate.sdk.exceptions import Kinds, UserErrorException
from footplate.sdk.session import translating

VARIABLE = environ.DATA_WORKER
"""JSON: the argv of a Python that can run `-m footplate.data.worker`."""

MODULE = "footplate.data.worker"
Report = Callable[[Sequence[int]], None]
"""Is told files done, files in all, bytes done, bytes in all."""

_KINDS: Kinds = dict.fromkeys(("invalid", "not_found", "not_allowed", "conflict"), UserErrorException)


def call(verb: str, arguments: Mapping[str, Any], report: Optional[Report] = None) -> Any:
    """Carry out a verb of the porter; what it refuses leaves as a UserErrorException."""
    argv = argv_of_job()
    with translating(_KINDS):
        if argv is not None:
            return _ask(argv, verb, arguments, report)
        return in_this_process().perform(verb, arguments, report)


def refusing() -> ContextManager[None]:
    """For rooms below that raise FootplateError: as `call` does, what passes leaves as a UserErrorException."""
    return translating(_KINDS)


def argv_of_job() -> Optional[List[str]]:
    """How to start a porter when this process is a job's; None when the room has to be used as it is.

    That is so on a client, and in a container, where the agent's interpreter does not exist.
    """
    told = json.loads(os.environ.get(VARIABLE) or "[]")
    return [*told, "-m", MODULE] if told and os.path.exists(told[-1]) else None


def in_this_process() -> Any:
    if sys.version_info < (3, 10):
        raise InvalidInput(
            f"data cannot be moved by Python {sys.version_info[0]}.{sys.version_info[1]}",
            "use Python 3.10 or newer on the client and in containers; in other runs any Python does",
        )
    return importlib.import_module(MODULE)


def cache_folder() -> str:
    """Where this machine keeps what was fetched: the agent's own inside a job, else the home's."""
    return os.path.join(os.environ.get(environ.CACHE) or os.path.join(home_folder(), "cache"), "data")


class Held:
    """What lasts until it is closed: a mount, and the process that keeps it where there is one."""

    def __init__(self, result: Any, close: Callable[[], None]) -> None:
        self.result = result
        self.close = close


def hold(verb: str, arguments: Mapping[str, Any]) -> Held:
    """Carry out a verb whose effect lasts until the answer is closed, or this process ends."""
    argv = argv_of_job()
    with refusing():
        if argv is None:
            held = in_this_process().hold(verb, arguments)
            return Held(held.result, held.close)
        process = _start(argv)
        try:
            return Held(_exchange(process, verb, arguments, None), lambda: process.__exit__(None, None, None))
        except BaseException:
            process.__exit__(None, None, None)
            raise


def _ask(argv: List[str], verb: str, arguments: Mapping[str, Any], report: Optional[Report]) -> Any:
    with _start(argv) as process:
        return _exchange(process, verb, arguments, report)


def _start(argv: List[str]) -> subprocess.Popen[str]:
    """It ends when its stdin is closed, so it cannot outlive us."""
    return subprocess.Popen(
        argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=clean_environment(), universal_newlines=True
    )


def _exchange(process: subprocess.Popen[str], verb: str, arguments: Mapping[str, Any], report: Optional[Report]) -> Any:
    sent, answered = cast("IO[str]", process.stdin), cast("IO[str]", process.stdout)
    sent.write(json.dumps({"verb": verb, "arguments": arguments}) + "\n")
    sent.flush()
    for line in answered:
        answer = json.loads(line)
        if "progress" in answer:
            if report is not None:
                report(answer["progress"])
        elif "error" in answer:
            raise from_wire(answer["error"])
        else:
            return answer["result"]
    process.wait()
    raise Broken(f"the process that moves data ended with code {process.returncode}", "see what it says on stderr")


def clean_environment() -> Dict[str, str]:
    """The agent's interpreter must not take the job's packages for its own."""
    return {name: value for name, value in os.environ.items() if not name.startswith("PYTHON") and name != VARIABLE}
