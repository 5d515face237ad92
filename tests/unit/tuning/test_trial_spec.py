"""The spec of one trial."""

from __future__ import annotations

from footplate.domain.orders import Program
from footplate.domain.specs import RunSpec
from footplate.tuning.sweep import trial_spec


def test_values_come_behind_the_arguments_and_are_shown() -> None:
    template = RunSpec("e", program=Program("train.py", ("--lr", "1")), definition={"arguments": ["--lr", "1"]})
    spec = trial_spec(template, {"lr": 0.5})
    assert spec.program == Program("train.py", ("--lr", "1", "--lr", "0.5"))
    assert spec.definition == {"arguments": ["--lr", "1", "--lr", "0.5"]}
    assert template.definition == {"arguments": ["--lr", "1"]}


def test_values_are_quoted_behind_a_command() -> None:
    spec = trial_spec(RunSpec("e", program=Program(command="python train.py")), {"--name": "a b"})
    assert spec.program == Program(command="python train.py '--name' 'a b'") and not spec.definition
    shown = trial_spec(RunSpec("e", program=Program(command="run"), definition={"command": "run"}), {"x": 1})
    assert shown.definition == {"command": "run '--x' '1'"}
