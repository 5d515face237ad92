"""`python -m footplate.node`, or this file itself under `python -I -S`, which starts a little sooner."""

from __future__ import annotations

import gc
import os
import sys

if not __package__:
    # Isolated and without site-packages: nothing but the standard library is on the path, so we add ourselves, behind
    # it, because the folder may be site-packages, where anything may lie.
    sys.path.append(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))

if __name__ == "__main__":
    os.umask(os.umask(0o077) | 0o002)  # on a machine without a server: as the server does for its children
    if sys.argv[1:2] == ["--nursery"]:
        from footplate.node import nursery  # it loads more than an agent needs for its start

        sys.exit(nursery.serve(int(sys.argv[2]), int(sys.argv[3])))
    gc.disable()  # nothing is garbage yet; the agent enables it when it has started its ranks
    from footplate.node import agent

    sys.exit(agent.main(sys.argv[1:]))
