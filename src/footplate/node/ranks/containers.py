"""Ranks in containers: the command that starts a container around a rank, and the removal of leftover containers.

A container sees the run's directory (writable), the directory from which jobs import Footplate and the directory of the
server's socket (both read-only), under the paths that they have outside. It shares the network and the process ids of
the machine, so processes inside are found, signalled and measured like all others. If a node has several ranks, they
also share the machine's memory for messages, as NCCL and data loaders require.
"""

from __future__ import annotations

import glob
import os
import subprocess
from collections.abc import Mapping, Sequence

from footplate import environ
from footplate.client.http import parse_endpoint
from footplate.domain import azure_variables
from footplate.environments.base import Container
from footplate.node.node_directory import NodeFolder

LABEL = "footplate.node"
_GPU = "dev/nvidiactl"
_CDI = ("etc/cdi/*nvidia*", "var/run/cdi/*nvidia*")


def enclose(
    container: Container,
    argv: Sequence[str],
    variables: Mapping[str, str],
    engine: Mapping[str, str],
    alone: bool,
    runtime: str,
    folder: NodeFolder,
) -> tuple[list[str], dict[str, str]]:
    """Return the command that runs `argv` with `variables` in a container, and the command's own environment.

    `engine` are the variables of the container engine itself.

    Values reach the container engine through that environment and not through its arguments, which every user of the
    machine can read. Only values that would mean something to the engine itself become arguments.
    """
    options = ["--rm", "--name", f"footplate-{os.urandom(6).hex()}", "--label", f"{LABEL}={folder.path}"]
    options += ["--network", "host", "--pid", "host", "--entrypoint", "", "--workdir", folder.wd]
    options += ["--shm-size", container.shm_size] if alone else ["--ipc", "host"]
    options += _user(container)
    for mount in (*_mounts(variables, runtime, folder), *(f"{path}:{path}:ro" for path in container.mounts)):
        options += ["--volume", mount]
    options += gpu_options(container.engine)
    for name, value in sorted(variables.items()):
        options += ["--env", name if engine.get(name, value) == value else f"{name}={value}"]
    return [container.program, "run", *options, *container.options, container.image, *argv], {**variables, **engine}


def _mounts(variables: Mapping[str, str], runtime: str, folder: NodeFolder) -> list[str]:
    # Virtual nodes work in the directory of the first one.
    outside = [path for path in (folder.wd, folder.shared) if path and not path.startswith(folder.path + os.sep)]
    mounts = [f"{path}:{path}" for path in (folder.path, *outside)]
    for name in sorted(os.listdir(runtime)):  # symlinks, which are dangling inside
        place = os.path.join(runtime, name)
        mounts.append(f"{os.path.realpath(place)}:{place}:ro")
    endpoint = variables.get(environ.ENDPOINT, "")
    if endpoint.startswith("unix://"):
        # Mount the directory: each restart of the server makes a new socket.
        place = os.path.dirname(parse_endpoint(endpoint).socket or "")
        mounts.append(f"{place}:{place}:ro")
    return mounts + _data(variables, folder)


def _data(variables: Mapping[str, str], folder: NodeFolder) -> list[str]:
    """Return mounts for inputs and outputs outside the run's directory, and for symlinks that lead out of it."""
    mounts: list[str] = []
    for name, place in sorted(variables.items()):
        if name.startswith(azure_variables.REFERENCE) and os.path.isabs(place):
            for path in dict.fromkeys((place, os.path.realpath(place))):
                if not path.startswith(folder.path + os.sep) and os.path.exists(path):
                    mounts.append(f"{os.path.realpath(path)}:{path}")
    return list(dict.fromkeys(mounts))


def _user(container: Container) -> list[str]:
    """Run as ourselves where a root daemon would otherwise leave files that do not belong to us."""
    if container.engine == "podman" or os.geteuid() == 0:
        return []
    return ["--user", f"{os.geteuid()}:{os.getegid()}"]


def gpu_options(engine: str, root: str = "/") -> list[str]:
    """Return options that show all GPUs of the machine; the variables of a rank select the ones it uses.

    podman finds GPUs by their CDI descriptions (`nvidia-ctk cdi generate`). docker does so only from version 25 on,
    while its own option works wherever NVIDIA's toolkit is installed.
    """
    if not os.path.exists(os.path.join(root, _GPU)):
        return []
    if engine == "docker":
        return ["--gpus", "all"]
    return ["--device", "nvidia.com/gpu=all"] if _are_described(root) else []


def hidden_gpus(engine: str, gpus: Sequence[str], root: str = "/") -> str | None:
    """Return a warning for a run whose GPUs its container will not see."""
    if not gpus or engine == "docker" or _are_described(root):
        return None
    return (
        f"podman does not show {len(gpus)} of this machine's GPUs to the run's container, because they have no CDI "
        "description; hint: nvidia-ctk cdi generate --output=/etc/cdi/nvidia.yaml"
    )


def _are_described(root: str) -> bool:
    return any(glob.glob(os.path.join(root, pattern)) for pattern in _CDI)


def remove(program: str, folder: NodeFolder) -> int:
    """End and remove every container of this node, whoever started it; return how many there were."""
    try:
        listing = subprocess.run(
            [program, "ps", "--all", "--quiet", "--filter", f"label={LABEL}={folder.path}"],
            capture_output=True, text=True, timeout=60, check=False,
        )  # fmt: skip
        ids = listing.stdout.split()
        if ids:
            subprocess.run(
                [program, "rm", "--force", "--volumes", *_at_once(program), *ids],
                capture_output=True,
                timeout=120,
                check=False,
            )
        return len(ids)
    except (OSError, subprocess.TimeoutExpired):
        return 0


def _at_once(program: str) -> tuple[str, ...]:
    """podman would wait ten seconds for processes that have already been asked to end; docker does not."""
    return ("--time", "0") if os.path.basename(program) == "podman" else ()
