from __future__ import annotations

import os
import subprocess
import sys

import pytest


def test_user_without_a_home_directory_gets_an_error(tmp_path):
    """A name in the list of users is needed as well as HOME, so a process of an unknown user tries it."""
    if os.geteuid() != 0:
        pytest.skip("only root can become a user that does not exist")
    code = "import os, pwd; from footplate.client import home; os.setuid(54321); home.home_folder()"
    tmp_path.chmod(0o777)
    variables = {"PATH": os.environ["PATH"]}
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, env=variables, capture_output=True, text=True)
    assert "this user has no home directory" in done.stderr
    assert os.listdir(tmp_path) == []
