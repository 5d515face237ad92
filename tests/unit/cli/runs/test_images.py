"""Images on terminals: which protocol, and the exact escape sequences."""

from __future__ import annotations

import base64
import re

import click
import pytest

from footplate.cli.runs import images


def png(width: int, size: int = 30) -> bytes:
    head = b"\x89PNG\r\n\x1a\n" + b"\0\0\0\rIHDR" + width.to_bytes(4, "big") + b"\0\0\0\1"
    return head + b"." * (size - len(head))


@pytest.mark.parametrize(
    ("variables", "protocol"),
    [
        ({}, "none"),
        ({"TERM": "xterm-256color"}, "none"),
        ({"TERM": "xterm-kitty"}, "kitty"),
        ({"TERM": "xterm-256color", "KITTY_WINDOW_ID": "1"}, "kitty"),
        ({"TERM_PROGRAM": "ghostty"}, "kitty"),
        ({"KONSOLE_VERSION": "230804"}, "kitty"),
        ({"TERM_PROGRAM": "iTerm.app"}, "iterm2"),
        ({"LC_TERMINAL": "iTerm2"}, "iterm2"),
        ({"TERM_PROGRAM": "WezTerm"}, "iterm2"),
        ({"TERM": "tmux-256color", "LC_TERMINAL": "iTerm2"}, "none"),
        ({"TERM": "screen", "KITTY_WINDOW_ID": "1"}, "none"),
        ({"TERM": "tmux-256color", "FOOTPLATE_IMAGES": "kitty"}, "kitty"),
        ({"TERM": "xterm-kitty", "FOOTPLATE_IMAGES": "none"}, "none"),
    ],
)
def test_protocol_of_a_terminal(variables: dict[str, str], protocol: str) -> None:
    assert images.protocol(variables) == protocol


def test_an_unknown_protocol_is_named() -> None:
    with pytest.raises(click.UsageError, match="FOOTPLATE_IMAGES is 'sixel'; it may be kitty, iterm2, none"):
        images.protocol({"FOOTPLATE_IMAGES": "sixel"})


def test_kitty_gets_chunks_of_base64() -> None:
    content = png(10, 7000)
    shown = images.sequence(content, "kitty", 80, 8)
    pieces = re.findall("\x1b_G([^;]*);([^\x1b]*)\x1b\\\\", shown)
    assert [keys for keys, _ in pieces] == ["a=T,f=100,q=2,m=1", "m=1", "m=0"]
    assert max(len(text) for _, text in pieces) == 4096
    assert base64.b64decode("".join(text for _, text in pieces)) == content


def test_iterm_gets_the_whole_file() -> None:
    shown = images.sequence(b"GIF89a", "iterm2", 80, 8)
    assert shown == f"\x1b]1337;File=inline=1;size=6:{base64.b64encode(b'GIF89a').decode()}\a"


def test_a_wide_image_is_scaled_to_the_terminal() -> None:
    assert ",c=80," in images.sequence(png(641), "kitty", 80, 8)
    assert ",c=" not in images.sequence(png(640), "kitty", 80, 8)
    assert ";width=80:" in images.sequence(png(641), "iterm2", 80, 8)


@pytest.mark.parametrize(
    ("content", "kitty", "iterm"),
    [(png(1), True, True), (b"\xff\xd8\xff\xe0", False, True), (b"GIF89a", False, True), (b"<svg>", False, False)],
)
def test_terminals_show_files_by_their_content(content: bytes, kitty: bool, iterm: bool) -> None:
    assert images.can_show(content, "kitty") == kitty
    assert images.can_show(content, "iterm2") == iterm
    assert not images.can_show(content, "none")


def test_the_width_of_a_column_is_known_without_a_terminal() -> None:
    assert images.cell_width() > 0
