"""`python -m footplate.server`: see `process`. This file holds only what must happen before anything else is loaded."""

from __future__ import annotations

import os
import sys


def _detach() -> None:
    """Continue as an orphan, and print the new pid on stdout for the process that started us.

    This comes first, while there is one thread and little memory to copy. From here on stdout is stderr, a log.
    """
    child = os.fork()
    if child:
        os.write(1, str(child).encode())
        os._exit(0)
    os.dup2(2, 1)


if __name__ == "__main__":
    # Whatever we and our children create, agents and jobs among them, other users cannot write to.
    os.umask(os.umask(0o077) | 0o002)
    if "--detach" in sys.argv:
        sys.argv.remove("--detach")
        _detach()

    from footplate.server.process import main  # lazy: after the fork

    sys.exit(main(sys.argv[1:]))
