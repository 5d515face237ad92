"""The engine protocol: a name and five methods. An engine only starts N node agents, watches them and ends them.

Logs, metrics, retries and environments are not an engine's business. A new engine costs one file here, one row in
`engines/__init__`, one fixture of the conformance suite and one page of documentation.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol


@dataclass(frozen=True)
class AgentJob:
    """What an engine is asked to start: `node_count` agents of one run, together."""

    run: str
    attempt: int
    node_count: int
    endpoint: str  # where the agents find the server, e.g. unix:///…/socket/server.sock
    home: str | None  # set when the agents share the server's machine and home folder
    token: str | None = None
    options: dict[str, Any] = field(default_factory=dict[str, Any])


@dataclass(frozen=True)
class LaunchRequest:
    """Exactly what will be sent, rendered: argv and variables for a process, the text of a batch file, a JSON body."""

    engine: str
    run: str
    attempt: int
    body: dict[str, Any]


@dataclass(frozen=True)
class Observation:
    """`state`: queued, running, exited (every agent has ended; `codes` by node) or gone (no such handle is known).

    `lost` names nodes whose agent is known to have died without an exit code while others still run.
    """

    state: str
    codes: dict[int, int | None] = field(default_factory=dict[int, "int | None"])
    lost: tuple[int, ...] = ()


class Engine(Protocol):
    name: str

    def prepare(self, job: AgentJob) -> LaunchRequest:
        """Pure: render the request. Raises InvalidInput, naming the field, for what this engine cannot give."""
        ...

    def submit(self, request: LaunchRequest) -> str:
        """Start the work and return a handle that survives a restart of the server.

        Idempotent per (run, attempt): agents that already run are left alone, agents that died are started again.
        """
        ...

    def poll(self, handles: Sequence[str]) -> dict[str, Observation]:
        """One answer per handle, in one batch. Raises Unavailable when it cannot know: then nothing changes."""
        ...

    def cancel(self, handle: str, grace: float) -> None:
        """Ask the whole group to end, and see that it has after `grace` seconds. Returns at once; idempotent."""
        ...

    def forget(self, handle: str) -> bool:
        """The run is over: remove what is still kept for it. False while an agent lives that will do so itself."""
        ...
