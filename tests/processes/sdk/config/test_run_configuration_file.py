from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest
import yaml as reference

from footplate.sdk.config.run_configuration import run_definition

from ....unit.sdk.config.test_run_configuration_file import full

CODE = """
import json
from footplate.sdk.config.run_configuration import RunConfiguration, run_definition
print(json.dumps(run_definition(RunConfiguration.load(".", "train"))))
"""


@pytest.mark.parametrize("wanted", ["oldest", "newest"])
def test_other_python_versions_read_the_same_file(tmp_path: Path, wanted: str):
    pythons = sorted(
        (Path.home() / ".pyenv" / "versions").glob("3.*/bin/python3"), key=lambda p: version_of(p.parts[-3])
    )
    pythons = [python for python in pythons if version_of(python.parts[-3]) >= (3, 8)]
    if not pythons:
        pytest.skip("no other Python on this machine")
    made = full()
    made.save(str(tmp_path), "train")
    python = pythons[0 if wanted == "oldest" else -1]
    (tmp_path / "packages").mkdir()
    (tmp_path / "packages" / "yaml").symlink_to(Path(reference.__file__).parent)
    source = {"PYTHONPATH": f"{Path(__file__).parents[4] / 'src'}:{tmp_path / 'packages'}"}
    done = subprocess.run(
        [python, "-S", "-W", "error", "-c", CODE], cwd=tmp_path, env=source, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == run_definition(made)


def version_of(text: str) -> tuple[int, ...]:
    return tuple(int(part) for part in text.split(".") if part.isdigit())
