"""The controller of pipelines: decision by decision, and whole random pipelines."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from hypothesis import given
from hypothesis import strategies as st

from footplate.domain.orders import Cause, Program
from footplate.domain.pipelines.controller import PipelineController, ReusedStep
from footplate.domain.pipelines.graph import PipelineSpec, PipelineStep, controller_of
from footplate.domain.records import Outcome
from footplate.domain.runs.controllers import (
    Child,
    ChildEnded,
    ChildRefused,
    ControllerEvent,
    Group,
    GroupDecision,
    GroupResumed,
)
from footplate.domain.specs import ControllerSpec, RunSpec

JOB = RunSpec("e", program=Program(script="s.py"))


def pipeline(edges: dict[str, tuple[str, ...]], continue_on_failure: bool = False) -> ControllerSpec:
    steps = {key: PipelineStep(f"step-{key}", after=needs) for key, needs in edges.items()}
    return controller_of(PipelineSpec(steps, continue_on_failure), dict.fromkeys(steps, JOB))


CHAIN = {"a": (), "b": ("a",), "c": ("b",)}
FORK = {"a": (), "b": (), "c": ("a",), "d": ("b",)}


def child(key: str, status: str = "Running", attempt: int = 1) -> Child:
    ended = 5.0 if status in ("Completed", "Failed", "Canceled") else None
    cause = Cause("exit_code", "exit code 3") if status == "Failed" else None
    outcome = Outcome(status.lower(), cause) if ended else None
    return Child(key, f"g_{key}", status, attempt, ended=ended, outcome=outcome)


def decide(
    spec: ControllerSpec, *children: Child, event: ControllerEvent | None = None, attempt: int = 1
) -> GroupDecision:
    group = Group("g", spec, {"attempt": 1}, attempt)
    return PipelineController().decide(group, children, event or GroupResumed(), 9.0)


def submitted(decision: GroupDecision) -> list[str]:
    return [order.key for order in decision.submit]


def test_a_step_starts_when_those_that_it_needs_have_completed() -> None:
    assert submitted(decide(pipeline(CHAIN))) == ["a"]
    assert submitted(decide(pipeline(CHAIN), child("a"))) == []
    assert submitted(decide(pipeline(CHAIN), child("a", "Completed"))) == ["b"]


def test_steps_without_edges_start_at_once() -> None:
    assert submitted(decide(pipeline(FORK))) == ["a", "b"]


def test_the_pipeline_completes_with_its_last_step() -> None:
    done = [child(key, "Completed") for key in "abc"]
    decision = decide(pipeline(CHAIN), *done, event=ChildEnded("g_c"))
    assert decision.end == Outcome("completed")
    assert decision.log == ("step step-c ended as Completed", "the pipeline ends as completed")


def test_a_failed_step_ends_the_pipeline_and_names_it() -> None:
    decision = decide(pipeline(FORK), child("a", "Failed"), child("b"))
    assert decision.end is not None and decision.end.cause is not None
    assert decision.end.kind == "failed"
    assert decision.end.cause.message == "step 'step-a' failed: exit code 3"
    assert "not started: step-c, step-d" in decision.log


def test_other_branches_go_on_if_that_is_wanted() -> None:
    spec = pipeline(FORK, continue_on_failure=True)
    decision = decide(spec, child("a", "Failed"), child("b", "Completed"))
    assert (submitted(decision), decision.end) == (["d"], None)
    over = decide(spec, child("a", "Failed"), child("b", "Completed"), child("d", "Completed"))
    assert over.end is not None and over.end.kind == "failed"


def test_a_canceled_step_cancels_the_pipeline() -> None:
    decision = decide(pipeline(CHAIN), child("a", "Canceled"))
    assert decision.end is not None and decision.end.kind == "canceled"


def test_a_refused_step_fails_the_pipeline_with_the_reason() -> None:
    event = ChildRefused("a", Cause("child_refused", "there is no such target", "create it"))
    decision = decide(pipeline(CHAIN), event=event)
    assert decision.end is not None and decision.end.cause is not None
    assert decision.end.cause.message == "step 'step-a': there is no such target"
    assert decision.end.cause.hint == "create it"


def test_a_resumed_pipeline_restarts_only_what_did_not_complete() -> None:
    decision = decide(pipeline(CHAIN), child("a", "Completed"), child("b", "Failed"), attempt=2)
    assert [(order.key, order.attempt) for order in decision.restart] == [("b", 2)]
    assert (submitted(decision), decision.state["attempt"]) == ([], 2)


def test_a_resumed_pipeline_tries_refused_steps_again() -> None:
    group = Group("g", pipeline(CHAIN), {"attempt": 1, "refused": {"b": ["no", None]}}, 2)
    decision = PipelineController().decide(group, [child("a", "Completed")], GroupResumed(), 9.0)
    assert submitted(decision) == ["b"]


def test_a_reused_step_completes_at_once() -> None:
    group = Group("g", ControllerSpec("reused_step"), {})
    assert ReusedStep().decide(group, [], GroupResumed(), 9.0).end == Outcome("completed")


# ── Whole pipelines ───────────────────────────────────────────────────────────────────────────────────────────────────


@dataclass
class World:
    """A server that carries out decisions: `history` is the order in which steps started."""

    spec: ControllerSpec
    controller: PipelineController = field(default_factory=PipelineController)
    children: dict[str, Child] = field(default_factory=dict[str, Child])
    state: dict[str, object] = field(default_factory=dict[str, object])
    history: list[str] = field(default_factory=list[str])
    outcome: Outcome | None = None

    def decide(self, event: ControllerEvent) -> None:
        group = Group("g", self.spec, dict(self.state))
        decision = self.controller.decide(group, list(self.children.values()), event, 0.0)
        self.state = decision.state
        for order in decision.submit:
            assert order.key not in self.children
            self.children[order.key] = child(order.key)
            self.history.append(order.key)
        self.outcome = decision.end

    @property
    def running(self) -> list[str]:
        return [key for key, each in self.children.items() if not each.has_ended]


@st.composite
def graphs(draw: st.DrawFn) -> dict[str, tuple[str, ...]]:
    needs: dict[str, tuple[str, ...]] = {}
    for key in range(draw(st.integers(1, 12))):
        earlier = draw(st.sets(st.integers(0, key - 1), max_size=3)) if key else set[int]()
        needs[str(key)] = tuple(str(each) for each in sorted(earlier))
    return needs


@given(graphs(), st.booleans(), st.data())
def test_each_step_starts_once_and_after_its_needs(
    edges: dict[str, tuple[str, ...]], goes_on: bool, data: st.DataObject
) -> None:
    world = World(pipeline(edges, goes_on))
    world.decide(GroupResumed())
    failed: set[str] = set()
    while world.outcome is None:
        key = data.draw(st.sampled_from(world.running))
        status = data.draw(st.sampled_from(["Completed", "Completed", "Completed", "Failed"]))
        failed |= {key} if status == "Failed" else set()
        world.children[key] = child(key, status)
        if data.draw(st.booleans()):  # a killed server has forgotten the graph, and resumes from what is stored
            world.controller = PipelineController()
            world.decide(GroupResumed())
        else:
            world.decide(ChildEnded(f"g_{key}"))
        for started in world.history:
            assert all(world.children[needed].status == "Completed" for needed in edges[started])
    assert world.outcome.kind == ("failed" if failed else "completed")
    if not failed:
        assert sorted(world.history) == sorted(edges)
    if goes_on:
        blocked = set(failed)
        for key, needs in edges.items():
            blocked |= {key} if set(needs) & blocked else set()
        assert set(edges) - set(world.history) == blocked - failed


def test_specs_are_submitted_as_they_are() -> None:
    spec = pipeline({"a": ()})
    spec = replace(spec, children={"a": replace(JOB, priority=3)})
    assert decide(spec).submit[0].spec.priority == 3
