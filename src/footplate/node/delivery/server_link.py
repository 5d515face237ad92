"""The calls that a node agent makes to the server, retried for as long as the server is away."""

from __future__ import annotations

import copy
import os
import time
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, BinaryIO, TypeVar

from footplate.api import ApiClient
from footplate.backoff import Backoff
from footplate.client.transport import Transport
from footplate.domain.orders import Cause, NodeOrders
from footplate.domain.values import replace
from footplate.errors import OutOfSpace, Unavailable
from footplate.lazy import Deferred

if TYPE_CHECKING:
    from footplate.domain import data, datasets, shipments
    from footplate.domain.data import StoreSpec
    from footplate.domain.datasets import DatasetView, RunData
    from footplate.domain.records import FileView
    from footplate.domain.replies import DirectUpload, HeartbeatReply, ShipmentReply
    from footplate.domain.requests import NewDataset
    from footplate.domain.shipments import FilePiece, NodeReport
    from footplate.domain.stacks import ProcessStacks
else:
    data = Deferred("footplate.domain.data")
    datasets = Deferred("footplate.domain.datasets")
    shipments = Deferred("footplate.domain.shipments")  # nothing is shipped before the ranks have started

T = TypeVar("T")

SHORT_PATIENCE = 2.0
"""How long one call waits for the server. It is short, because every caller retries."""

BACKOFF = (0.2, 15.0)
"""The first and the longest pause, in seconds, between calls to a server that is away."""

_CHECK_SECONDS = 0.2


class Abandoned(Exception):
    """Raised when there is nothing left to work for: the node directory is gone, or the run is unknown."""


class Link:
    def __init__(
        self, transport: Transport, run: str, node: int, is_wanted: Callable[[], bool], attempt: int = 1
    ) -> None:
        """`wanted` returns whether it is still useful to wait for a server that is away."""
        self._transport = transport
        self._attempt = self._sender = attempt
        self._api = ApiClient(transport)
        self._run = run
        self._node = node
        self._wanted = is_wanted

    def close(self) -> None:
        """Close this thread's connection."""
        self._transport.close()

    def of_attempt(self, attempt: int) -> Link:
        """Return the same link for what another attempt has left; the sender stays an agent of this one."""
        other = copy.copy(self)
        other._attempt = attempt
        return other

    def retry(self, call: Callable[[], T], enough: Callable[[], bool] = lambda: False) -> T:
        """Repeat a call until it succeeds, however long the server is away or the disk is full.

        Once `enough` returns true, raise the error instead.
        """
        backoff = Backoff(*BACKOFF)
        while True:
            try:
                return call()
            except (Unavailable, OutOfSpace):
                if not self._wanted():
                    raise Abandoned("the work folder is gone, and so is the server") from None
                until = time.monotonic() + backoff.next()
                while time.monotonic() < until:
                    if enough():
                        raise
                    time.sleep(_CHECK_SECONDS)

    # ── The life of the node ──────────────────────────────────────────────────────────────────────────────────────────

    def join(
        self, host: str, address: str, info: dict[str, Any], meanwhile: Callable[[], object] = lambda: None
    ) -> NodeOrders:
        """Return the orders of the node; `meanwhile` is called while the server prepares them."""
        with self._transport.working_meanwhile(meanwhile):
            return self._api.nodes.join(
                self._run, self._node, attempt=self._attempt, host=host, address=address, info=info
            )

    def orders(self, wait: float, until: str = "ready") -> NodeOrders:
        return self._api.nodes.orders(self._run, self._node, wait=wait, until=until)

    def report_prepared(self, ports: Sequence[int], wait: float) -> NodeOrders:
        """Report that the ranks can start, with these ports held for them; the orders tell whether they may.

        The server answers when the other nodes can start too, after `wait` seconds at most.
        """
        return self._api.nodes.report_prepared(self._run, self._node, ports=ports, attempt=self._attempt, wait=wait)

    def tell(self, event: str, message: str | None = None, cause: Cause | None = None) -> bool:
        """Report an event; return whether the ranks are to be stopped."""
        reply = self._api.nodes.report(
            self._run, self._node, event, message=message, cause=cause, attempt=self._attempt
        )
        return reply.stop

    def ship(self, reports: Sequence[NodeReport], pieces: Sequence[FilePiece], is_last: bool) -> ShipmentReply:
        """Send events and small pieces of files in one request."""
        shipment = shipments.Shipment(self._attempt, tuple(reports), tuple(pieces), is_last)
        return self._api.nodes.ship(self._run, self._node, shipment)

    def beat(self) -> HeartbeatReply:
        return self._api.nodes.heartbeat(self._run, self._node, self._attempt)

    def show_stacks(self, key: str, processes: Sequence[ProcessStacks]) -> None:
        self._api.nodes.show_stacks(self._run, self._node, key, processes)

    def warn(self, message: str) -> None:
        self._api.runs.warn(self._run, message)

    def tool(self, module: str, python: Sequence[int], machine: str, libc: Sequence[int]) -> str:
        """Return the digest of the archive of a package that this node lacks."""
        return self._api.nodes.tool(module, python=python, machine=machine, libc=libc).digest

    def fetch_archive(self, digest: str) -> Iterator[bytes]:
        return self._api.nodes.fetch_archive(digest)

    # ── Logs and journals ─────────────────────────────────────────────────────────────────────────────────────────────

    def append_log(self, run: str, path: str, offset: int, data: bytes, replace: bool) -> int:
        return self._api.files.append_log(run, path, data, offset, replace, self._sender)

    def read_log(self, path: str, offset: int, limit: int) -> bytes:
        return b"".join(self._api.files.read(self._run, path, offset=offset, limit=limit))

    def append_journal(self, run: str, writer: str, part: str, offset: int, data: bytes, system: bool) -> int:
        return self._api.metrics.append(run, writer, part, data, offset, system)

    # ── Data ──────────────────────────────────────────────────────────────────────────────────────────────────────────

    def data(self, workspace: str) -> RunData:
        """Return the datasets and stores of the run with credentials; built-in stores as this machine reaches them."""
        run_data = self._api.datastores.data_of_run(self._run)
        stores = {name: self._resolve_store(workspace, name, spec) for name, spec in run_data.stores.items()}
        return replace(run_data, stores=stores)

    def _resolve_store(self, workspace: str, name: str, spec: StoreSpec) -> StoreSpec:
        built_in = name in datasets.BUILT_IN_DATASTORES and spec.kind == data.FOLDER
        if not built_in or self._transport.is_local or os.path.isdir(spec.location["path"]):
            return spec
        return datasets.through_server(self._transport.endpoint, self._transport.token, workspace, name)

    def register_dataset(self, workspace: str, dataset: NewDataset) -> DatasetView:
        return self._api.datasets.register(workspace, dataset)

    # ── Files ─────────────────────────────────────────────────────────────────────────────────────────────────────────

    def add_files(self, files: Sequence[FileView], key: str) -> Sequence[str]:
        """Name blobs that are in the store as files of the run; return the names that it had before this `key`."""
        return self._api.files.add(self._run, files, automatic=True, key=key, attempt=self._attempt).skipped

    def save_checkpoints(self, files: Sequence[FileView]) -> Sequence[str]:
        """Replace the saved checkpoints of this node by these; return the names that the run had before."""
        return self._api.nodes.save_checkpoints(self._run, self._node, files, self._attempt).skipped

    def files(self, prefix: str) -> list[FileView]:
        """Return the artifacts of the run whose names begin with `prefix`."""
        return [file for file in self._api.files.list(self._run, prefix) if file.digest is not None]

    def missing(self, digests: Sequence[str]) -> set[str]:
        return set(self._api.blobs.missing(digests))

    def put_blob(self, digest: str, file: BinaryIO) -> None:
        self._api.blobs.put(digest, file)

    def upload_directly(self, digest: str, size: int) -> DirectUpload:
        """Return the parts of a blob that the object store lacks."""
        return self._api.nodes.upload_directly(self._run, self._node, digest, size)

    def hand_over(self, digest: str, size: int, probe: bool) -> bool:
        """Return whether the server has taken the file from the directory that it shares with this node."""
        return self._api.nodes.hand_over(self._run, self._node, digest, size, probe).taken

    def get_blob(self, digest: str) -> Iterator[bytes]:
        return self._api.blobs.read(digest)
