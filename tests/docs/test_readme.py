"""The README and the first page do what they say."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_the_readme_works(run_page: Callable[[Path], list[str]]) -> None:
    (output,) = run_page(ROOT / "README.md")
    assert "first-model 1 0.1" in output
    row = next(line.split() for line in output.splitlines() if line.startswith("loss "))
    assert row[1:5] == ["10", "0.1", "0.1", "1"]


def test_the_readme_is_one_screen_with_a_short_example() -> None:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    assert len(text.splitlines()) < 70
    assert "docs/footplate.svg" in text


def test_the_first_run_works(run_page: Callable[[Path], list[str]]) -> None:
    initialized, ran, looked, submitted = run_page(ROOT / "docs" / "getting-started" / "first-run.md")
    assert initialized == ""
    assert ran.splitlines()[0] == "step 0: 6.0000"
    assert ran.splitlines()[-1].startswith("step 29: 0.0000")
    assert "Completed" in looked
    assert "outputs/model.json" in looked
    assert "node 0: the script runs" in looked
    assert "lowest-point version 1 comes from run parabola_" in submitted


def test_the_data_guide_works(run_page: Callable[[Path], list[str]]) -> None:
    _, output = run_page(ROOT / "docs" / "guides" / "data.md")
    assert "1 ['/cats/1.txt', '/cats/2.txt']" in output and "['/cats.txt']" in output
    assert "read by" in output and "pictures:1 is as it was registered" in output


def test_the_guide_of_tables_works(run_page: Callable[[Path], list[str]]) -> None:
    (output,) = run_page(ROOT / "docs" / "guides" / "tabular-data.md")
    assert "Grace" in output and "rides-train 1 6" in output
