"""A private network for tests: namespaces joined by a bridge, out of reach of everything else.

`server` has the address SERVER; `nodes` are the others. Nothing is added to the namespace of the tests themselves.
`ServerInside` is a Footplate server there.
"""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import uuid
from collections.abc import Mapping, Sequence
from pathlib import Path

from footplate.testing.waiting import wait_until

SERVER = "10.77.0.1"


def why_no_namespaces() -> str | None:
    """Return the reason why this machine cannot make namespaces; None if it can."""
    name = f"fp{uuid.uuid4().hex[:8]}"
    try:
        subprocess.run(["ip", "netns", "add", name], check=True, capture_output=True, text=True)
        enter = ["nsenter", f"--net=/run/netns/{name}", "unshare", "--mount", "true"]
        subprocess.run(enter, check=True, capture_output=True, text=True)
    except FileNotFoundError as error:
        return f"{error.filename} is not installed"
    except subprocess.CalledProcessError as error:
        return f"namespaces cannot be made (uid {os.geteuid()}): {error.stderr.strip()}"
    finally:
        subprocess.run(["ip", "netns", "delete", name], check=False, capture_output=True)
    return None


class PrivateNetwork:
    """A namespace for the server and one for each node, on one bridge. `close` removes all of it."""

    def __init__(self, nodes: int) -> None:
        self.server = f"fp{uuid.uuid4().hex[:8]}"
        self.nodes = [f"{self.server}n{index}" for index in range(nodes)]
        try:
            self._build()
        except BaseException:
            self.close()
            raise

    def _build(self) -> None:
        for name in (self.server, *self.nodes):
            _ip("netns", "add", name)
            _ip("-n", name, "link", "set", "lo", "up")
        _ip("-n", self.server, "link", "add", "br0", "type", "bridge")
        _ip("-n", self.server, "addr", "add", f"{SERVER}/24", "dev", "br0")
        _ip("-n", self.server, "link", "set", "br0", "up")
        for index, name in enumerate(self.nodes):
            port = f"port{index}"
            _ip("-n", self.server, "link", "add", port, "type", "veth", "peer", "name", "eth0", "netns", name)
            _ip("-n", self.server, "link", "set", port, "master", "br0", "up")
            _ip("-n", name, "addr", "add", f"{self.address(index)}/24", "dev", "eth0")
            _ip("-n", name, "link", "set", "eth0", "up")
            # It leads nowhere, but programs that look for their own address by a route to the world find it at once.
            _ip("-n", name, "route", "add", "default", "via", SERVER)

    def address(self, node: int) -> str:
        """Return the address of a node inside the network."""
        return f"10.77.0.{11 + node}"

    @property
    def addresses(self) -> list[str]:
        return [self.address(node) for node in range(len(self.nodes))]

    def enter(self, namespace: str) -> list[str]:
        """Return the beginning of a command line that runs the rest of it in this namespace."""
        return ["nsenter", f"--net=/run/netns/{namespace}"]

    def cut(self, node: str) -> None:
        """Take the network interface of a node down; `restore` takes it up again."""
        _ip("-n", node, "link", "set", "eth0", "down")

    def restore(self, node: str) -> None:
        _ip("-n", node, "link", "set", "eth0", "up")

    def silence(self, port: int) -> None:
        """Lose every packet that the server sends from this port, without a sign to anybody; `let_speak` undoes it."""
        _ip("-n", self.server, "rule", "add", "sport", str(port), "blackhole")

    def let_speak(self, port: int) -> None:
        _ip("-n", self.server, "rule", "delete", "sport", str(port), "blackhole")

    def close(self) -> None:
        for name in (*self.nodes, self.server):
            subprocess.run(["ip", "netns", "delete", name], check=False, capture_output=True)


class ServerInside:
    """A Footplate server that nodes reach at http://SERVER:8000. The tests reach it by the socket of its home.

    `wrapper` begins its command line inside the network.
    """

    def __init__(
        self,
        network: PrivateNetwork,
        home: Path,
        variables: Mapping[str, str] | None = None,
        wrapper: Sequence[str] = (),
    ) -> None:
        server = [sys.executable, "-m", "footplate.server", "--home", str(home), "--host", SERVER, "--port", "8000"]
        self.command = [*network.enter(network.server), *wrapper, *server]
        self._record, self._variables = home / "server.json", dict(variables or {})
        self._process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> ServerInside:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def start(self) -> None:
        """Start the server and wait until it listens."""
        self._record.unlink(missing_ok=True)
        self._process = process = subprocess.Popen(self.command, env={**os.environ, **self._variables})
        try:
            wait_until(lambda: process.poll() is not None or self._record.exists())
            assert process.poll() is None, f"the server ended with {process.poll()}"
        except BaseException:
            self.stop()
            raise

    def stop(self) -> None:
        """End the server with SIGTERM; do nothing if it is not running."""
        if self._process is not None:
            self._process.terminate()
            self._process.wait(timeout=120)
            self._process = None


def as_user(name: str) -> list[str]:
    """Return the beginning of a command line that runs the rest of it as this user, with nothing that root may do.

    The interpreter of the tests may lie in a directory that only root can enter, such as root's home. Then an empty
    directory covers that one for the command, and shows nothing but the interpreter.
    """
    prefix = Path(sys.base_prefix)
    closed = next((str(each) for each in reversed(prefix.parents) if not each.stat().st_mode & 0o001), None)
    steps = [
        f"mount --bind {prefix} /mnt",
        f"mount -t tmpfs -o mode=755 shown {closed}",
        f"mkdir -p {prefix}",
        f"mount --bind /mnt {prefix}",
    ]
    become = f"setpriv --reuid={name} --regid=$(id -g {name}) --clear-groups --bounding-set=-all"
    text = "\n".join([*(steps if closed else []), f'exec {become} "$@"'])
    return ["unshare", "--mount", "sh", "-ec", text, "sh"]


_FORWARD = """
import socket, sys, threading
def copy(source, sink):
    try:
        while data := source.recv(65536):
            sink.sendall(data)
    except OSError:
        pass
    for each in (source, sink):
        try:
            each.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass
def serve(near):
    try:
        with near, socket.create_connection((sys.argv[2], int(sys.argv[3])), timeout=10) as far:
            far.settimeout(None)
            back = threading.Thread(target=copy, args=(far, near), daemon=True)
            back.start()
            copy(near, far)
            back.join()
    except OSError:
        pass
door = socket.socket(fileno=int(sys.argv[1]))
while True:
    threading.Thread(target=serve, args=(door.accept()[0],), daemon=True).start()
"""


class Forwarder:
    """A process inside `namespace` that connects the tests' own loopback with `host:port` of the private network.

    The tests open the listening socket; so it belongs to their namespace, and the outgoing connections to the other.
    """

    def __init__(self, network: PrivateNetwork, namespace: str, host: str, port: int) -> None:
        with socket.create_server(("127.0.0.1", 0)) as door:
            self.address = f"http://127.0.0.1:{door.getsockname()[1]}"
            argv = [sys.executable, "-I", "-S", "-c", _FORWARD, str(door.fileno()), host, str(port)]
            self._process = subprocess.Popen([*network.enter(namespace), *argv], pass_fds=[door.fileno()])

    def close(self) -> None:
        self._process.kill()
        self._process.wait()


def _ip(*arguments: str) -> None:
    subprocess.run(["ip", *arguments], check=True, capture_output=True, text=True)
