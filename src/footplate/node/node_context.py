"""The values that all phases of an agent share: orders, connection, ranks, and helpers that start on first use."""

from __future__ import annotations

import gc
import os
from typing import TYPE_CHECKING, Any

from footplate.client.transport import Transport
from footplate.domain.orders import NodeOrders
from footplate.lazy import Deferred
from footplate.node import host_info, process_tree
from footplate.node.delivery.server_link import SHORT_PATIENCE, Abandoned, Link
from footplate.node.gpus import Leases
from footplate.node.log import say
from footplate.node.node_directory import NodeFolder
from footplate.node.options import AgentOptions
from footplate.node.ranks.rank_group import RankGroup
from footplate.node.stopping import StopRequest

if TYPE_CHECKING:
    from footplate.client import launcher
    from footplate.node import node_data, ports, sampler, stacks
    from footplate.node.delivery import checkpoints, disk_wait, reporting, shipper
else:  # ranks do not wait for the import of modules that only some runs need, or that the agent uses after their start
    launcher = Deferred("footplate.client.launcher")
    node_data = Deferred("footplate.node.node_data")
    stacks = Deferred("footplate.node.stacks")
    checkpoints = Deferred("footplate.node.delivery.checkpoints")
    disk_wait = Deferred("footplate.node.delivery.disk_wait")
    reporting = Deferred("footplate.node.delivery.reporting")
    shipper = Deferred("footplate.node.delivery.shipper")


class NodeContext:
    """One node of one run, as its agent sees it."""

    def __init__(self, options: AgentOptions, folder: NodeFolder) -> None:
        self.options = options
        self.folder = folder
        self.orders: NodeOrders  # from the join on
        starter = self._revive_server if options.home else None
        transport = Transport(options.endpoint, options.token, starter, SHORT_PATIENCE)
        self.link = Link(transport, options.run, options.node, folder.exists, options.attempt)
        self.ranks = RankGroup(folder, options.node, self.keep_mounts, options.linger)
        self.stop = StopRequest()
        self.leases = Leases(folder.home, folder.marker())
        self.log_bases: dict[str, int] = {}
        self.unreported_host: tuple[str, str, dict[str, Any]] | None = None  # of an agent that began with its orders
        self.ports: ports.HeldPorts | None = None  # kept, because other agents keep off until this one ends
        self.data: node_data.NodeData | None = None
        self.checkpoints: checkpoints.CheckpointSaver | None = None
        self.sampler: sampler.Sampler | None = None
        self._reporter: reporting.Reporter | None = None

    def reporter(self) -> reporting.Reporter:
        """Return the reporter, started on first use: after the ranks, unless something before them takes time."""
        if self._reporter is None:
            gc.enable()
            everything = shipper.NodeShipper(self.link, self.folder, self.orders, say, self.log_bases)
            place = f"the disk of node {self.options.node} ({os.uname().nodename}:{self.folder.home})"
            disk = disk_wait.DiskWatch(self.folder.path, place, at_once=self.options.home is None)
            answers = stacks.Answers(self.link, self.ranks.members, self.options.node)
            self._reporter = reporting.Reporter(self.link, everything, self.stop.ask, self.folder, disk, answers.give)
            if self.unreported_host is not None:
                self._reporter.note_joined(*self.unreported_host)
        return self._reporter

    def report_progress(self, message: str) -> None:
        with self.stop.deferred():
            self.reporter().tell("prepares", message)

    def has_data(self) -> bool:
        return bool(self.orders.inputs or self.orders.outputs)

    def open_data(self) -> node_data.NodeData:
        self.data = node_data.NodeData(
            self.orders, self.link, self.options.home, self.folder, self.report_progress, self.ranks.members
        )
        return self.data

    def open_checkpoints(self) -> checkpoints.CheckpointSaver:
        self.checkpoints = checkpoints.CheckpointSaver(
            self.link, self.folder, self.orders, self.options.home, self.ranks.members, say,
            has_failed=self.ranks.has_failed,
        )  # fmt: skip
        return self.checkpoints

    def keep_mounts(self, pids: list[int]) -> None:
        """Keep mounts until these processes have ended."""
        if self.data is not None:
            self.data.guard(pids)

    def _revive_server(self) -> str:
        if not self.folder.exists():
            raise Abandoned("the work directory is gone")
        with host_info.standing_up(), process_tree.adopting_nobody():
            return launcher.revive_server(self.options.home or "")
