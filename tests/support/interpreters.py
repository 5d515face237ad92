"""Interpreters of this machine for tests of code that runs on users' interpreters."""

from __future__ import annotations

import functools
import os
import re
import shutil
import subprocess
from pathlib import Path


@functools.cache
def interpreters() -> list[str]:
    """Return the oldest and the newest Python from 3.8 on, from the PATH and from pyenv."""
    found: dict[tuple[int, ...], str] = {}
    pyenv = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")) / "versions"
    candidates = [str(path) for path in pyenv.glob("3.*/bin/python3")]
    candidates += [path for minor in range(8, 15) if (path := shutil.which(f"python3.{minor}"))]
    for path in candidates:
        asked = subprocess.run([path, "-V"], check=False, capture_output=True, text=True, timeout=60)
        version = re.match(r"Python (3)\.(\d+)\.(\d+)", asked.stdout)
        if asked.returncode == 0 and version and int(version[2]) >= 8:
            found.setdefault(tuple(map(int, version.groups())), path)
    ordered = [found[version] for version in sorted(found)]
    return [ordered[0], ordered[-1]] if len(ordered) > 1 else ordered
