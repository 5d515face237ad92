"""The resources that a model needs when it is served."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Dict, Optional

from footplate.sdk.exceptions import UserErrorException
from footplate.sdk.values.wrong_types import explained


@explained
@dataclass(eq=False)
class ResourceConfiguration:
    """The resources that a model needs when it is served.

    Args:
        cpu: CPUs.
        memory_in_gb: Memory in GB.
        gpu: GPUs.

    Raises:
        UserErrorException: A value is negative.

    Example:
        resources = ResourceConfiguration(cpu=1, memory_in_gb=0.5)
        print(ResourceConfiguration.deserialize(resources.serialize()))
    """

    cpu: Optional[float] = None
    memory_in_gb: Optional[float] = None
    gpu: Optional[int] = None

    def __post_init__(self) -> None:
        for name, value in vars(self).items():
            if value is not None and value < 0:
                raise UserErrorException(f"{name} is {value!r}", hint="use 0 or more")

    def serialize(self) -> Dict[str, Any]:
        """Return the resources under Azure's names.

        Returns:
            A dict.
        """
        return {"cpu": self.cpu, "memoryInGB": self.memory_in_gb, "gpu": self.gpu}

    @staticmethod
    def deserialize(payload: Optional[Dict[str, Any]]) -> Optional[ResourceConfiguration]:
        """Read the dict that `serialize` returns.

        Args:
            payload: The dict.

        Returns:
            The resources; None for an empty dict.

        Raises:
            UserErrorException: A value is negative.
        """
        if not payload:
            return None
        return ResourceConfiguration(payload.get("cpu"), payload.get("memoryInGB"), payload.get("gpu"))
