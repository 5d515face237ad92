"""`footplate compute`: the group, and one module per kind of command.

group       the group itself
targets     list, show, queue, create, delete, remove; check: a probe on every node
adding      add, engines: targets on any engine
"""

from footplate.cli.compute import adding as adding
from footplate.cli.compute import targets as targets
from footplate.cli.compute.group import compute

__all__ = ["compute"]
