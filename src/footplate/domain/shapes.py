"""Machine sizes by name: the shape that a node of a cluster should have.

The names are a cloud's, and scripts are full of them; the figures are the published ones. An unknown name requests
nothing, and runs get a warning about it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Dict, List, Optional

from footplate.domain.text import counted


@dataclass(frozen=True)
class Shape:
    cpus: int
    memory: float  # GiB
    gpus: int = 0


_SIZES: Dict[str, Shape] = {
    "STANDARD_D1_V2": Shape(1, 3.5),
    "STANDARD_D2_V2": Shape(2, 7),
    "STANDARD_D3_V2": Shape(4, 14),
    "STANDARD_D4_V2": Shape(8, 28),
    "STANDARD_D5_V2": Shape(16, 56),
    "STANDARD_D11_V2": Shape(2, 14),
    "STANDARD_D12_V2": Shape(4, 28),
    "STANDARD_D13_V2": Shape(8, 56),
    "STANDARD_D14_V2": Shape(16, 112),
    "STANDARD_DS1_V2": Shape(1, 3.5),
    "STANDARD_DS2_V2": Shape(2, 7),
    "STANDARD_DS3_V2": Shape(4, 14),
    "STANDARD_DS4_V2": Shape(8, 28),
    "STANDARD_DS5_V2": Shape(16, 56),
    "STANDARD_DS11_V2": Shape(2, 14),
    "STANDARD_DS12_V2": Shape(4, 28),
    "STANDARD_DS13_V2": Shape(8, 56),
    "STANDARD_DS14_V2": Shape(16, 112),
    "STANDARD_D2_V3": Shape(2, 8),
    "STANDARD_D4_V3": Shape(4, 16),
    "STANDARD_D8_V3": Shape(8, 32),
    "STANDARD_D16_V3": Shape(16, 64),
    "STANDARD_D32_V3": Shape(32, 128),
    "STANDARD_D64_V3": Shape(64, 256),
    "STANDARD_D2S_V3": Shape(2, 8),
    "STANDARD_D4S_V3": Shape(4, 16),
    "STANDARD_D8S_V3": Shape(8, 32),
    "STANDARD_D16S_V3": Shape(16, 64),
    "STANDARD_E4S_V3": Shape(4, 32),
    "STANDARD_E8S_V3": Shape(8, 64),
    "STANDARD_F2S_V2": Shape(2, 4),
    "STANDARD_F4S_V2": Shape(4, 8),
    "STANDARD_F8S_V2": Shape(8, 16),
    "STANDARD_F16S_V2": Shape(16, 32),
    "STANDARD_F32S_V2": Shape(32, 64),
    "STANDARD_F64S_V2": Shape(64, 128),
    "STANDARD_F72S_V2": Shape(72, 144),
    "STANDARD_NC6": Shape(6, 56, 1),
    "STANDARD_NC12": Shape(12, 112, 2),
    "STANDARD_NC24": Shape(24, 224, 4),
    "STANDARD_NC24R": Shape(24, 224, 4),
    "STANDARD_NC6S_V2": Shape(6, 112, 1),
    "STANDARD_NC12S_V2": Shape(12, 224, 2),
    "STANDARD_NC24S_V2": Shape(24, 448, 4),
    "STANDARD_NC6S_V3": Shape(6, 112, 1),
    "STANDARD_NC12S_V3": Shape(12, 224, 2),
    "STANDARD_NC24S_V3": Shape(24, 448, 4),
    "STANDARD_NC24RS_V3": Shape(24, 448, 4),
    "STANDARD_NC4AS_T4_V3": Shape(4, 28, 1),
    "STANDARD_NC8AS_T4_V3": Shape(8, 56, 1),
    "STANDARD_NC16AS_T4_V3": Shape(16, 110, 1),
    "STANDARD_NC64AS_T4_V3": Shape(64, 440, 4),
    "STANDARD_NC24ADS_A100_V4": Shape(24, 220, 1),
    "STANDARD_NC48ADS_A100_V4": Shape(48, 440, 2),
    "STANDARD_NC96ADS_A100_V4": Shape(96, 880, 4),
    "STANDARD_ND6S": Shape(6, 112, 1),
    "STANDARD_ND12S": Shape(12, 224, 2),
    "STANDARD_ND24S": Shape(24, 448, 4),
    "STANDARD_ND40RS_V2": Shape(40, 672, 8),
    "STANDARD_ND96ASR_V4": Shape(96, 900, 8),
    "STANDARD_ND96AMSR_A100_V4": Shape(96, 1900, 8),
    "STANDARD_NV6": Shape(6, 56, 1),
    "STANDARD_NV12": Shape(12, 112, 2),
    "STANDARD_NV24": Shape(24, 224, 4),
}


def names() -> List[str]:
    return sorted(_SIZES)


def shape_of(name: str) -> Optional[Shape]:
    """Return the shape of a size, or None for an unknown name. Case and separators do not matter."""
    return _SIZES.get(name.upper().replace("-", "_"))


def describe(shape: Shape) -> str:
    parts = [counted(shape.cpus, "core"), f"{shape.memory:g} GiB"]
    return ", ".join([*parts, counted(shape.gpus, "GPU")] if shape.gpus else parts)


def lacks(size: Shape, there: Shape) -> List[str]:
    """Describe what a machine lacks, GPUs first: they matter most."""
    shortages: List[str] = []
    if there.gpus < size.gpus:
        shortages.append(f"{counted(size.gpus, 'GPU')} (it has {there.gpus or 'none'})")
    if there.cpus < size.cpus:
        shortages.append(f"{counted(size.cpus, 'core')} (it has {there.cpus})")
    # A machine always has a little less memory than its nominal size: the system reserves some.
    if there.memory < 0.9 * size.memory:
        shortages.append(f"{size.memory:g} GiB of memory (it has {there.memory:.0f})")
    return shortages
