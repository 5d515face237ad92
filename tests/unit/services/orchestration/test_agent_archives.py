from __future__ import annotations

import hashlib
import io
import zipfile
from pathlib import Path

import pytest

from footplate.errors import NotFound
from footplate.services.orchestration.agent_archives import SERVER_ONLY, AgentArchives, make_bundle


def names(content: bytes) -> list[str]:
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        return archive.namelist()


def test_the_bundle_has_what_agents_and_jobs_import() -> None:
    found = names(make_bundle())
    assert {"footplate/node/__main__.py", "footplate/sdk/run.py", "azureml/core/__init__.py"} <= set(found)
    assert {name.split("/")[0] for name in found} == {"footplate", "azureml", "agent_packages"}
    assert "agent_packages/3.6/psutil/__init__.py" in found
    assert not {name.split("/")[1] for name in found if name.startswith("footplate/")} & SERVER_ONLY
    assert not [name for name in found if "__pycache__" in name]


def test_the_same_files_give_the_same_bytes() -> None:
    assert make_bundle() == make_bundle()


def test_archives_are_named_by_their_content_and_outlive_a_restart(tmp_path: Path) -> None:
    digest = AgentArchives(tmp_path).bundle()
    again = AgentArchives(tmp_path)
    assert again.bundle() == digest
    assert hashlib.sha256(b"".join(again.read(digest))).hexdigest() == digest
    with pytest.raises(NotFound):
        again.read("0" * 64)
