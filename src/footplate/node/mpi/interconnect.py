"""Whether MPI can use anything beyond sockets and memory, and the settings where it cannot.

Open MPI and MPICH include libraries for fabrics, which take most of their start-up time. UCX, once loaded, rewrites
eight functions of the C library to observe memory, and waits five milliseconds for each, in mpirun, in every daemon and
in every rank. Open MPI lets libfabric search for hardware for up to a second, at the start or at the end. Without such
hardware all of that finds nothing.
"""

from __future__ import annotations

import os

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
