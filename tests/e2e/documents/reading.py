"""The reader of a document: runs its code blocks in order, and remembers what the document only configured."""

from __future__ import annotations

import ast
import re
import shutil
from pathlib import Path
from typing import Any

import pytest

from azureml.core import Experiment, Run, ScriptRunConfig
from azureml.train.estimator import Estimator

HERE = Path(__file__).parent
_BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def blocks(name: str) -> list[re.Match[str]]:
    """Return the code blocks of a document: language and code."""
    return list(_BLOCK.finditer((HERE / "blocks" / f"{name}.md").read_text(encoding="utf-8")))


class Document:
    """The blocks of a document, and the interpreter that runs them, like the cells of a notebook.

    Each block is a subtest. Documents offer alternatives, such as a curated environment and one's own: blocks may
    therefore be repeated, and `assert_complete` requires each of them.
    """

    def __init__(self, name: str, subtests: pytest.Subtests) -> None:
        self._name, self._blocks = name, blocks(name)
        self._subtests, self._failed = subtests, False
        self._used: set[int] = set()
        self._corrections: dict[int, tuple[str, str]] = {}
        self._configured: dict[int, Any] = {}
        self._submitted: set[int] = set()
        self.names: dict[str, Any] = {"__name__": "__main__"}

    def given(self, **names: Any) -> None:
        """Define names that the document takes for granted."""
        self.names.update(names)

    def correct(self, number: int, wrong: str, right: str) -> None:
        """Correct a name in a block, as a reader must whom the block fails."""
        assert self._blocks[number - 1][2].count(wrong) == 1
        self._corrections[number] = wrong, right

    def run(self, *numbers: int) -> None:
        """Run blocks, each as a subtest."""
        for number in numbers:
            self._used.add(number)
            with self._subtests.test(f"{self._name} block {number:02d}"):
                if self._failed:
                    pytest.skip("a block before this one failed")
                self._failed = True
                self._run(number)
                self._failed = False
        if self._failed:
            pytest.fail(f"a block of {self._name} failed")

    def _run(self, number: int) -> None:
        block = self._blocks[number - 1]
        language, body = block[1].lower(), block[2]
        if language == "yaml":
            Path("conda_dependencies.yml").write_text(body, encoding="utf-8")
            return
        assert language == "python", f"block {number} is compared, not run"
        if number in self._corrections:
            body = body.replace(*self._corrections[number])
        line = block.string.count("\n", 0, block.start(2))
        before = dict(self.names)
        exec(compile("\n" * line + body, f"blocks/{self._name}.md", "exec"), self.names)
        self._remember(number, before)

    def _remember(self, number: int, before: dict[str, Any]) -> None:
        """Note the configuration that the block made, and the run that it submitted."""
        new = [value for name, value in self.names.items() if value is not before.get(name)]
        self._configured.update((number, value) for value in new if isinstance(value, (ScriptRunConfig, Estimator)))
        if any(isinstance(value, Run) for value in new):
            self._submitted.add(max(self._configured))

    def submit(self, experiment: str = "submitted", configuration: Any = None) -> Run:
        """Submit the last configuration of the document, or a changed copy, and wait for the end of the run."""
        last = max(self._configured)
        run = Experiment(self.names["ws"], experiment).submit(configuration or self._configured[last])
        self._submitted.add(last)
        run.wait_for_completion(show_output=True)
        return run

    def text(self, number: int) -> str:
        """Return a block that belongs into a training script, which the caller submits."""
        self._used.add(number)
        found, right = self._corrections.get(number, ("", ""))
        return self._blocks[number - 1][2].replace(found, right)

    def compare_tf_config(self, number: int, real: dict[str, Any]) -> None:
        """Compare a block that shows TF_CONFIG with the variable of a real task."""
        self._used.add(number)
        with self._subtests.test(f"{self._name} block {number:02d}"):
            shown = ast.literal_eval(self._blocks[number - 1][2].strip().partition("=")[2].strip().strip("'"))
            assert set(real) == set(shown) and real["environment"] == shown["environment"]
            assert set(real["task"]) == set(shown["task"]) and set(real["cluster"]) == set(shown["cluster"])
            address = re.compile(r"[\w.-]+:\d+")
            assert all(address.fullmatch(one) for hosts in real["cluster"].values() for one in hosts)

    def assert_complete(self) -> None:
        """All blocks were used, and each configuration was submitted."""
        left_out = set(range(1, len(self._blocks) + 1)) - self._used
        assert not left_out, f"blocks {sorted(left_out)} are left out"
        assert set(self._configured) == self._submitted, "a configuration was never submitted"


def supply(folder: str, *scripts: str) -> str:
    """Copy scripts, such as tensorflow-2020/train.py, to a folder."""
    Path(folder).mkdir(parents=True, exist_ok=True)
    for script in scripts:
        shutil.copy(HERE / "scripts" / script, folder)
    return folder
