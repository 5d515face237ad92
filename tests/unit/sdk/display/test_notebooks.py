from __future__ import annotations

import runpy
from pathlib import Path

import pytest

from footplate.sdk.display import notebooks
from footplate.sdk.environments.environment import Environment
from footplate.sdk.exceptions import UserErrorException


def test_tables_escape_their_cells() -> None:
    made = notebooks.table(["a<b"], [["<script>"], [None], [3]])
    assert "<th>a&lt;b</th>" in made
    assert "<tr><td>&lt;script&gt;</td></tr><tr><td></td></tr><tr><td>3</td></tr>" in made


def test_an_environment_lists_its_packages() -> None:
    environment = Environment("<torch>")
    environment.python.conda_dependencies.add_pip_package("torch==2.13.0")
    made = environment._repr_html_()
    assert "<td>&lt;torch&gt;</td>" in made
    assert "torch==2.13.0" in made


def test_errors_show_the_users_lines_and_the_hint(tmp_path: Path) -> None:
    script = tmp_path / "azureml" / "cell.py"  # a folder of the user with this name is not a library
    script.parent.mkdir()
    script.write_text(
        "import contextlib\nfrom footplate.sdk.config.script_run_config import ScriptRunConfig\n"
        "@contextlib.contextmanager\ndef translated():\n    try:\n        yield\n    except ValueError:\n"
        "        ScriptRunConfig('.', resume_from=3)\nwith translated():\n    raise ValueError\n"
    )
    with pytest.raises(UserErrorException) as caught:
        runpy.run_path(str(script))
    caught.value.__traceback__ = caught.tb.tb_next  # the frame of this test is not the user's
    (text,) = caught.value._render_traceback_()
    assert f"{script}, line 8\n    ScriptRunConfig('.', resume_from=3)\nUserErrorException: resume_from is 3\n" in text
    assert text.endswith("\nhint: give a DataPath, or datastore.path(…)")
    assert "script_run_config.py" not in text and "contextlib.py" not in text
