from __future__ import annotations

import os
import stat
import subprocess
import sys

# In a process of its own: it rearranges stdout, stderr and the root logger.
SCRIPT = """
import logging, os, sys
from footplate.server import logfile
logfile.MAX_BYTES = 2000
path = logfile.configure_log(sys.argv[1])
for n in range(400):
    logging.getLogger("test").info("line %d", n)
print("printed", flush=True)
os.write(2, b"crashed\\n")
"""


def test_rotated_log_also_keeps_printed_text(tmp_path):
    log = tmp_path / "logs" / "server.log"
    log.parent.mkdir()
    with open(log, "ab") as stream:  # as the launcher does
        subprocess.run([sys.executable, "-c", SCRIPT, str(tmp_path)], stdout=stream, stderr=stream, check=True)
    assert sorted(os.listdir(log.parent)) == ["server.log", "server.log.1", "server.log.2", "server.log.3"]
    last = log.read_text().splitlines()
    assert {"printed", "crashed"} <= set(last)
    assert any(line.endswith("INFO test: line 399") for line in last)
    assert stat.S_IMODE(os.stat(log).st_mode) == 0o600


def test_in_a_terminal_everything_is_printed_there_too(tmp_path):
    done = subprocess.run([sys.executable, "-c", SCRIPT, str(tmp_path)], capture_output=True, text=True, check=True)
    assert done.stdout == "printed\n"
    assert "line 0" in done.stderr
    assert "line 399" in done.stderr
    assert "crashed" not in (tmp_path / "logs" / "server.log").read_text()
