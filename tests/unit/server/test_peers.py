from __future__ import annotations

import os

from footplate.server.peers import Peer

HOME = "/home/of/the/server"


def test_this_process_is_the_owner():
    assert Peer(os.getpid(), os.geteuid()).refusal(HOME) is None


def test_another_user_or_a_hidden_process_is_not_the_owner():
    assert "does not own this server" in (Peer(os.getpid(), os.geteuid() + 1).refusal(HOME) or "")
    assert "cannot be examined" in (Peer(0, os.geteuid()).refusal(HOME) or "")
