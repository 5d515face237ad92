"""Search in a log within a time limit: plain text and known errors here, a regular expression in a process of its own.

A search that reaches its limit answers with the offset to go on from.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple, cast

from footplate.errors import InvalidInput
from footplate.storage.log_reading import pattern_search
from footplate.storage.series import append_files

SECONDS = 2.5
_PIECE = 4 * 1024 * 1024

_ERROR_WORDS = (
    b"Traceback (most recent call last)", b"Error: ", b"Exception: ", b"Error\n", b"Exception\n", b"Segmentation fault",
    b"Fatal Python error", b"out of memory", b"core dumped", b"Killed\n",
)  # fmt: skip
_IS_ERROR = re.compile(
    rb"Traceback \(most recent call last\)|^(?:\[[^\]]*\]:?\s*)?[\w.]*(?:Error|Exception)(?:: |$)|Segmentation fault"
    rb"|Fatal Python error|(?:CUDA|ran) out of memory|core dumped|Killed$"
)


class Found(NamedTuple):
    """Bytes of a log that match, and `after`: the offset up to which everything was searched."""

    matches: list[tuple[int, int]]
    after: int


def find_text(log: Path, size: int, text: str, is_case_sensitive: bool, offset: int, limit: int) -> Found:
    """Find lines that contain a text. Without regard to case, letters of ASCII match both ways."""
    if not text:
        raise InvalidInput("the pattern is empty", "give the text to search for")
    needle = text.encode("utf-8", "surrogateescape")
    needle = needle if is_case_sensitive else needle.lower()

    def occurrences(piece: bytes) -> Iterator[tuple[int, int]]:
        searched = piece if is_case_sensitive else piece.lower()
        at = searched.find(needle)
        while at >= 0:
            yield at, at + len(needle)
            line_end = searched.find(b"\n", at)
            at = searched.find(needle, line_end) if line_end >= 0 else -1

    return _collect(log, size, offset, limit, occurrences)


def find_errors(log: Path, size: int, offset: int, limit: int) -> Found:
    """Find the lines that begin a report of an error."""

    def occurrences(piece: bytes) -> Iterator[tuple[int, int]]:
        at = 0
        coming = {word: piece.find(word) for word in _ERROR_WORDS}
        while True:
            for word, place in coming.items():
                coming[word] = piece.find(word, at) if 0 <= place < at else place
            first = min((place for place in coming.values() if place >= 0), default=-1)
            if first < 0:
                return
            begin = piece.rfind(b"\n", 0, first) + 1
            at = piece.find(b"\n", first) + 1 or len(piece)
            if match := _IS_ERROR.search(piece[begin:at].rstrip(b"\r\n")):
                yield begin + match.start(), begin + match.end()

    return _collect(log, size, offset, limit, occurrences)


def find_pattern(
    log: Path, size: int, pattern: str, is_case_sensitive: bool, offset: int, limit: int, seconds: float = SECONDS
) -> Found:
    """Find lines in which a regular expression matches. Raise InvalidInput if it is wrong, or never gets on."""
    request = {
        "path": os.fspath(log), "pattern": pattern, "case": is_case_sensitive, "offset": offset, "size": size,
        "limit": limit,
    }  # fmt: skip
    if offset >= size:
        return Found([], size)
    command = [sys.executable, "-I", "-S", pattern_search.__file__]
    try:
        output = subprocess.run(
            command, input=json.dumps(request).encode(), capture_output=True, timeout=seconds, check=False
        ).stdout
    except subprocess.TimeoutExpired as error:
        output = error.stdout or b""
    matches: list[tuple[int, int]] = []
    after = offset
    for line in output.splitlines(keepends=True):
        if not line.endswith(b"\n"):
            break
        answer = json.loads(line)
        if isinstance(answer, dict):
            problem = cast("dict[str, str]", answer)["error"]
            raise InvalidInput(f"the pattern {pattern[:200]!r} is wrong: {problem}", "use Python's regular expressions")
        if isinstance(answer, int):
            after = answer
        else:
            matches.append((answer[0], answer[1]))
    if after == offset:
        raise InvalidInput(
            f"the pattern {pattern[:200]!r} takes longer than {seconds:g} s for one part of the log",
            "avoid nested repetition such as (a+)+, or search for plain text",
        )
    return Found([match for match in matches if match[0] < after], after)


def _collect(
    log: Path, size: int, offset: int, limit: int, occurrences: Callable[[bytes], Iterator[tuple[int, int]]]
) -> Found:
    """Search piece by piece, each of whole lines where lines are not longer than a piece."""
    matches: list[tuple[int, int]] = []
    at = offset
    deadline = time.monotonic() + SECONDS
    while at < size and len(matches) < limit and time.monotonic() < deadline:
        piece = append_files.read(log, at, min(_PIECE, size - at))
        whole = piece.rfind(b"\n") + 1 if at + len(piece) < size else len(piece)
        piece = piece[: whole or len(piece)]
        if not piece:
            return Found(matches, size)
        for start, end in occurrences(piece):
            if len(matches) == limit:
                return Found(matches, at + start)
            matches.append((at + start, at + end))
        at += len(piece)
    return Found(matches, at)
