"""Data round-trips through YAML, unchanged for other readers too; problems are reported with their position."""

from __future__ import annotations

import subprocess
import sys


def test_without_pyyaml_only_yaml_fails_and_the_hint_names_the_package():
    """A job runs on the user's interpreter, which may lack PyYAML."""
    script = (
        "import sys; sys.modules['yaml'] = None\n"
        "from footplate import Environment, ScriptRunConfig\n"
        "from footplate.sdk.environments.conda_dependencies import CondaDependencies\n"
        "CondaDependencies().serialize_to_string()\n"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert done.returncode == 1
    assert "YamlError:\n\tMessage: YAML cannot be read or written in this interpreter" in done.stderr
    assert "hint: add pyyaml to the packages of the run's environment" in done.stderr
