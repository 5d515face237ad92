"""An ssh server on a private network, with a key of its own. It reads no settings of this machine and changes none."""

from __future__ import annotations

import shlex
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

from footplate.testing.waiting import wait_until

_PORT = 2222
_SETTINGS = """
Port {port}
ListenAddress {address}
HostKey {folder}/host_key
AuthorizedKeysFile {folder}/user_key.pub
PidFile none
StrictModes no
UsePAM no
PermitRootLogin yes
PasswordAuthentication no
SetEnv {variables}
"""


class SshServer:
    """sshd at `address`, started by the constructor in the namespace that `enter` enters. `close` ends it.

    `command` is the ssh command that reaches it; sessions have `variables` in their environment.
    """

    def __init__(self, enter: Sequence[str], address: str, variables: Mapping[str, str]) -> None:
        self._folder = tempfile.TemporaryDirectory(prefix="fp-ssh-", dir="/tmp")
        folder, self._address = Path(self._folder.name), address
        for name in ("host_key", "user_key"):
            subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(folder / name)], check=True)
        words = " ".join(f"{name}={value}" for name, value in variables.items())
        settings = _SETTINGS.format(port=_PORT, address=address, folder=folder, variables=words)
        (folder / "sshd_config").write_text(settings)
        options = (f"ControlPath={folder}/%C", f"UserKnownHostsFile={folder}/known", "StrictHostKeyChecking=accept-new")
        self.command = shlex.join([
            "ssh", "-F", "none", "-p", str(_PORT), "-i", str(folder / "user_key"),
            *(word for option in options for word in ("-o", option)),
        ])  # fmt: skip
        self._enter, self._log = list(enter), folder / "log"
        # sshd insists on a directory below /run; this one is gone with its mount namespace.
        inside = f"mount -t tmpfs none /run\nmkdir /run/sshd\nexec /usr/sbin/sshd -D -e -f {folder}/sshd_config"
        with self._log.open("wb") as log:
            argv = [*enter, "unshare", "--mount", "sh", "-ec", inside]
            self._process = subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        wait_until(self._listens)

    def _listens(self) -> bool:
        assert self._process.poll() is None, self._log.read_text()
        return "Server listening" in self._log.read_text()

    def close(self) -> None:
        """End the server, its sessions, and the connection that ssh keeps open for further commands."""
        argv = [*shlex.split(self.command), "-O", "exit", self._address]
        subprocess.run(argv, check=False, capture_output=True)
        self._process.terminate()
        self._process.wait()
        self._folder.cleanup()
