"""The kind of node that a run gets: its environment is resolved for it.

The server looks at its own machine when it resolves. Of other machines, it keeps with each compute target the kinds
that its nodes described, one for each request (GPUs or none, and options that the run overrides). If the kind for a
request is unknown, node 0 of the run describes itself when it joins, and the environment is resolved then. The nodes of
`footplate compute check` describe themselves, too, so that it refreshes what the server keeps.
"""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

from footplate import environments
from footplate.domain import gpus, node_kinds
from footplate.domain.codec import from_json
from footplate.domain.node_kinds import KIND, KnownKind, NodeKind
from footplate.domain.orders import Lock
from footplate.domain.records import NodeState, RunRecord
from footplate.environments import machine
from footplate.errors import NotFound
from footplate.services.capacity import capacity_of
from footplate.services.orchestration.agent_jobs import AgentJobs
from footplate.storage import Storage


class KindUnknown(Exception):
    """Raised when only a node of the run itself can tell what can be installed there, and none has joined yet."""


class NodeKinds:
    def __init__(self, store: Storage, jobs: AgentJobs, home: Path) -> None:
        self._store = store
        self._jobs = jobs
        self._root = home / "environments"

    def find(self, record: RunRecord) -> NodeKind | None:
        """Return the kind of node that the run's environment is resolved for; None for the server's own machine."""
        spec = record.spec
        if (
            not environments.needs_node(spec.environment)
            or self._jobs.engine_of(record.workspace, spec.target).shares_home
        ):
            return None
        if record.nodes and record.nodes[0].state is not NodeState.LAUNCHED:
            return self._describe(record.nodes[0].info)
        kinds = self._store.computes.get(record.workspace, spec.target).kinds
        kind = node_kinds.kind_for(kinds, self._request(record))
        if kind is None:
            raise KindUnknown
        return kind

    def learn(self, record: RunRecord, info: dict[str, Any]) -> None:
        """Keep the kind that node 0 has described, for later runs that make the same request of this target."""
        if KIND not in info:
            return
        kind = from_json(NodeKind, info[KIND]).check()
        new = KnownKind(self._request(record), kind, record.id, time.time())
        self._keep(record, node_kinds.with_kind(self._kept_kinds(record), new))

    def contradiction(self, record: RunRecord, node: int, lock: Lock) -> str | None:
        """Return a warning if a node has GPUs and the lock is for nodes without, or the other way round.

        Then the kept kind is forgotten, too: the next run asks its own node.
        """
        made_for = lock.content.get(node_kinds.NODE)
        info = record.nodes[node].info
        if made_for is None or "gpus" not in info or bool(info["gpus"]) == made_for["gpu"]:
            return None
        request, kinds = self._request(record), self._kept_kinds(record)
        kind = node_kinds.kind_for(kinds, request)
        if kind is not None and kind.gpu == made_for["gpu"]:
            self._keep(record, node_kinds.without_request(kinds, request))
        has = "GPUs" if info["gpus"] else "no GPU"
        return (
            f"the environment was resolved for nodes with {node_kinds.describe(made_for)}, and node {node} "
            f"({record.nodes[node].host}) has {has}; the next run is resolved for its own node"
        )

    def _describe(self, info: dict[str, Any]) -> NodeKind:
        """Return the kind of a node that has joined. The agent of some other engine may not have described it."""
        if KIND in info:
            return from_json(NodeKind, info[KIND]).check()
        return machine.describe_machine(self._root, bool(info.get("gpus")))

    def _request(self, record: RunRecord) -> str:
        size = capacity_of(self._store, record.workspace, record.spec.target).gpus
        return node_kinds.request_of(gpus.asks(record.spec, size), record.spec.engine_options)

    def _kept_kinds(self, record: RunRecord) -> tuple[KnownKind, ...]:
        try:
            return self._store.computes.get(record.workspace, record.spec.target).kinds
        except NotFound:  # the target was removed, or is one of this machine
            return ()

    def _keep(self, record: RunRecord, kinds: tuple[KnownKind, ...]) -> None:
        try:
            self._store.computes.change(record.workspace, record.spec.target, kinds=kinds)
        except NotFound:
            return
