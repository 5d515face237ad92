"""Search a log for a regular expression: a program of its own, because a hostile pattern never returns.

It reads a request as JSON from stdin and prints a line of JSON for each match (`[offset, end]`) and after each piece
(the offset up to which everything was searched). The server ends it when its time is over. The standard library alone.
"""

from __future__ import annotations

import json
import re
import resource
import sys
from typing import Any, BinaryIO

PIECE = 1024 * 1024
_MOST_MEMORY = 1024 * 1024 * 1024


def main() -> None:
    request = json.load(sys.stdin)
    resource.setrlimit(resource.RLIMIT_AS, (_MOST_MEMORY, _MOST_MEMORY))
    try:
        pattern = re.compile(request["pattern"].encode(), re.MULTILINE | (0 if request["case"] else re.IGNORECASE))
    except (re.error, OverflowError, RecursionError, MemoryError) as error:
        answer({"error": str(error) or type(error).__name__})
        return
    with open(request["path"], "rb") as log:
        search(log, pattern, request["offset"], request["size"], request["limit"])


def search(log: BinaryIO, pattern: re.Pattern[bytes], at: int, size: int, limit: int) -> None:
    while at < size and limit > 0:
        log.seek(at)
        piece = log.read(min(PIECE, size - at))
        end = piece.rfind(b"\n") + 1 if at + len(piece) < size else len(piece)
        piece = piece[: end or len(piece)]
        begin = 0
        while limit > 0 and begin < len(piece) and (match := pattern.search(piece, begin)):
            answer([at + match.start(), at + match.end()])
            limit -= 1
            begin = piece.find(b"\n", match.start()) + 1 or len(piece)
        at += begin if limit <= 0 else len(piece)
        answer(at)
        sys.stdout.flush()


def answer(value: Any) -> None:
    sys.stdout.write(f"{json.dumps(value)}\n")


if __name__ == "__main__":
    main()
