"""`python -m footplate.server`: see `process`. Here is only what must happen before anything is loaded."""

from __future__ import annotations

import os
import sys


def _detach() -> None:
    """Go on as nobody's child, and tell whoever started us the new pid on stdout.

    First of all, while there is one thread and little memory to copy. What was stdout is stderr from here on: a log.
    """
    child = os.fork()
    if child:
        os.write(1, str(child).encode())
        os._exit(0)
    os.dup2(2, 1)


if __name__ == "__main__":
    if "--detach" in sys.argv:
        sys.argv.remove("--detach")
        _detach()

    from footplate.server.process import main  # lazy: after the fork

    sys.exit(main(sys.argv[1:]))
