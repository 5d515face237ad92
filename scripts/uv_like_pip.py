"""Run uv with pip's settings on this machine, because uv does not read pip's configuration.

    .uv/bin/python scripts/uv_like_pip.py sync --frozen

A variable of uv's own takes precedence.
"""

from __future__ import annotations

import ast
import os
import subprocess
import sys
from pathlib import Path

# pip's option → uv's variable, and the separator of several values there.
VARIABLES = {
    "index-url": ("UV_DEFAULT_INDEX", ""),
    "extra-index-url": ("UV_INDEX", " "),
    "find-links": ("UV_FIND_LINKS", ","),
    "trusted-host": ("UV_INSECURE_HOST", " "),
    "no-index": ("UV_NO_INDEX", ""),
    "timeout": ("UV_HTTP_TIMEOUT", ""),
    "cert": ("SSL_CERT_FILE", ""),
    "proxy": ("ALL_PROXY", ""),
}


def pip_settings(listing: str) -> dict[str, str]:
    """Return `pip config list` as {option: value}: install overrides global, the environment overrides both."""
    ranks = {"global": 0, "install": 1, ":env:": 2}
    found: dict[str, tuple[int, str]] = {}
    for line in listing.splitlines():
        key, _, value = line.partition("=")
        section, _, option = key.rpartition(".")
        rank = ranks.get(section, -1)
        if option in VARIABLES and rank >= found.get(option, (0, ""))[0]:
            found[option] = (rank, str(ast.literal_eval(value)))
    return {option: value for option, (_, value) in found.items()}


def uv_environment(settings: dict[str, str], environment: dict[str, str]) -> dict[str, str]:
    """Return `environment` with pip's settings added as variables of uv."""
    result = dict(environment)
    result.pop("VIRTUAL_ENV", None)  # another environment that happens to be active
    for option, value in settings.items():
        name, separator = VARIABLES[option]
        if value.strip() and name not in result:
            result[name] = separator.join(value.split()) if separator else value
    if "UV_INDEX" in result:
        result.setdefault("UV_INDEX_STRATEGY", "unsafe-best-match")  # pip chooses the best version from all its indexes
    return result


def main() -> None:
    pip = [sys.executable, "-m", "pip", "config", "list"]
    listing = subprocess.run(pip, capture_output=True, text=True, check=True).stdout
    uv = str(Path(sys.executable).parent / "uv")
    os.execve(uv, [uv, *sys.argv[1:]], uv_environment(pip_settings(listing), dict(os.environ)))


if __name__ == "__main__":
    main()
