"""Recognize failures that are consequences of others: a rank that lost a peer reports it in known words."""

from __future__ import annotations

from footplate.domain.orders import Cause

_NEVER_A_CONSEQUENCE = ("SIGKILL", "SIGSEGV", "SIGBUS", "SIGFPE", "SIGILL")

# Unqualified names of exceptions: torch's, TensorFlow's, Horovod's and Python's own.
_EXCEPTIONS_ABOUT_OTHERS = (
    "BrokenPipeError", "ConnectionAbortedError", "ConnectionError", "ConnectionRefusedError", "ConnectionResetError",
    "DistStoreError", "HorovodInternalError", "UnavailableError",
)  # fmt: skip
_WORDS_ABOUT_OTHERS = (
    "broken pipe", "client socket has", "collective operation timeout", "connection closed by peer",
    "connection refused", "connection reset by peer", "remote process exited", "remote worker", "socket closed",
    "timed out waiting",
)  # fmt: skip


def is_no_consequence(cause: Cause) -> bool:
    """Whether only the kernel or a person can have caused this: a failure elsewhere never ends a rank like that."""
    return cause.signal in _NEVER_A_CONSEQUENCE


def blames_another(cause: Cause) -> bool:
    """Whether the rank only reports that another process is gone or does not answer."""
    if cause.rank is None or is_no_consequence(cause):
        return False
    if (cause.exception or "").rpartition(".")[2] in _EXCEPTIONS_ABOUT_OTHERS:
        return True
    # A rank that aborts or exits without an exception has written the reason to its log.
    lines = [cause.exception_message or ""] if cause.exception else cause.last_lines
    return any(words in line.lower() for line in lines for words in _WORDS_ABOUT_OTHERS)
