from __future__ import annotations

import os
import socket

from footplate.content.source_tree import scan

from ...unit.content.test_source_tree import source

__all__ = ["source"]  # fixtures


def test_sockets_pipes_and_dead_outer_links_are_left_out(source):
    os.mkfifo(source / "pkg" / "pipe")
    (source / "dead").symlink_to("/nowhere/at/all")
    (source / "null").symlink_to("/dev/null")
    here = os.getcwd()
    listener = socket.socket(socket.AF_UNIX)
    try:
        os.chdir(source)  # the path of a socket is limited to 107 bytes
        listener.bind("sock")
    finally:
        os.chdir(here)
        listener.close()
    tree = scan(str(source))
    assert tree.news == [
        "left out of the snapshot: dead (a link to /nowhere/at/all, which does not exist), null (a link to a device), "
        "pkg/pipe (a pipe), sock (a socket)"
    ]
    assert not {"dead", "null", "pkg/pipe", "sock"} & {entry.path for entry in tree.entries}
