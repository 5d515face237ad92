"""The live last line: nothing of it reaches a pipe. `tests/e2e/test_cli_terminal.py` covers terminals."""

from __future__ import annotations

import pytest

from footplate.sdk.display.status_line import Live, transferring, working


def test_a_pipe_gets_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    with working("counting"):
        print("1")
    with Live() as live:
        live.show("waiting")
        with live.aside():
            print("2")
        live.hide()
    with transferring("downloading", 6) as passing:
        assert list(passing(iter([b"abc", b"def"]))) == [b"abc", b"def"]
    captured = capsys.readouterr()
    assert captured.out == "1\n2\n"
    assert captured.err == ""
