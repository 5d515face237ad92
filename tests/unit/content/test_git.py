from __future__ import annotations

import pytest

from footplate.content.git import without_credentials


@pytest.mark.parametrize(
    ("url", "kept"),
    [
        ("https://user:pass@host/x", "https://host/x"),
        ("https://token@host:8443/x", "https://host:8443/x"),
        ("https://u:p@ss@host/x@y", "https://host/x@y"),
        ("https://host/x", "https://host/x"),
        ("ssh://git@host/x", "ssh://git@host/x"),
        ("ssh://git:pass@host/x", "ssh://git@host/x"),
        ("git@host:team/x.git", "git@host:team/x.git"),
        ("/srv/git/x", "/srv/git/x"),
    ],
)
def test_credentials_are_left_out(url, kept):
    assert without_credentials(url) == kept
