from __future__ import annotations

from footplate.domain.locks import Change, diff, packages
from footplate.domain.orders import Lock


def lock(pins: str, python: str = "3.11", builder: str = "venv") -> Lock:
    return Lock(pins + python, builder, {"python": python, "platform": "linux", "requirements": pins})


def test_packages_are_read_from_pins_of_every_kind() -> None:
    text = (
        "numpy==1.26.4 \\\n    --hash=sha256:ab \\\n    --hash=sha256:cd\n"
        "Ruamel.Yaml==0.17 ; python_version < '3.12'\ndask[array]==1\nown @ git+https://host/own@abc\n# a note\n"
    )
    assert packages(lock(text)) == {
        "numpy": "1.26.4",
        "ruamel-yaml": "0.17",
        "dask": "1",
        "own": "git+https://host/own@abc",
    }


def test_a_difference_lists_the_interpreter_first() -> None:
    before, after = lock("a==1\nb==1\n"), lock("b==2\nc==1\n", "3.12")
    assert diff(before, after) == [
        Change("(python)", "3.11", "3.12"),
        Change("a", "1", None),
        Change("b", "1", "2"),
        Change("c", None, "1"),
    ]
    assert diff(before, before) == []


def test_an_existing_interpreter_has_no_packages_to_compare() -> None:
    there = Lock("x", "existing", {"interpreter": "/usr/bin/python3"})
    changes = diff(there, lock("a==1\n"))
    assert [change.what for change in changes] == ["(builder)", "(python)", "(interpreter)", "(platform)", "a"]
