"""Access to `footplate.data`: imported into this process or, inside a job, run by the agent's interpreter.

The SDK runs on any Python since 3.8 with nothing installed; the data package does not. The agent tells its ranks in
FOOTPLATE_DATA_WORKER how to start an interpreter that has all of it.
"""

from __future__ import annotations

import importlib
import json
import os
import subprocess
import sys
from typing import IO, Any, Callable, ContextManager, Dict, List, Mapping, NamedTuple, Optional, Sequence, cast

from footplate import environ
from footplate.client.home import home_folder
from footplate.errors import Broken, InvalidInput, from_wire
from footplate.sdk.exceptions import Kinds, UserErrorException
from footplate.sdk.session import translating

VARIABLE = environ.DATA_WORKER
"""JSON: the argv of a Python that can run `-m footplate.data.worker`."""

MODULE = "footplate.data.worker"
Report = Callable[[Sequence[int]], None]
"""Receives files done, total files, bytes done, total bytes."""

_KINDS: Kinds = dict.fromkeys(("invalid", "not_found", "not_allowed", "conflict"), UserErrorException)


def call(verb: str, arguments: Mapping[str, Any], report: Optional[Report] = None) -> Any:
    """Run an operation of the data worker. Its refusals are raised as UserErrorException."""
    argv = worker_command()
    with translating(_KINDS):
        if argv is not None:
            with _start(argv) as process:
                return _exchange(process, verb, arguments, report)
        return import_worker().perform(verb, arguments, report)


def translating_errors() -> ContextManager[None]:
    """Translate errors as `call` does, for code that raises FootplateError itself."""
    return translating(_KINDS)


def worker_command() -> Optional[List[str]]:
    """Return the command of the data worker inside a job, or None if the package is to be imported here.

    The latter holds on a client, and in a container, which lacks the agent's interpreter.
    """
    command = json.loads(os.environ.get(VARIABLE) or "[]")
    return [*command, "-m", MODULE] if command and os.path.exists(command[-1]) else None


def import_worker() -> Any:
    if sys.version_info < (3, 10):
        raise InvalidInput(
            f"Python {sys.version_info[0]}.{sys.version_info[1]} cannot transfer data",
            "use Python 3.10 or newer on the client and in containers; other runs may use any version",
        )
    return importlib.import_module(MODULE)


def cache_folder() -> str:
    """Return this machine's cache directory: the agent's inside a job, or else the home's."""
    return os.path.join(os.environ.get(environ.CACHE) or os.path.join(home_folder(), "cache"), "data")


class Held(NamedTuple):
    """A lasting result: a mount, and the process that keeps it, if any. It ends when it is closed."""

    result: Any
    close: Callable[[], None]


def hold(verb: str, arguments: Mapping[str, Any]) -> Held:
    """Run an operation whose effect lasts until the result is closed, or this process ends."""
    argv = worker_command()
    with translating_errors():
        if argv is None:
            return Held(*import_worker().hold(verb, arguments))
        process = _start(argv)
        try:
            return Held(_exchange(process, verb, arguments, None), lambda: process.__exit__(None, None, None))
        except BaseException:
            process.__exit__(None, None, None)
            raise


def _start(argv: List[str]) -> subprocess.Popen[str]:
    """Start the worker. It ends when its stdin is closed, so it cannot outlive us."""
    return subprocess.Popen(
        argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=clean_environment(), universal_newlines=True
    )


def _exchange(process: subprocess.Popen[str], verb: str, arguments: Mapping[str, Any], report: Optional[Report]) -> Any:
    requests, responses = cast("IO[str]", process.stdin), cast("IO[str]", process.stdout)
    requests.write(json.dumps({"verb": verb, "arguments": arguments}) + "\n")
    requests.flush()
    for line in responses:
        answer = json.loads(line)
        if "progress" in answer:
            if report is not None:
                report(answer["progress"])
        elif "error" in answer:
            raise from_wire(answer["error"])
        else:
            return answer["result"]
    process.wait()
    raise Broken(f"the data worker exited with code {process.returncode}", "see its messages on stderr")


def clean_environment() -> Dict[str, str]:
    """Return the environment without the job's Python settings, which must not affect the agent's interpreter."""
    return {name: value for name, value in os.environ.items() if not name.startswith("PYTHON") and name != VARIABLE}
