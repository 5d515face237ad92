"""The settings that pip has on this machine: indexes, certificates, proxies."""

from __future__ import annotations

import configparser
import os
import sys
from typing import Dict, List, Mapping


def pip_settings(environ: Mapping[str, str]) -> Dict[str, str]:
    """Return the settings that pip would use here: those of its files, later ones first, then PIP_* variables."""
    settings: Dict[str, str] = {}
    for path in _pip_files(environ):
        parser = configparser.RawConfigParser()
        try:
            parser.read(path, encoding="utf-8")
        except (configparser.Error, UnicodeDecodeError):
            continue  # pip reports a broken file itself
        for section in ("global", "install"):
            if parser.has_section(section):
                settings.update({key.replace("_", "-"): value for key, value in parser.items(section)})
    for name, value in environ.items():
        if name.startswith("PIP_"):
            settings[name[len("PIP_") :].lower().replace("_", "-")] = value
    return settings


def _pip_files(environ: Mapping[str, str]) -> List[str]:
    named = environ.get("PIP_CONFIG_FILE")
    if named == os.devnull:
        return []
    configured = environ.get("XDG_CONFIG_HOME") or "~/.config"
    places = ["/etc/xdg/pip/pip.conf", "/etc/pip.conf", "~/.pip/pip.conf", f"{configured}/pip/pip.conf"]
    places += [os.path.join(sys.prefix, "pip.conf"), *([named] if named else [])]
    return [os.path.expanduser(place) for place in places]
