"""The script of `footplate compute check`: tests one node and writes its findings to outputs/nodes/RANK.json.

It runs on the node's own Python as one rank of a run, without Footplate: STANDARD LIBRARY ONLY, Python ≥ 3.8. A finding
is a name, a state (ok, warn: some runs need it, fail: nothing works without it) and a message.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import shutil
import socket
import subprocess
import sys
import threading
import time
from email.utils import parsedate_to_datetime
from typing import Any, Callable, Dict, Iterator, List, Optional, Tuple
from urllib.parse import urlsplit

Finding = Tuple[str, str]
"""The state and the message."""

PATIENCE = 20.0
"""Seconds in which all nodes must meet."""

_TIMEOUT = 5.0
_GIB = 2.0**30


def check_python() -> Finding:
    version = platform.python_version()
    return "ok" if sys.version_info >= (3, 8) else "fail", f"{version} ({sys.executable})"


def check_machine() -> Finding:
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / _GIB
    return "ok", f"{os.cpu_count()} CPUs, {memory:.1f} GiB of memory"


def check_disk(folder: str) -> Finding:
    free = shutil.disk_usage(folder).free / _GIB
    state = "fail" if free < 0.1 else "warn" if free < 5 else "ok"
    return state, f"{free:.1f} GiB free in {folder}"


def check_server(endpoint: str) -> Finding:
    """Connect to the server once more: the agent of this run has done so already."""
    parts = urlsplit(endpoint)
    if not parts.hostname:
        return "ok", "over a socket of this machine"
    began = time.monotonic()
    connect(parts.hostname, parts.port or (443 if parts.scheme == "https" else 80)).close()
    return "ok", f"{endpoint} answers in {1000 * (time.monotonic() - began):.1f} ms"


def check_clock(endpoint: str) -> Finding:
    """Compare the clock with the server's. Over TLS the agent compares nothing, and neither does this."""
    parts = urlsplit(endpoint)
    if parts.scheme != "http" or not parts.hostname:
        return "ok", "not compared with the server's"
    with connect(parts.hostname, parts.port or 80) as connection:
        connection.sendall(f"HEAD / HTTP/1.0\r\nHost: {parts.hostname}\r\n\r\n".encode())
        answer = connection.recv(65536).decode("latin-1")
    dates = [line[5:] for line in answer.splitlines() if line.lower().startswith("date:")]
    if not dates:
        return "ok", "the server names no time"
    skew = time.time() - parsedate_to_datetime(dates[0].strip()).timestamp()
    state = "fail" if abs(skew) > 300 else "warn" if abs(skew) > 10 else "ok"
    return state, f"{skew:.0f} s from the server's"


def check_index() -> Finding:
    """Try the package index that environments are built from."""
    parts = urlsplit(os.environ.get("PIP_INDEX_URL") or os.environ.get("UV_INDEX_URL") or "https://pypi.org/simple")
    host = parts.hostname or "pypi.org"
    port = parts.port or (80 if parts.scheme == "http" else 443)
    try:
        connect(host, port).close()
    except OSError as error:
        return "warn", f"{host} cannot be reached ({error}): environments with packages cannot be built"
    return "ok", f"{host} can be reached"


def check_mpi() -> Finding:
    launcher = shutil.which("mpirun") or shutil.which("mpiexec")
    return "ok", launcher or "no mpirun: runs over MPI get Open MPI from the package index"


def check_containers() -> Finding:
    engines = [name for name in ("podman", "docker", "apptainer") if shutil.which(name)]
    return ("ok", ", ".join(engines)) if engines else ("warn", "neither podman nor docker: no runs in containers")


def check_fuse() -> Finding:
    if not os.access("/dev/fuse", os.R_OK | os.W_OK):
        return "warn", "/dev/fuse cannot be used: data is downloaded instead of mounted"
    return "ok", shutil.which("fusermount3") or shutil.which("fusermount") or "/dev/fuse"


def check_gpus() -> Finding:
    program = shutil.which("nvidia-smi")
    devices = os.environ.get("CUDA_VISIBLE_DEVICES")
    visible = "" if devices is None else f"; CUDA_VISIBLE_DEVICES={devices}"
    if program is None:
        return "ok", "none" + visible
    done = subprocess.run([program, "-L"], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=20, check=False)
    lines = done.stdout.decode(errors="replace").strip().splitlines()
    if done.returncode:
        return "warn", f"nvidia-smi fails: {lines[-1] if lines else done.returncode}"
    return "ok", "{} ({}){}".format(len(lines), lines[0].split(" (UUID")[0] if lines else "", visible)


def check_shared(folder: str) -> Finding:
    if not os.path.isdir(folder):
        return "fail", f"{folder} does not exist here"
    return ("ok", folder) if os.access(folder, os.W_OK) else ("fail", f"{folder} cannot be written")


def check_home(folder: str) -> Finding:
    seen = os.path.isdir(folder) and bool(os.listdir(folder))
    return "ok", "the server's home is {} here".format("visible" if seen else "not visible, and not needed")


# ── Between nodes ─────────────────────────────────────────────────────────────────────────────────────────────────────


def connect(host: str, port: int) -> socket.socket:
    return socket.create_connection((host, port), timeout=_TIMEOUT)


def meet(rank: int, size: int, address: str, port: int) -> Dict[int, Tuple[str, int]]:
    """Return the address of every node, after all have told rank 0 theirs. Each listens for the others."""
    if rank == 0:
        return _gather(size, address, port)
    connection = _reach_first(address, port)
    with connection, connection.makefile("rw") as stream:
        stream.write(json.dumps([rank, *_listen(connection.getsockname()[0])]) + "\n")
        stream.flush()
        return _decode(stream.readline())


def _reach_first(address: str, port: int) -> socket.socket:
    """Connect to rank 0, which may not listen yet."""
    deadline = time.monotonic() + PATIENCE
    while True:
        try:
            connection = connect(address, port)
            connection.settimeout(2 * PATIENCE)
            return connection
        except OSError as error:
            if time.monotonic() > deadline:
                raise OSError(f"node 0 cannot be reached at {address}:{port}: {error}") from None
            time.sleep(0.1)


def _gather(size: int, address: str, port: int) -> Dict[int, Tuple[str, int]]:
    addresses: Dict[int, Tuple[str, int]] = {0: _listen(address)}
    streams: List[Any] = []
    deadline = time.monotonic() + 1.5 * PATIENCE
    with socket.create_server((address, port)) as server:
        while len(addresses) < size and time.monotonic() < deadline:
            server.settimeout(max(0.1, deadline - time.monotonic()))
            try:
                stream = server.accept()[0].makefile("rw")
            except OSError:
                break
            rank, host, number = json.loads(stream.readline())
            addresses[int(rank)] = (host, int(number))
            streams.append(stream)
    for stream in streams:
        stream.write(json.dumps(addresses) + "\n")
        stream.close()
    return addresses


def _listen(address: str) -> Tuple[str, int]:
    """Listen until this process ends; return where."""
    server = socket.create_server((address, 0), backlog=1024)
    threading.Thread(target=_accept_connections, args=(server,), daemon=True).start()
    return address, server.getsockname()[1]


def _accept_connections(server: socket.socket) -> None:
    while True:
        server.accept()[0].close()


def _decode(line: str) -> Dict[int, Tuple[str, int]]:
    if not line:
        raise OSError("node 0 has hung up")
    return {int(rank): (host, port) for rank, (host, port) in json.loads(line).items()}


def check_network(rank: int, size: int, address: str, port: int) -> Finding:
    addresses = meet(rank, size, address, port)
    missing = [f"node {each} has not answered" for each in range(size) if each not in addresses]
    for peer, (host, number) in sorted(addresses.items()):
        try:
            connect(host, number).close()
        except OSError as error:
            missing.append(f"node {peer} at {host}: {error}")
    return ("fail", "; ".join(missing)) if missing else ("ok", f"reaches all {size} nodes")


# ── All of it ─────────────────────────────────────────────────────────────────────────────────────────────────────────


def examine(checks: Dict[str, Callable[[], Finding]]) -> Iterator[Dict[str, str]]:
    """Run the checks; an exception is a finding, too."""
    for name, check in checks.items():
        try:
            state, message = check()
        except Exception as error:  # whatever it is, the other checks must run
            state = "fail"
            message = f"{type(error).__name__}: {error}"
        yield {"name": name, "state": state, "message": message}


def main(words: Optional[List[str]] = None) -> None:
    parser = argparse.ArgumentParser()
    for name in ("--endpoint", "--home", "--shared"):
        parser.add_argument(name, default="")
    options = parser.parse_args(words)
    rank, size = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
    first = os.environ["MASTER_ADDR"], int(os.environ["MASTER_PORT"])
    checks: Dict[str, Callable[[], Finding]] = {
        "python": check_python,
        "machine": check_machine,
        "disk": lambda: check_disk(os.getcwd()),
        "server": lambda: check_server(options.endpoint),
        "clock": lambda: check_clock(options.endpoint),
        "packages": check_index,
        "mpi": check_mpi,
        "containers": check_containers,
        "fuse": check_fuse,
        "gpus": check_gpus,
        "home": lambda: check_home(options.home),
    }
    if options.shared:
        checks["shared"] = lambda: check_shared(options.shared)
    if size > 1:
        checks["network"] = lambda: check_network(rank, size, *first)
    report = {"node": rank, "host": platform.node(), "findings": list(examine(checks))}
    os.makedirs("outputs/nodes", exist_ok=True)
    with open(f"outputs/nodes/{rank}.json", "w", encoding="utf-8") as file:
        json.dump(report, file, indent=2)
    if size > 1:
        time.sleep(_TIMEOUT)  # the others may still connect


if __name__ == "__main__":
    main()
