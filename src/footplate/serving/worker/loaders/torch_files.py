"""Tells what a file that `torch.save` wrote holds, without loading it: loading would run code, and need its classes."""

from __future__ import annotations

import pickletools
import zipfile
from typing import IO, Optional

_OF_WEIGHTS = (
    "torch", "torch._utils", "torch._tensor", "collections", "builtins", "__builtin__", "_codecs", "argparse",
)  # fmt: skip
_BEFORE_THE_OBJECT = 3
"""Pickles that older files begin with: a number that marks the format, its version, and facts about the machine."""


def class_of_module(path: str) -> Optional[str]:
    """Return the class that a pickled module is of, or contains; None for weights, and for other files."""
    try:
        if not zipfile.is_zipfile(path):
            with open(path, "rb") as file:
                for _ in range(_BEFORE_THE_OBJECT):
                    list(pickletools.genops(file))
                return _first_class(file)
        with zipfile.ZipFile(path) as archive:
            inside = next(name for name in archive.namelist() if name.endswith("/data.pkl"))
            with archive.open(inside) as file:
                return _first_class(file)
    except (OSError, ValueError, StopIteration, zipfile.BadZipFile):
        return None


def _first_class(file: IO[bytes]) -> Optional[str]:
    """Return the first class that weights have not, as `module.name`; torch writes no later protocol than 2."""
    named = (str(argument) for opcode, argument, _ in pickletools.genops(file) if opcode.name == "GLOBAL")
    modules = ((name.partition(" ")[0], name) for name in named)
    classes = (name for module, name in modules if module not in _OF_WEIGHTS and not module.startswith("numpy"))
    return next((name.replace(" ", ".") for name in classes), None)
