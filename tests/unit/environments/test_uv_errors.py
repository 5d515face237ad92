"""Messages for packages that cannot be installed: uv's own message, the line that caused it, and a hint."""

from __future__ import annotations

from footplate.environments import uv_errors
from footplate.errors import OutOfSpace


def test_a_full_disk_is_out_of_space() -> None:
    for error in (
        uv_errors.not_installed("it cannot be installed", "error: No space left on device (os error 28)"),
        uv_errors.not_resolved((), "Python 3.11", "error: No space left on device (os error 28)"),
    ):
        assert isinstance(error, OutOfSpace) and "footplate env gc" in str(error.hint)
