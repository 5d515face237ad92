from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from footplate.job.journal_format import Decoder, everything, read_text, writers
from footplate.job.offline import OfflineRun
from footplate.sdk import context
from footplate.sdk.exceptions import RunEnvironmentException, UserErrorException
from footplate.sdk.run import Run


@pytest.fixture
def inside(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """The environment of a rank whose server does not answer."""
    for name in context.NEEDED:
        monkeypatch.setenv(name, "x")
    run_id = f"run_{tmp_path.name}"
    monkeypatch.setenv("AZUREML_RUN_ID", run_id)
    monkeypatch.setenv("FOOTPLATE_JOURNALS", str(tmp_path))
    monkeypatch.setenv("FOOTPLATE_ENDPOINT", f"unix://{tmp_path}/no.sock")
    return run_id


def logged(folder: Path) -> list[tuple[object, ...]]:
    found: list[tuple[object, ...]] = []
    for writer in writers(str(folder)):
        text = str(folder / f"{writer}.text")
        decoder = Decoder(lambda at, size, text=text: read_text(text, at, size))
        found += [(p.name, p.value, p.step) for p in decoder.feed(everything(str(folder / f"{writer}.slots"), 0))]
    return found


def test_outside_a_run_the_context_is_offline(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    run = Run.get_context()
    assert type(run) is OfflineRun
    assert sorted(path.name for path in tmp_path.iterdir()) == ["logs", "outputs"], "scripts write there"
    with pytest.raises(RunEnvironmentException, match="AZUREML_RUN_ID, AZUREML_ARM_SUBSCRIPTION"):
        Run.get_context(allow_offline=False)


@pytest.mark.parametrize("missing", context.NEEDED)
def test_every_variable_is_needed(inside: str, missing: str, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.delenv(missing)
    with pytest.raises(RunEnvironmentException, match=missing):
        Run.get_submitted_run()


def test_inside_a_run_one_object_logs_without_a_server(inside: str, tmp_path: Path):
    run = Run.get_context()
    assert isinstance(run, context._SubmittedRun) and run.id == inside
    assert run is Run.get_context(allow_offline=False)
    run.log("m", 0.5)
    run.log("m", 1.5, "words", 3)
    run.log("m", value=2.5, step=4)
    run.log("n", 3)
    run.log("n", np.int64(4))
    run.log("s", "text")
    run.log_list("l", range(2))
    run.log_row("r", "a description", x=1)
    with pytest.raises(UserErrorException, match="log_list"):
        run.log("bad", [1])
    with run:
        run.cancel()
    assert logged(tmp_path / inside) == [
        ("m", 0.5, None), ("m", 1.5, 3.0), ("m", 2.5, 4.0), ("n", 3, None), ("n", 4, None), ("s", "text", None),
        ("l", [0, 1], None), ("r", {"x": 1}, None),
    ]  # fmt: skip


@pytest.mark.parametrize("value", [1, 1.0, "x"])
@pytest.mark.parametrize(
    "name, words", [([], r"name is \[\]"), (5, "name is 5"), ({"a": 1}, "names are a dict"), ({}, "names are a dict")]
)
def test_a_name_that_cannot_be_one_is_shown_with_a_hint(inside: str, name: Any, words: str, value: object):
    with pytest.raises(UserErrorException, match=f"(?s){words}.*hint: "):
        Run.get_context().log(name, value)


def test_a_step_that_is_no_number_is_shown_with_a_hint(inside: str):
    with pytest.raises(UserErrorException, match=r"(?s)step is \[\].*hint: "):
        Run.get_context().log("m", 1.0, step=[])  # type: ignore[arg-type]
