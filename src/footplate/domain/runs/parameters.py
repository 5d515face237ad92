"""The parameters of a run, read from the arguments of its script."""

from __future__ import annotations

import re
import shlex
from typing import Dict, List, Optional, Sequence

from footplate.domain.orders import Program

LONGEST_NAME = 255
FLAG = "true"
"""The value of an option without a value."""

_OPTION = re.compile(r"--?([A-Za-z_][^\s=]*)(?:=(.*))?", re.DOTALL)
_ASSIGNMENT = re.compile(r"\+{0,2}([A-Za-z_][\w.\-/]*)=(.*)", re.DOTALL)


def parameters_of(program: Optional[Program]) -> Dict[str, str]:
    """Return the parameters of a script or a command; of a parameter that is given twice, the last value."""
    if program is None:
        return {}
    if program.command is None:
        return parse_parameters(program.arguments)
    try:
        return parse_parameters(shlex.split(program.command))
    except ValueError:  # quotes that only a shell can read
        return {}


def parse_parameters(words: Sequence[str]) -> Dict[str, str]:
    """Read `--name value`, `--name=value`, `-n value`, `--flag` and `name=value`.

    Several numbers after a name are one value (`--layers 64 32`); of other words only the first belongs to it.
    """
    parameters: Dict[str, str] = {}
    at = 0
    while at < len(words):
        option, assigned = _OPTION.fullmatch(words[at]), _ASSIGNMENT.fullmatch(words[at])
        at += 1
        if option and option[2] is None:
            values = _values(words[at:])
            parameters[option[1]] = " ".join(values) if values else FLAG
            at += len(values)
        elif option or assigned:
            name, value = (option or assigned).groups()  # pyright: ignore[reportOptionalMemberAccess]
            parameters[name] = value
    return {name: value for name, value in parameters.items() if len(name) <= LONGEST_NAME}


def as_number(text: Optional[str]) -> Optional[float]:
    """Return the number that the text spells, if it spells one that is finite."""
    try:
        value = float(text) if text is not None and "_" not in text else None
    except ValueError:
        return None
    return value if value is not None and abs(value) != float("inf") and value == value else None


def _values(words: Sequence[str]) -> List[str]:
    if not words or words[0] == "--" or _OPTION.fullmatch(words[0]):
        return []
    values = [words[0]]
    if as_number(words[0]) is not None:
        for word in words[1:]:
            if as_number(word) is None:
                break
            values.append(word)
    return values
