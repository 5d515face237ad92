"""The part of the HTTP API that a node agent uses, with the agent's patience: a server that is away comes back."""

from __future__ import annotations

import copy
import os
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, BinaryIO, TypeVar

from footplate.client.transport import Transport
from footplate.domain.codec import from_json, to_json
from footplate.domain.data import FOLDER, StoreSpec
from footplate.domain.datasets import BUILT_IN_DATASTORES, DatasetView, RunData, through_server
from footplate.domain.launch import NodeOrders
from footplate.domain.records import Cause, FileView
from footplate.domain.stacks import ProcessStacks
from footplate.errors import OutOfSpace, Unavailable

T = TypeVar("T")

SHORT_PATIENCE = 2.0
"""How long one call waits for the server. Short, because every caller here knows how to come back to it."""

_LONGEST_PAUSE = 15.0


class Abandoned(Exception):
    """There is nothing left to work for: the agent's folder is gone, or the server knows no such run."""


class Link:
    def __init__(self, transport: Transport, run: str, node: int, wanted: Callable[[], bool], attempt: int = 1) -> None:
        """`wanted` says whether it still makes sense to wait for a server that is away."""
        self._transport = transport
        self._attempt = attempt
        self._run = f"/runs/{run}"
        self._node = f"/runs/{run}/nodes/{node}"
        self._wanted = wanted

    def of_attempt(self, attempt: int) -> Link:
        """The same link, speaking for another attempt."""
        other = copy.copy(self)
        other._attempt = attempt
        return other

    def insist(self, call: Callable[[], T], enough: Callable[[], bool] = lambda: False) -> T:
        """Repeat until it is done, however long the server is away or the disk is full.

        When it is `enough`, the error comes through.
        """
        pause = 0.2
        while True:
            try:
                return call()
            except (Unavailable, OutOfSpace):
                if not self._wanted():
                    raise Abandoned("the work folder is gone, and so is the server") from None
                until = time.monotonic() + pause
                while time.monotonic() < until:
                    if enough():
                        raise
                    time.sleep(min(pause, 0.2))
                pause = min(pause * 2, _LONGEST_PAUSE)

    # ── The life of the node ──────────────────────────────────────────────────────────────────────────────────────────

    def join(self, host: str, address: str, info: dict[str, Any]) -> NodeOrders:
        body = {"attempt": self._attempt, "host": host, "address": address, "info": info}
        return from_json(NodeOrders, self._transport.post(f"{self._node}/join", body))

    def orders(self, wait: float, until: str = "ready") -> NodeOrders:
        return from_json(NodeOrders, self._transport.get(f"{self._node}/orders", {"wait": wait, "until": until}))

    def prepared(self, ports: Sequence[int], wait: float) -> NodeOrders:
        """Say that the ranks could start, with these ports held for them; the orders say whether they may.

        The answer waits for the others, `wait` seconds at most."""
        body = {"ports": list(ports), "attempt": self._attempt, "wait": wait}
        return from_json(NodeOrders, self._transport.post(f"{self._node}/prepared", body))

    def tell(self, event: str, message: str | None = None, cause: Cause | None = None) -> bool:
        """Report an event; the answer says whether the ranks are to be stopped."""
        body = {"event": event, "message": message, "cause": to_json(cause), "attempt": self._attempt}
        return bool(self._transport.post(f"{self._node}/events", body)["stop"])

    def beat(self) -> tuple[bool, list[str]]:
        """Whether the ranks are to be stopped, and who asks for their stacks."""
        answer = self._transport.post(f"{self._node}/heartbeat", {"attempt": self._attempt})
        return bool(answer["stop"]), list(answer.get("stacks") or ())

    def show_stacks(self, key: str, processes: Sequence[ProcessStacks]) -> None:
        self._transport.post(f"{self._node}/stacks", {"key": key, "processes": to_json(processes)})

    def warn(self, message: str) -> None:
        self._transport.post(f"{self._run}/warnings", {"message": message})

    # ── What grows ────────────────────────────────────────────────────────────────────────────────────────────────────

    def append_log(self, run: str, path: str, offset: int, data: bytes, replace: bool) -> int:
        query = {"offset": offset, "replace": replace or None}
        return int(self._transport.put(f"/runs/{run}/logs/{path}", query=query, body=data)["size"])

    def append_journal(self, run: str, writer: str, part: str, offset: int, data: bytes, system: bool) -> int:
        query = {"offset": offset, "system": system or None}
        path = f"/runs/{run}/journals/{writer}/{part}"
        return int(self._transport.put(path, query=query, body=data)["size"])

    # ── Data ──────────────────────────────────────────────────────────────────────────────────────────────────────────

    def data(self, workspace: str) -> RunData:
        """The datasets and stores of the run, credentials included; built-in stores as this machine reaches them."""
        known = from_json(RunData, self._transport.get(f"{self._run}/data"))
        stores = {name: self._reached(workspace, name, spec) for name, spec in known.stores.items()}
        return replace(known, stores=stores)

    def _reached(self, workspace: str, name: str, spec: StoreSpec) -> StoreSpec:
        built_in = name in BUILT_IN_DATASTORES and spec.kind == FOLDER
        if not built_in or self._transport.is_local or os.path.isdir(spec.location["path"]):
            return spec
        return through_server(self._transport.endpoint, self._transport.token, workspace, name)

    def register_dataset(self, workspace: str, body: dict[str, Any]) -> DatasetView:
        return from_json(DatasetView, self._transport.post(f"/workspaces/{workspace}/datasets", body))

    # ── Files ─────────────────────────────────────────────────────────────────────────────────────────────────────────

    def add_files(self, files: Sequence[FileView], key: str) -> list[str]:
        """Name blobs that are in the store as files of the run; returns the names that it had before this `key`."""
        body: dict[str, Any] = {"key": key, "files": [to_json(file) for file in files], "automatic": True}
        body["attempt"] = self._attempt
        return list(self._transport.post(f"{self._run}/files", body)["skipped"])

    def files(self, prefix: str) -> list[FileView]:
        """The files that the run keeps under names that begin so."""
        answer = self._transport.get(f"{self._run}/files", {"prefix": prefix})
        return [from_json(FileView, item) for item in answer["items"] if item["digest"] is not None]

    def missing(self, digests: Sequence[str]) -> set[str]:
        return set(self._transport.post("/blobs/missing", {"digests": list(digests)})["missing"])

    def put_blob(self, digest: str, file: BinaryIO) -> None:
        self._transport.put(f"/blobs/{digest}", body=file)

    def get_blob(self, digest: str) -> Any:
        """The blob's bytes, piece by piece."""
        return self._transport.stream(f"/blobs/{digest}")
