"""Whether MPI has anything to look for beyond sockets and memory, and what it is told where it has not.

Open MPI and MPICH bring the libraries of fabrics along, and most of their start is spent there. UCX, as soon as it is
loaded, rewrites eight functions of the C library to see memory come and go, and waits five milliseconds for each, in
mpirun, in every daemon and in every rank. Open MPI asks libfabric for hardware, and lets it take a second, at the start
or at the end. Without such hardware all of that finds nothing.
"""

from __future__ import annotations

import os

_FABRICS = ("sys/class/infiniband", "sys/class/cxi", "sys/class/hfi1", "dev/infiniband", "dev/knem", "dev/xpmem")
_DEVICES = ("dev/nvidiactl", "dev/kfd")
"""Memory of GPUs travels through UCX, too."""

NO_HOOKS = {"UCX_MEM_EVENTS": "n"}
"""For all processes of MPI, of any kind."""

SOCKETS_AND_MEMORY = {
    "OMPI_MCA_pml": "ob1",
    "OMPI_MCA_btl": "^ofi,usnic,openib,uct",
    "OMPI_MCA_osc": "^ucx",
}
"""For Open MPI: what it would choose in the end, without asking the others first."""


def is_there(root: str = "/") -> bool:
    return any(os.path.exists(os.path.join(root, path)) for path in (*_FABRICS, *_DEVICES))
