from __future__ import annotations

import threading

import pytest

from footplate.domain.orders import Cause, Program
from footplate.domain.records import Stage
from footplate.domain.runs import run_status
from footplate.domain.specs import Distribution, EnvironmentSpec
from footplate.engines.base import Observation
from footplate.errors import Conflict, InvalidInput, InvalidTransition, NotFound

from .conftest import FakeEngine, House, open_house, run_through


def test_a_run_completes_and_has_a_story(house: House) -> None:
    view = house.submit("r1")
    assert view.number == 1 and view.experiment == "lab"
    run_through(house, "r1")
    assert house.status("r1") == "Completed"
    told = [line.event for line in house.services.runs.story("r1")]
    assert told == [
        "RunSubmitted",
        "EnvironmentLocked",
        "RunAdmitted",
        "NodesLaunched",
        "NodeJoined",
        "NodeStarted",
        "NodeExited",
        "NodeFinished",
    ]
    assert house.services.active_runs() == 0
    house.bulletin.until(lambda: house.engine.forgotten == ["handle-r1"])


def test_a_repeated_submission_is_one_run_another_spec_a_conflict(house: House) -> None:
    first = house.submit("r1")
    assert house.submit("r1").number == first.number
    assert house.engine.submitted.count("r1") <= 1
    with pytest.raises(Conflict, match="another one"):
        house.submit("r1", program=Program(script="other.py"))


def test_twenty_equal_submissions_at_once_are_one_run(house: House) -> None:
    numbers: list[int] = []
    threads = [threading.Thread(target=lambda: numbers.append(house.submit("r1").number)) for _ in range(20)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert numbers == [1] * 20
    house.until_launched("r1")
    assert house.engine.submitted == ["r1"]


def test_an_invalid_spec_is_refused_before_anything_is_stored(house: House) -> None:
    with pytest.raises(InvalidInput, match="either a script or a command"):
        house.submit("r1", program=None)
    with pytest.raises(InvalidInput, match="not in the store"):
        house.submit("r1", snapshot="0" * 64)
    with pytest.raises(NotFound, match="nowhere"):
        house.submit("r1", target="nowhere")
    with pytest.raises(InvalidInput, match="is not a run id"):
        house.submit("../etc")
    with pytest.raises(NotFound):
        house.services.runs.view("r1")


def test_a_cluster_runs_at_most_max_nodes_and_others_wait(house: House) -> None:
    house.services.computes.put(house.workspace, "small", max_nodes=1)
    house.submit("r1", target="small")
    house.until_launched("r1")
    for name in ("r2", "r3"):  # one after the other: a run is queued once its environment is resolved
        house.submit(name, target="small")
        house.bulletin.until(lambda name=name: house.services.orchestrator.waiting(name) is not None)
    waiting = house.services.runs.view("r3").waiting
    assert waiting is not None and waiting.position == 2
    assert waiting.reason == "1 of 1 node of 'small' is busy, and 1 run waits before it"
    assert house.services.computes.get(house.workspace, "small").busy_nodes == 1
    run_through(house, "r1")
    run_through(house, "r2")
    run_through(house, "r3")
    assert [house.status(r) for r in ("r1", "r2", "r3")] == ["Completed"] * 3


def test_more_nodes_than_the_target_has_are_refused_at_submission(house: House) -> None:
    house.services.computes.put(house.workspace, "small", max_nodes=1)
    with pytest.raises(InvalidInput, match="asks for 2 nodes and 'small' has at most 1"):
        house.submit("r1", target="small", distribution=Distribution(kind="torch", node_count=2))


def test_cancel_while_queued_ends_the_run_at_once(house: House) -> None:
    house.services.computes.put(house.workspace, "small", max_nodes=1)
    house.submit("r1", target="small")
    house.submit("r2", target="small")
    house.until_launched("r1")
    house.bulletin.until(lambda: house.status("r2") == "Queued")
    assert house.services.runs.cancel("r2", "ada").status == "Canceled"
    assert house.services.orchestrator.waiting("r2") is None
    outcome = house.services.runs.view("r2").outcome
    assert outcome is not None and outcome.cause is not None and outcome.cause.message == "canceled by ada"


def test_cancel_while_running_stops_agents_through_the_engine(house: House) -> None:
    house.submit("r1")
    house.until_launched("r1")
    house.services.nodes.join("r1", 0, 1, "host", "127.0.0.1", {})
    house.services.nodes.report("r1", 0, "started", None, None)
    assert house.services.nodes.heartbeat("r1", 0) is False
    assert house.services.runs.cancel("r1").status == "CancelRequested"
    assert house.services.nodes.heartbeat("r1", 0) is True
    house.services.nodes.report("r1", 0, "exited", None, Cause("signal", "ended by SIGTERM"))
    house.services.nodes.report("r1", 0, "done", None, None)
    assert house.status("r1") == "Canceled"
    assert house.services.runs.cancel("r1").status == "Canceled"


def test_canceling_a_parent_cancels_its_children(house: House) -> None:
    house.submit("parent", kind="interactive", program=None)
    house.submit("child", kind="interactive", program=None, parent="parent")
    house.services.runs.cancel("parent")
    assert house.status("child") == "Canceled"


@pytest.mark.slow
def test_canceling_a_parent_cancels_more_children_than_a_page_has(house: House) -> None:
    house.submit("parent", kind="interactive", program=None)
    for number in range(1001):
        house.submit(f"child{number}", kind="interactive", program=None, parent="parent")
    house.services.runs.cancel("parent")
    assert {house.status(f"child{number}") for number in range(1001)} == {"Canceled"}


def test_an_interactive_run_is_ended_by_its_client(house: House) -> None:
    assert house.submit("r1", kind="interactive", program=None).status == "Running"
    assert house.services.active_runs() == 0
    assert house.services.runs.complete("r1").status == "Completed"
    with pytest.raises(InvalidTransition):
        house.services.runs.fail("r1", Cause("user", "too late"))


def test_completing_a_job_from_outside_is_refused(house: House) -> None:
    house.submit("r1")
    with pytest.raises(InvalidTransition, match="managed by Footplate"):
        house.services.runs.complete("r1")


def test_an_environment_that_cannot_be_resolved_fails_the_run(house: House) -> None:
    house.submit("r1", environment=EnvironmentSpec(builder="venv", python="snake"))
    house.until_status("r1", "Failed")
    outcome = house.services.runs.view("r1").outcome
    assert outcome is not None and outcome.cause is not None
    assert outcome.cause.code == "environment_failed" and "'snake'" in outcome.cause.message


def test_an_unknown_builder_is_refused_at_submission(house: House) -> None:
    with pytest.raises(InvalidInput, match="no builder 'abacus', only existing, venv") as refused:
        house.submit("r1", environment=EnvironmentSpec("mine", builder="abacus"))
    assert "'mine'" in refused.value.message and refused.value.hint


def test_a_refused_launch_fails_the_run_and_frees_its_node(house: House) -> None:
    house.engine.refuses = "the machine is on fire"
    house.submit("r1")
    house.until_status("r1", "Failed")
    outcome = house.services.runs.view("r1").outcome
    assert outcome is not None and outcome.cause is not None
    assert (outcome.cause.code, outcome.cause.message) == ("launch_failed", "the machine is on fire")
    assert house.store.runs.busy_nodes(house.workspace, "local") == 0
    assert house.services.active_runs() == 0


def test_a_restarted_server_resumes_queued_and_launched_runs(house: House) -> None:
    house.services.computes.put(house.workspace, "small", max_nodes=1)
    house.submit("r1", target="small")
    house.submit("r2", target="small")
    house.until_launched("r1")
    house.bulletin.until(lambda: house.status("r2") == "Queued")
    house.services.stop()
    house.store.close()

    again = open_house(house.home, FakeEngine())
    try:
        assert again.services.active_runs() == 2
        run_through(again, "r1")
        run_through(again, "r2")
        assert again.engine.submitted == ["r2"], "r1 had its agent already"
        assert again.status("r2") == "Completed"
    finally:
        again.services.stop()
        again.store.close()


def test_agents_that_cannot_be_started_again_did_not_die_again(house: House) -> None:
    house.submit("r1")
    house.until_launched("r1")
    house.services.nodes.join("r1", 0, 1, "host", "127.0.0.1", {})
    house.engine.refuses = "too many open files"
    house.engine.seen["handle-r1"] = Observation("gone")
    prepared = len(house.engine.jobs)
    house.bulletin.until(lambda: len(house.engine.jobs) > prepared + 10)
    assert house.store.runs.record("r1").revivals == 1
    house.engine.refuses = ""
    house.bulletin.until(lambda: len(house.engine.submitted) > 1)


def test_a_dead_agent_is_revived_and_finally_given_up(house: House) -> None:
    house.submit("r1")
    house.until_launched("r1")
    house.services.nodes.join("r1", 0, 1, "host", "127.0.0.1", {})
    house.services.nodes.report("r1", 0, "started", None, None)
    house.engine.seen["handle-r1"] = Observation("gone")
    house.bulletin.until(lambda: house.store.runs.record("r1").stage is Stage.ENDED, timeout=60)
    assert house.engine.submitted == ["r1"] * 4
    outcome = house.services.runs.view("r1").outcome
    assert outcome is not None and outcome.cause is not None and outcome.cause.code == "node_lost"


def test_revivals_are_counted_over_server_restarts(house: House) -> None:
    house.submit("r1")
    house.until_launched("r1")
    house.services.nodes.join("r1", 0, 1, "host", "127.0.0.1", {})
    house.services.nodes.report("r1", 0, "started", None, None)
    house.engine.seen["handle-r1"] = Observation("gone")
    house.bulletin.until(lambda: house.store.runs.record("r1").revivals >= 2)
    house.services.stop()
    before = house.store.runs.record("r1").revivals
    house.store.close()
    engine = FakeEngine(seen={"handle-r1": Observation("gone")})
    again = open_house(house.home, engine)
    try:
        again.until_status("r1", "Failed")
        assert again.store.runs.record("r1").revivals == 3
        assert len(engine.submitted) == 3 - before
    finally:
        again.services.stop()
        again.store.close()


def test_an_engine_that_cannot_answer_ends_no_run(house: House) -> None:
    house.submit("r1")
    house.until_launched("r1")
    house.engine.silent = True
    house.bulletin.until(lambda: house.engine.asked > 10)
    assert house.status("r1") == "Provisioning"
    assert house.store.runs.record("r1").revivals == 0


def test_agents_of_earlier_attempts_and_unknown_nodes_are_refused(house: House) -> None:
    house.submit("r1")
    house.until_launched("r1")
    with pytest.raises(Conflict, match="attempt 1, not 7"):
        house.services.nodes.join("r1", 0, 7, "host", "127.0.0.1", {})
    with pytest.raises(NotFound, match="no node 3"):
        house.services.nodes.heartbeat("r1", 3)


def test_orders_have_azures_variables_overridden_by_the_users(house: House) -> None:
    house.submit("r1", environment_variables={"MINE": "1", "AZUREML_FRAMEWORK": "Mine"})
    house.until_launched("r1")
    orders = house.services.nodes.join("r1", 0, 1, "host", "127.0.0.1", {})
    assert orders.ready and [r.log for r in orders.ranks] == ["user_logs/std_log.txt"]
    variables = orders.variables
    assert variables["AZUREML_RUN_ID"] == "r1" and variables["AZUREML_ARM_PROJECT_NAME"] == "lab"
    assert variables["MINE"] == "1" and variables["AZUREML_FRAMEWORK"] == "Mine"
    assert run_status.status(house.store.runs.record("r1")) == "Provisioning"
