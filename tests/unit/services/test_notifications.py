"""Messages reach a command, real HTTP servers and a real SMTP server."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from footplate.domain.orders import Cause
from footplate.domain.records import Outcome, RunRecord, Stage
from footplate.domain.specs import RunSpec
from footplate.errors import InvalidInput
from footplate.services.notifications import Notifications, is_wanted, message_about

FAILED = RunRecord(
    "digits_1", "w", RunSpec("digits", display_name="first try", notify=True), Stage.ENDED, created=10.0, ended=85.0,
    outcome=Outcome("failed", Cause("exit_code", "train.py ended with exit code 3")),
)  # fmt: skip


@pytest.fixture
def notify(tmp_path: Path) -> Iterator[Notifications]:
    made = Notifications(tmp_path)
    yield made
    made.stop()


def configure(home: Path, **settings: str) -> None:
    lines = [f"{name} = {value}" for name, value in settings.items()]
    (home / "settings.ini").write_text("\n".join(["[notifications]", *lines]))


def test_a_message_names_run_outcome_duration_and_reason() -> None:
    made = message_about(FAILED)
    assert made.text == "digits/first try failed after 1m 15s: train.py ended with exit code 3"
    assert made.facts["run"] == "digits_1" and made.facts["status"] == "Failed" and made.facts["seconds"] == 75


@pytest.mark.parametrize(
    ("send", "requested", "outcome", "parent", "wanted"),
    [
        ("requested", True, "completed", "p", True),
        ("requested", False, "failed", None, False),
        ("failed", False, "failed", None, True),
        ("failed", False, "completed", None, False),
        ("all", False, "completed", None, True),
        ("all", False, "completed", "p", False),
    ],
)
def test_settings_choose_the_runs(send: str, requested: bool, outcome: str, parent: str | None, wanted: bool) -> None:
    record = replace(FAILED, outcome=Outcome(outcome), spec=RunSpec("e", notify=requested, parent=parent))
    assert is_wanted(record, send) is wanted


def test_requesting_a_message_without_a_channel_is_refused(notify: Notifications, tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="no channel is configured"):
        notify.check_configured()
    configure(tmp_path, slak="https://example.org")
    with pytest.raises(InvalidInput, match="slak, which is unknown"):
        notify.check_configured()
    configure(tmp_path, slack="example.org")
    with pytest.raises(InvalidInput, match="slack without http"):
        notify.check_configured()
    configure(tmp_path, send="always")
    with pytest.raises(InvalidInput, match="send = always"):
        notify.check_configured()
