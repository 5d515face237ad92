"""What the server's own machine has, and with it every virtual node of the local engine."""

from __future__ import annotations

import functools

from footplate.domain.shapes import Shape
from footplate.node import host_info


@functools.cache  # asked with every submission, and where there are GPUs the driver takes its time
def machine_shape() -> Shape:
    found = host_info.describe()
    return Shape(int(found["cpus"] or 1), found["memory"] / 2**30, int(found["gpus"]))
