from __future__ import annotations

from pathlib import Path

import pytest

from footplate.environments import pythons
from footplate.environments.pythons import Python, by_nearness, choose, installed
from footplate.errors import InvalidInput


@pytest.mark.parametrize(
    ("asked", "order"),
    [((3, 6), ["3.8", "3.9", "3.12", "3.13"]), ((3, 10), ["3.9", "3.12", "3.8", "3.13"]), ((3, 99), ["3.13", "3.12"])],
)
def test_the_nearest_python_comes_first(asked: tuple[int, ...], order: list[str]) -> None:
    there = [Python("p", version) for version in [(3, 8, 1), (3, 9, 2), (3, 12, 0), (3, 13, 0)]]
    assert [python.minor for python in by_nearness(asked, there)][: len(order)] == order


def test_of_two_equally_near_pythons_the_newer_comes_first(tmp_path: Path) -> None:
    there = [Python("p", (3, 9, 0)), Python("p", (3, 11, 0))]
    assert by_nearness((3, 10), there)[0].minor == "3.11"


@pytest.mark.parametrize("asked", ["3", "3.11", "3.6.2", "==3.8", "=3.9", "3.9.*"])
def test_versions_are_read_as_people_write_them(asked: str, tmp_path: Path) -> None:
    assert choose(asked, lambda: installed(tmp_path)) == tuple(
        int(part) for part in asked.strip("=").replace(".*", "").split(".")
    )


@pytest.mark.parametrize("asked", ["three", "", "3.11.2.4", ">=", "3.x"])
def test_an_invalid_version_is_refused_by_name(asked: str, tmp_path: Path) -> None:
    with pytest.raises(InvalidInput) as caught:
        choose(asked, lambda: installed(tmp_path))
    assert repr(asked) in caught.value.message


def test_downloaded_pythons_that_nothing_uses_are_removed(tmp_path: Path) -> None:
    for name in ("cpython-3.11.9-linux", "cpython-3.12.1-linux"):
        (tmp_path / ".pythons" / name / "bin").mkdir(parents=True)
        (tmp_path / ".pythons" / name / "bin" / "python3").write_bytes(b"x" * 5000)
    (tmp_path / ".pythons" / "cpython-3.11-linux").symlink_to("cpython-3.11.9-linux")
    (tmp_path / ".pythons" / "cpython-3.12-linux").symlink_to("cpython-3.12.1-linux")
    (tmp_path / "built" / "bin").mkdir(parents=True)
    (tmp_path / "built" / "bin" / "python").symlink_to(tmp_path / ".pythons" / "cpython-3.11-linux" / "bin" / "python3")
    assert pythons.clear(tmp_path, 0.0) == 0, "they came later than that"
    assert pythons.clear(tmp_path, float("inf")) >= 5000
    left = sorted(path.name for path in (tmp_path / ".pythons").iterdir())
    assert left == ["cpython-3.11-linux", "cpython-3.11.9-linux"]
