"""The output of waiting, with a session that answers from a script."""

from __future__ import annotations

import io
from dataclasses import replace
from typing import Any, cast

import pytest

from footplate.domain.orders import Cause
from footplate.domain.records import NodeRecord, NodeState, Outcome, RunView, Stage, Waiting
from footplate.domain.replies import RunProgress
from footplate.domain.specs import Distribution, RunSpec
from footplate.sdk.exceptions import ExperimentExecutionException
from footplate.sdk.runs import streaming

VIEW = RunView(
    "r1",
    "w",
    "e",
    "e1",
    1,
    "job",
    "azureml.scriptrun",
    "Preparing",
    Stage.LOCKING,
    1,
    1,
    created=0.0,
    spec=RunSpec("e"),
)
BUILD = "azureml-logs/20_image_build_log.txt"
USER = "user_logs/std_log.txt"


class Scripted:
    """Answers with `views` in turn, the last one for ever. Logs are whole from the beginning."""

    is_local = True

    def __init__(self, views: list[RunView], logs: dict[str, str], piece: int = 1000) -> None:
        self._views = views
        self._logs = logs
        self._piece = piece
        self.asked: list[dict[str, Any]] = []

    def portal_url(self, workspace: str, path: str) -> str:
        return f"http://page/w/{workspace}/{path}"

    @property
    def api(self) -> Scripted:
        return self

    runs = api

    def get(self, run: str, **query: Any) -> RunView:
        self.asked.append(query)
        return self._views.pop(0) if len(self._views) > 1 else self._views[0]

    def follow(self, run: str, **query: Any) -> RunProgress:
        view = self.get(run, **query)
        log = query["log"] or next((name for name in (USER, BUILD) if name in self._logs and view.started), None)
        log = log or (BUILD if BUILD in self._logs else None)
        text = self._logs.get(log or "", "")[query["offset"] : query["offset"] + self._piece]
        return RunProgress(view, log, query["offset"] + len(text), text)


def shown(session: Any, capsys: pytest.CaptureFixture[str]) -> str:
    streaming.wait(session, "r1", show_output=True)
    return capsys.readouterr().out


RUNNING = replace(VIEW, status="Running", stage=Stage.RUNNING, version=4, started=10.0)
FINALIZING = replace(RUNNING, status="Finalizing", stage=Stage.FINALIZING, version=5)
DONE = replace(RUNNING, status="Completed", version=6, ended=13.5, outcome=Outcome("completed"))


def test_phases_build_log_stream_and_summary_in_order(capsys: pytest.CaptureFixture[str]):
    queued = replace(VIEW, status="Queued", version=2, waiting=Waiting("1 of 1 node of 'c' is busy", 1))
    node = NodeRecord(0, NodeState.PREPARING, message="building the environment")
    preparing = replace(VIEW, stage=Stage.PREPARING, version=3, nodes=(node,))
    session = Scripted(
        [VIEW, queued, preparing, preparing, RUNNING, FINALIZING, DONE], {BUILD: "built\n", USER: "one\ntwo"}
    )
    title, build_title = f"Streaming {USER}", f"Streaming {BUILD}"
    assert shown(session, capsys) == (
        "RunId: r1\nShow it with: footplate runs show r1\n\n"
        f"Preparing: resolving the environment\n\n{build_title}\n{'=' * len(build_title)}\n\nbuilt\n"
        "Queued (position 1): 1 of 1 node of 'c' is busy\nPreparing: building the environment\nRunning\n"
        f"\n{title}\n{'=' * len(title)}\n\none\ntwo\nFinalizing\n"
        "\nExecution Summary\n=================\nRunId: r1\nWeb View: http://page/w/w/runs/r1\n"
        "Status: Completed after 3.5s\n\n"
    )


def test_every_byte_of_a_log_is_shown_once(capsys: pytest.CaptureFixture[str]):
    text = "".join(f"line {i}\n" for i in range(50))
    out = shown(Scripted([RUNNING, RUNNING, DONE], {USER: text}, piece=7), capsys)
    assert out.count("line 0\n") == 1 and text in out


def test_phases_do_not_interrupt_the_lines_of_a_script(capsys: pytest.CaptureFixture[str]):
    """The news of the script's end may arrive before its last lines."""
    logs = {USER: "one\ntwo\n"}
    views = [replace(RUNNING, status="Provisioning", started=None), FINALIZING, FINALIZING, FINALIZING, DONE]
    for piece in (2, 1000):
        out = shown(Scripted(list(views), logs, piece), capsys)
        assert "one\ntwo\nFinalizing\n\nExecution Summary" in out and out.count("Finalizing") == 1


def test_a_long_finalization_is_shown(capsys: pytest.CaptureFixture[str]):
    class Interrupted(Scripted):
        def get(self, run: str, **query: Any) -> RunView:
            if len(self.asked) == 6:
                raise KeyboardInterrupt
            return super().get(run, **query)

    session = Interrupted([RUNNING, RUNNING, FINALIZING], {USER: "one\n"})
    with pytest.raises(ExperimentExecutionException):
        streaming.wait(session, "r1", show_output=True)  # type: ignore[arg-type]
    assert capsys.readouterr().out.endswith("one\nFinalizing\n")


def test_a_run_that_never_started_shows_no_log(capsys: pytest.CaptureFixture[str]):
    cause = Cause("environment", "no such package: nowhere", hint="look at its name")
    failed = replace(
        VIEW, status="Failed", version=3, ended=2.0, outcome=Outcome("failed", cause), warnings=("careful",)
    )
    out = shown(Scripted([VIEW, failed], {}), capsys)
    assert "Streaming" not in out
    assert "Cause: no such package: nowhere\nhint: look at its name\nWarning: careful\n" in out


def test_the_message_of_the_working_node_is_shown(capsys: pytest.CaptureFixture[str]):
    nodes = [
        NodeRecord(index, NodeState.JOINED, message=text) for index, text in enumerate(("waiting: x", "building y"))
    ]
    out = shown(Scripted([replace(VIEW, stage=Stage.PREPARING, nodes=tuple(nodes)), DONE], {}), capsys)
    assert "Preparing: building y\n" in out and "waiting" not in out


def test_the_log_of_the_first_rank_is_shown(capsys: pytest.CaptureFixture[str]):
    spec = RunSpec("e", distribution=Distribution("torch", 1, 2))
    views = [replace(RUNNING, spec=spec), replace(DONE, spec=spec)]
    assert "rank zero\n" in shown(Scripted(views, {"user_logs/std_log_process_00.txt": "rank zero\n"}), capsys)


def test_silent_waiting_polls_by_version():
    session = Scripted([VIEW, RUNNING, DONE], {})
    assert streaming.wait(session, "r1", show_output=False) == DONE  # type: ignore[arg-type]
    assert [query["version"] for query in session.asked] == [-1, 1, 4]
    assert all(query["wait"] == 30.0 for query in session.asked)


def test_ctrl_c_names_the_cancel_command():
    class Interrupted(Scripted):
        def get(self, run: str, **query: Any) -> RunView:
            raise KeyboardInterrupt

    for show_output in (True, False):
        with pytest.raises(ExperimentExecutionException, match="footplate runs cancel r1"):
            streaming.wait(Interrupted([VIEW], {}), "r1", show_output)  # type: ignore[arg-type]


class _Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_silent_waiting_follows_the_build_on_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    """It reads the build's log, and nothing of the script's output."""
    monkeypatch.setattr("sys.stderr", _Terminal())
    building = replace(VIEW, stage=Stage.PREPARING, version=2)
    session = Scripted([VIEW, building, RUNNING, DONE], {BUILD: "step 1\nstep 2\n", USER: "hello\n"})
    assert streaming.wait(cast(Any, session), "r1", show_output=False) == DONE
    followed = [query["version"] for query in session.asked if "log" in query]
    assert followed == [1, 2], "until the script starts"
