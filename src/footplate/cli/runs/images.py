"""Images on terminals that can show them: the graphics protocol of kitty, and inline images of iTerm2."""

from __future__ import annotations

import base64
import fcntl
import struct
import sys
import termios
from collections.abc import Mapping

import click

from footplate import environ

PROTOCOLS = ("kitty", "iterm2", "none")

_KITTY = {"xterm-kitty", "xterm-ghostty", "kitty", "ghostty"}  # values of TERM and TERM_PROGRAM
_ITERM = {"iTerm.app", "iTerm2", "WezTerm", "mintty"}  # values of TERM_PROGRAM and LC_TERMINAL, which ssh hands on
_CELL = 8  # pixels of a column, usually
_CHUNK = 4096  # characters of one escape sequence of kitty
_KINDS = {b"\x89PNG": "png", b"\xff\xd8\xff": "jpeg", b"GIF8": "gif"}


def protocol(variables: Mapping[str, str]) -> str:
    """Return the protocol of the terminal that these environment variables describe.

    tmux and screen pass no images on, so that in them only FOOTPLATE_IMAGES counts.
    """
    chosen = variables.get(environ.IMAGES, "")
    if chosen:
        if chosen not in PROTOCOLS:
            raise click.UsageError(f"{environ.IMAGES} is {chosen!r}; it may be {', '.join(PROTOCOLS)}")
        return chosen
    terminal = variables.get("TERM", "")
    if terminal.startswith(("screen", "tmux")) or variables.get("TMUX"):
        return "none"
    names = {terminal, variables.get("TERM_PROGRAM", ""), variables.get("LC_TERMINAL", "")}
    if names & _KITTY or variables.get("KITTY_WINDOW_ID") or variables.get("KONSOLE_VERSION"):
        return "kitty"
    return "iterm2" if names & _ITERM else "none"


def kind_of(content: bytes) -> str | None:
    """Return png, jpeg or gif, by the first bytes; None for other files."""
    return next((kind for magic, kind in _KINDS.items() if content.startswith(magic)), None)


def can_show(content: bytes, by: str) -> bool:
    """Whether a terminal with this protocol shows this file: kitty takes PNG only."""
    kind = kind_of(content)
    return kind == "png" if by == "kitty" else by == "iterm2" and kind is not None


def sequence(content: bytes, by: str, columns: int, cell: int) -> str:
    """Return the escape sequence that shows an image, at most `columns` wide; a column has `cell` pixels."""
    text = base64.b64encode(content).decode()
    too_wide = kind_of(content) == "png" and int.from_bytes(content[16:20], "big") > columns * cell
    if by == "iterm2":
        width = f";width={columns}" if too_wide else ""
        return f"\x1b]1337;File=inline=1;size={len(content)}{width}:{text}\a"
    chunks = [text[at : at + _CHUNK] for at in range(0, len(text), _CHUNK)]
    keys = "a=T,f=100,q=2," + (f"c={columns}," if too_wide else "")
    return "".join(
        f"\x1b_G{keys if at == 0 else ''}m={int(at < len(chunks) - 1)};{chunk}\x1b\\" for at, chunk in enumerate(chunks)
    )


def cell_width() -> int:
    """Return the pixels of a column of this terminal, or a usual number if the terminal does not report them."""
    try:
        answer = fcntl.ioctl(sys.stdout, termios.TIOCGWINSZ, b"\0" * 8)
    except OSError:
        return _CELL
    _, columns, pixels, _ = struct.unpack("HHHH", answer)
    return pixels // columns if pixels and columns else _CELL
