from __future__ import annotations

import os
from pathlib import Path

from footplate.pip_settings import pip_settings


def test_later_pip_files_and_variables_take_precedence(tmp_path: Path) -> None:
    (tmp_path / "pip").mkdir()
    (tmp_path / "pip" / "pip.conf").write_text(
        "[global]\nindex-url = https://user/\ntimeout = 5\n[install]\ntrusted_host = h\n"
    )
    named = tmp_path / "named.conf"
    named.write_text("[global]\nindex-url = https://named/%(x)s\n")
    environ = {"XDG_CONFIG_HOME": str(tmp_path), "PIP_CONFIG_FILE": str(named), "PIP_TIMEOUT": "9"}
    settings = pip_settings(environ)
    assert settings["index-url"] == "https://named/%(x)s"
    assert settings["timeout"] == "9"
    assert settings["trusted-host"] == "h"


def test_pip_config_file_devnull_disables_files(tmp_path: Path) -> None:
    (tmp_path / "pip").mkdir()
    (tmp_path / "pip" / "pip.conf").write_text("[global]\nindex-url = x\n")
    assert "index-url" not in pip_settings({"XDG_CONFIG_HOME": str(tmp_path), "PIP_CONFIG_FILE": os.devnull})


def test_a_broken_pip_file_is_ignored(tmp_path: Path) -> None:
    broken = tmp_path / "pip.conf"
    broken.write_text("no section = here\n")
    assert "no section" not in pip_settings({"PIP_CONFIG_FILE": str(broken), "XDG_CONFIG_HOME": str(tmp_path)})
