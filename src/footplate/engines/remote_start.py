"""How engines on other machines start an agent: a program as text, its arguments and its variables.

The node needs only Python 3.8 and a way to the server. On each node the engine runs

    PYTHON -I -S SCRIPT --run R --attempt N --endpoint URL --node K

with `variables` set, where SCRIPT is a file with the text of `agent_bootstrap`. That program fetches the agent, starts
it again if it is killed, passes SIGTERM and SIGUSR1 on, and exits with the agent's code: an engine sees only the deaths
of whole nodes. See docs/internals/remote-nodes.md.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from footplate import environ
from footplate.engines import agent_bootstrap
from footplate.engines.base import AgentJob
from footplate.errors import InvalidInput

COMMON_OPTIONS: Mapping[str, str] = {
    "scratch": f"directory on each node for work, environments and caches; default {agent_bootstrap.DEFAULT_HOME}",
    "shared": "directory that all nodes see; environments are built there once, and snapshots kept; optional",
    "python": "interpreter on the nodes, 3.8 or newer, that starts the agent; default python3",
}
"""Options of every compute target on other machines."""


@dataclass(frozen=True)
class RemoteStart:
    """Text of the program, interpreter that runs it, variables of its environment."""

    script: str
    python: str
    variables: Mapping[str, str]
    common: tuple[str, ...]

    @property
    def interpreter(self) -> list[str]:
        """The interpreter, isolated and without site-packages, as the agent has it: it starts much faster."""
        return [self.python, "-I", "-S"]

    def arguments(self, node: int) -> list[str]:
        return [*self.common, "--node", str(node)]


def remote_start(job: AgentJob) -> RemoteStart:
    """Describe how the agents of this job start. Raise InvalidInput for an option without a usable value."""
    if not job.bundle:
        raise InvalidInput("the job has no agent bundle", "set bundle of the job")
    variables = {
        environ.BUNDLE: job.bundle,
        environ.TOKEN: job.token or "",
        environ.CA: job.ca,
        environ.NODE_HOME: _directory(job.options, "scratch"),
        environ.SHARED: _directory(job.options, "shared"),
        environ.DESCRIBE: "1" if job.describe else "",
    }
    common = ("--run", job.run, "--attempt", str(job.attempt), "--endpoint", job.endpoint)
    return RemoteStart(
        script=_program(),
        python=_text(job.options, "python") or "python3",
        variables={name: value for name, value in variables.items() if value},
        common=common,
    )


@functools.cache
def _program() -> str:
    return Path(agent_bootstrap.__file__).read_text(encoding="utf-8")


def _text(options: Mapping[str, Any], name: str) -> str:
    value = options.get(name) or ""
    if not isinstance(value, str) or "\n" in value:
        raise InvalidInput(f"the option {name} is {value!r}", f"give a {COMMON_OPTIONS[name]}")
    return value


def _directory(options: Mapping[str, Any], name: str) -> str:
    """Return a directory as given: `~` and variables such as $USER mean those of the node."""
    value = _text(options, name)
    if value and not value.startswith(("/", "~", "$")):
        raise InvalidInput(
            f"the option {name} is {value!r}", "give an absolute path; ~ and $USER are those of the node"
        )
    return value
