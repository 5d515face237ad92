"""The base of all compute targets, and the server's own machine as a target."""

from __future__ import annotations

from typing import Any

from footplate.domain.targets import LOCAL


class AbstractComputeTarget:
    """A place where a run can go: a cluster or this machine. It has `name` and `type`.

    Example:
        targets = [LocalTarget(), *ComputeTarget.list(ws)]
        print([target.name for target in targets if isinstance(target, AbstractComputeTarget)])
    """

    name: Any
    type: Any


class LocalTarget(AbstractComputeTarget):
    """The server's own machine, which is always available, as the target `local`.

    Example:
        config = ScriptRunConfig("src", "train.py", compute_target=LocalTarget())
        experiment.submit(config).wait_for_completion()
    """

    name = LOCAL
    type = LOCAL
