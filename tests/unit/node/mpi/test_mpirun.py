"""The command line of mpirun, the shell around a rank, and the requests for daemons."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from footplate.domain.launch import plan
from footplate.domain.orders import Lock, MpiOrders, NodeOrders, NodePlace, Program
from footplate.domain.specs import Distribution, RunSpec
from footplate.node.mpi import mpirun
from footplate.node.mpi.mpirun import Launcher, MpiHost, mpirun_argv, mpirun_defaults
from footplate.node.node_directory import NodeFolder

PLAIN, LARGE = MpiHost(cores=4, has_fabric=False), MpiHost(cores=64, has_fabric=True)
RANK = ["/bin/sh", "-c", 'exec /bin/sh "${FOOTPLATE_RANK_SCRIPT:-$0}"', "/rank.sh"]


def orders(nodes: int = 2, per_node: int = 2, node: int = 0, first: str = "127.0.0.") -> NodeOrders:
    places = tuple(NodePlace(f"{first}{2 + n}", (20000 + n, 21000 + n)) for n in range(nodes))
    wanted = Distribution("mpi", nodes, processes_per_node=per_node)
    program = Program(script="train.py")
    ranks = plan(RunSpec("e", program=program, distribution=wanted), places)
    return NodeOrders(
        run="r_1", node=node, attempt=1, ready=True, stop=False, program=program, lock=Lock("d", "existing", {}),
        snapshot=None, variables={}, ranks=tuple(r for r in ranks if r.node == node), nodes=nodes,
        processes=nodes * per_node, mpi=MpiOrders(places, per_node, "s3cret"),
    )  # fmt: skip


class TestWhatMpirunIsTold:
    def test_open_mpi_4(self) -> None:
        launcher = Launcher("/env/bin/mpirun", "open4")
        assert mpirun_argv(launcher, orders(), "/reach", "/rank.sh") == [
            "/env/bin/mpirun", "-n", "4", "-H", "localhost:2,node-1:2", *RANK,
        ]  # fmt: skip
        told = mpirun_defaults(launcher, orders(), LARGE)
        assert told["OMPI_MCA_plm_rsh_agent"] == "footplate-reach"
        assert (told["OMPI_MCA_btl"], told["OMPI_MCA_btl_tcp_if_include"]) == ("tcp,self", "lo")
        assert told["OMPI_MCA_coll"] == "^han"

    def test_open_mpi_5(self) -> None:
        launcher = Launcher("/env/bin/mpirun", "open5")
        assert mpirun_argv(launcher, orders(), "/reach", "/rank.sh")[3:7] == [
            "-H", "localhost:2,node-1:2", "--map-by", "ppr:2:node:oversubscribe",
        ]  # fmt: skip
        assert mpirun_defaults(launcher, orders(), LARGE)["PRTE_MCA_plm_ssh_agent"] == "footplate-reach"

    def test_mpich(self) -> None:
        launcher = Launcher("/env/bin/mpiexec", "mpich")
        assert mpirun_argv(launcher, orders(), "/reach", "/rank.sh") == [
            "/env/bin/mpiexec", "-n", "4", "-launcher", "rsh", "-launcher-exec", "/reach", "-hosts",
            "localhost:2,node-1:2", "-localhost", "127.0.0.2", "-iface", "lo", *RANK,
        ]  # fmt: skip
        assert mpirun_defaults(launcher, orders(), PLAIN) == {}

    @pytest.mark.parametrize(("kind", "told"), [("mpich", ["no-topology.xml"]), ("open4", []), ("open5", [])])
    def test_mpich_writes_nothing_outside_of_the_run(self, tmp_path: Path, kind: str, told: list[str]) -> None:
        """hwloc left a file in /tmp for every cancelled run."""
        folder = NodeFolder(str(tmp_path), "r_1", 1)
        found = mpirun.daemon_defaults(Launcher("/env/bin/mpiexec", kind), folder)
        assert list(found.values()) == [os.path.join(folder.tmp, name) for name in told]

    def test_one_node_needs_no_daemon(self) -> None:
        assert "localhost:3" in mpirun_argv(Launcher("mpirun", "open4"), orders(1, 3), "/reach", "/rank.sh")
        assert "-launcher" not in mpirun_argv(Launcher("mpirun", "mpich"), orders(1, 3), "/reach", "/rank.sh")

    @pytest.mark.parametrize("kind", ["open4", "open5"])
    def test_real_machines_choose_their_own_networks(self, kind: str) -> None:
        told = mpirun_defaults(Launcher("mpirun", kind), orders(first="10.0.0."), LARGE)
        assert not [name for name in told if "include" in name or name == "OMPI_MCA_btl"]

    @pytest.mark.parametrize("kind", ["open4", "open5"])
    def test_no_fabric_is_searched_where_there_is_none(self, kind: str) -> None:
        told = mpirun_defaults(Launcher("mpirun", kind), orders(first="10.0.0."), PLAIN)
        assert (told["OMPI_MCA_pml"], told["OMPI_MCA_osc"]) == ("ob1", "^ucx")
        assert told["OMPI_MCA_btl"].startswith("^ofi")
        assert mpirun_defaults(Launcher("mpirun", kind), orders(), PLAIN)["OMPI_MCA_btl"] == "tcp,self"

    @pytest.mark.parametrize(("first", "per_node", "yields"), [
        ("127.0.0.", 2, False), ("127.0.0.", 3, True), ("10.0.0.", 4, False), ("10.0.0.", 5, True),
    ])  # fmt: skip
    def test_ranks_without_a_core_of_their_own_yield(self, first: str, per_node: int, yields: bool) -> None:
        told = mpirun_defaults(Launcher("mpirun", "open4"), orders(2, per_node, first=first), PLAIN)
        assert ("OMPI_MCA_mpi_yield_when_idle" in told) == yields


class TestFabrics:
    @pytest.mark.parametrize("path", ["sys/class/infiniband", "dev/nvidiactl"])
    def test_fabrics_are_recognized(self, tmp_path: Path, path: str) -> None:
        assert not mpirun.is_there(str(tmp_path))
        (tmp_path / path).mkdir(parents=True)
        assert mpirun.is_there(str(tmp_path))
