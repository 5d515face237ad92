"""A large folder at a glance: is anything in it not as it was?

`find` walks a folder several times faster than Python can, and what it prints about a file (type, mode, size, times,
inode, a link's target) is what the stat cache goes by as well. Where there is no GNU find the answer is "cannot tell",
and the folder is walked as usual.
"""

from __future__ import annotations

import hashlib
import os
import re
import subprocess
from typing import List, Optional, Sequence

LARGE = 2000
"""Files. With fewer, the walk is over before another process has begun."""

_LONGEST_COMMAND = 100_000
_SECONDS = 30.0
_PRINTED = r"%P\0%y%m %s %T@ %C@ %i %l\0"


def fingerprint(top: str, skipped: Sequence[str]) -> Optional[str]:
    """A digest of all that can be seen in `top` but for the folders `skipped`; None when it cannot be told."""
    argv = ["find", top, "-mindepth", "1", *_without(top, skipped), "-printf", _PRINTED]
    if sum(map(len, argv)) > _LONGEST_COMMAND:
        return None
    try:
        done = subprocess.run(
            argv,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env={"PATH": os.environ.get("PATH", os.defpath), "LC_ALL": "C"},
            timeout=_SECONDS,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired, ValueError):
        return None
    # A folder that cannot be read, or a find that has no -printf, is no ground to stand on.
    return hashlib.sha256(done.stdout).hexdigest() if done.returncode == 0 else None


def _without(top: str, skipped: Sequence[str]) -> List[str]:
    tests: List[str] = []
    for folder in skipped:
        tests += ["-path", _literal(f"{top}/{folder}"), "-prune", "-o"]
    return tests


def _literal(path: str) -> str:
    """`-path` takes a pattern."""
    return re.sub(r"([\\*?\[\]])", r"\\\1", path)
