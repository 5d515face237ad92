"""The outcome of a run as an exit code and as text."""

from __future__ import annotations

from dataclasses import replace

import pytest

from footplate.cli.follow import exit_code, summary
from footplate.domain.orders import Cause
from footplate.domain.records import Outcome, RunView, Stage

ENDED = RunView(
    id="e_1_ab", workspace="w", experiment="e", experiment_id="x", number=1, kind="job", type=None, status="Completed",
    stage=Stage.ENDED, version=9, attempt=1, created=1.0, started=2.0, ended=5.5, outcome=Outcome("completed"),
)  # fmt: skip


def failed(**cause: object) -> RunView:
    return replace(ENDED, status="Failed", outcome=Outcome("failed", Cause("c", "it broke", **cause)))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("run", "code"),
    [
        (ENDED, 0),
        (failed(exit_code=3), 3),
        (failed(exit_code=256), 1),
        (failed(), 1),
        (failed(exit_code=0), 1),
        (failed(signal="SIGKILL"), 137),
        (failed(signal="SIGSEGV", exit_code=-11), 139),
        (failed(signal="SIGNOTREAL"), 1),
        (replace(ENDED, status="Failed", outcome=None), 1),
        (replace(ENDED, status="Canceled", outcome=Outcome("canceled")), 130),
    ],
)
def test_exit_code(run: RunView, code: int) -> None:
    assert exit_code(run) == code


def test_summary() -> None:
    assert summary(ENDED) == "Completed after 3.5s"
    assert summary(failed(hint="mend it")) == "Failed after 3.5s: it broke\nhint: mend it"
    assert summary(replace(failed(), started=None)) == "Failed: it broke"
