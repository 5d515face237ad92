"""Conda files solved from a channel that is built here, and the environments built from them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from footplate import environments
from footplate.domain.codec import from_json, to_json
from footplate.domain.locks import diff, packages
from footplate.domain.orders import Lock
from footplate.domain.specs import EnvironmentSpec
from footplate.environments.base import Interpreter, ResolverSettings
from footplate.environments.conda import CondaBuilder
from footplate.errors import InvalidInput
from support.conda_channel import MINOR, PLACEHOLDER, Package, make_channel, module, python_package

ACTIVATE = (
    b'export TOOL_HOME="$CONDA_PREFIX/share/tool"\nexport ODD="two words\nand a line"\necho noise; echo noise >&2\n'
)


def tool(version: str = "1.2") -> Package:
    """A native package: a program and a binary file that contain the prefix, and an activation script."""
    return Package(
        "tool",
        version,
        {
            "bin/tool": f"#!/bin/sh\necho {PLACEHOLDER}\n".encode(),
            "share/tool/binary": b"\0" + PLACEHOLDER.encode() + b"\0end",
            "etc/conda/activate.d/tool.sh": ACTIVATE,
            "etc/conda/env_vars.d/tool.json": b'{"TOOL_LEVEL": "3"}',
        },
        ("__glibc >=2.17",),
        programs=frozenset(["bin/tool"]),
    )


@pytest.fixture
def channel(tmp_path: Path, wheels: Path) -> str:
    cuda = Package("needs-cuda", "1.0", {"share/cuda.txt": b"yes"}, ("__cuda >=12",))
    made = [
        python_package(),
        module("alpha", "1.0"),
        module("alpha", "2.0"),
        module("beta", "1.0", "alpha <2"),
        tool(),
        cuda,
    ]
    return make_channel(tmp_path / "channel", made)


def spec_of(channels: list[str], *dependencies: str, pip: tuple[str, ...] = ()) -> EnvironmentSpec:
    conda = {"channels": channels, "dependencies": list(dependencies), "pip": list(pip)}
    return EnvironmentSpec(builder="conda", options={"conda": conda})


def lock_of(root: Path, spec: EnvironmentSpec, **rules: Any) -> tuple[Lock, list[str]]:
    said = list[str]()
    return CondaBuilder().lock(spec, ResolverSettings(root / "e", **rules), said.append), said


def build(root: Path, lock: Lock) -> tuple[Interpreter, list[str]]:
    said = list[str]()
    return CondaBuilder().build(lock, root / "e", said.append), said


def test_a_solved_lock_names_each_file_exactly(channel: str, tmp_path: Path) -> None:
    made, said = lock_of(tmp_path, spec_of([channel], f"python={MINOR}", "beta", "tool"))
    by_name = {one["name"]: one for one in made.content["packages"]}
    assert set(by_name) == {"python", "alpha", "beta", "tool"}
    assert (by_name["alpha"]["version"], by_name["alpha"]["build"]) == ("1.0", "pyh0_0")
    assert all(len(one["sha256"]) == 64 and one["url"].startswith(channel) for one in by_name.values())
    assert (by_name["tool"]["subdir"], made.content["platform"]) == ("linux-64", "linux-64")
    assert made.warnings == () and any(line.startswith("solving 3 packages from") for line in said)
    assert packages(made)["alpha"] == "1.0" and from_json(Lock, to_json(made)) == made
    other, _ = lock_of(tmp_path, spec_of([channel], f"python={MINOR}", "alpha"))
    assert {change.what for change in diff(made, other)} == {"alpha", "beta", "tool"}


def test_a_prefix_contains_pip_setuptools_and_wheel_of_its_channel(tmp_path: Path) -> None:
    installers = [
        module("pip", "25.0"),
        module("setuptools", "80.9"),
        module("setuptools", "82.0"),
        module("wheel", "1.0"),
    ]
    channel = make_channel(tmp_path / "channel", [python_package(), *installers])
    made, _ = lock_of(tmp_path, spec_of([channel], f"python={MINOR}"))
    found = packages(made)
    assert (found["pip"], found["setuptools"], found["wheel"]) == ("25.0", "80.9", "1.0")


def test_a_conflict_shows_the_solvers_message_and_the_lines(channel: str, tmp_path: Path) -> None:
    with pytest.raises(InvalidInput) as caught:
        lock_of(tmp_path, spec_of([channel], f"python={MINOR}", "beta=1.0", "alpha>=2", "tool"))
    assert "would require" in caught.value.message
    assert caught.value.message.endswith("these lines conflict:\n  beta=1.0\n  alpha>=2")
    with pytest.raises(InvalidInput, match="No candidates were found for nosuch") as caught:
        lock_of(tmp_path, spec_of([channel], f"python={MINOR}", "nosuch"))
    assert "this line cannot be satisfied:\n  nosuch" in caught.value.message
    with pytest.raises(InvalidInput, match="'alpha>=' is not a conda package"):
        lock_of(tmp_path, spec_of([channel], f"python={MINOR}", "alpha>="))


def test_the_machine_is_detected_and_can_be_overridden(
    channel: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CONDA_OVERRIDE_CUDA", "")
    with pytest.raises(InvalidInput, match="__cuda"):
        lock_of(tmp_path, spec_of([channel], f"python={MINOR}", "needs-cuda"))
    monkeypatch.setenv("CONDA_OVERRIDE_CUDA", "12.4")
    made, _ = lock_of(tmp_path, spec_of([channel], f"python={MINOR}", "needs-cuda"))
    assert "needs-cuda" in packages(made)


# ── Channels ──────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_condas_settings_map_channel_names_to_addresses(
    channel: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    condarc: dict[str, Any] = {"custom_channels": {"mine": tmp_path.as_uri()}, "channel_alias": tmp_path.as_uri()}
    (tmp_path / "condarc").write_text(json.dumps(condarc))
    (tmp_path / "mine").symlink_to(tmp_path / "channel")
    monkeypatch.setenv("CONDARC", str(tmp_path / "condarc"))
    monkeypatch.delenv("CONDA_CHANNEL_ALIAS")
    for name in ("mine", "channel", channel, str(tmp_path / "channel")):
        made, _ = lock_of(tmp_path, spec_of([name], f"python={MINOR}", "alpha"))
        assert packages(made)["alpha"] == "2.0", name
    condarc["channels"] = ["mine"]
    (tmp_path / "condarc").write_text(json.dumps(condarc))
    assert packages(lock_of(tmp_path, spec_of([], f"python={MINOR}", "alpha"))[0])["alpha"] == "2.0"


def test_a_line_can_name_its_channel(channel: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    make_channel(tmp_path / "second", [module("alpha", "9.0")])
    monkeypatch.setenv("CONDA_CHANNEL_ALIAS", tmp_path.as_uri())
    made, _ = lock_of(tmp_path, spec_of([channel], f"python={MINOR}", "second::alpha"))
    assert packages(made)["alpha"] == "9.0"


def test_later_channels_complete_earlier_ones_as_in_conda(
    channel: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    second = make_channel(tmp_path / "second", [module("alpha", "9.0"), module("delta", "1.0", "alpha >=9")])
    spec = spec_of([channel, second], f"python={MINOR}", "alpha", "delta")
    made, said = lock_of(tmp_path, spec)
    assert packages(made)["alpha"] == "9.0" and any("several channels are mixed" in line for line in said)
    (tmp_path / "condarc").write_text("channel_priority: strict\n")
    monkeypatch.setenv("CONDARC", str(tmp_path / "condarc"))
    with pytest.raises(InvalidInput, match="alpha"):
        lock_of(tmp_path, spec)


# ── Python ────────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_a_python_too_old_for_jobs_is_replaced_by_the_nearest(channel: str, tmp_path: Path) -> None:
    old = make_channel(tmp_path / "old", [python_package(), Package("python", "3.6.2", {"bin/python": b"#!/bin/sh\n"})])
    made, _ = lock_of(tmp_path, spec_of([old], "python=3.6.2"))
    assert made.content["python"] == MINOR
    assert made.warnings[0].startswith("python=3.6.2 cannot run jobs: the run uses Python 3.")
    with pytest.raises(InvalidInput, match=r"gives Python 3\.6\.2, and jobs need at least 3\.8"):
        lock_of(tmp_path, spec_of([old], "python=3.6.2"), interpreters="exact")


def test_a_conda_file_without_python_gets_the_specs(channel: str, tmp_path: Path) -> None:
    spec = EnvironmentSpec(
        builder="conda", python=MINOR, options={"conda": {"channels": [channel], "dependencies": ["alpha"], "pip": []}}
    )
    assert "python" in packages(lock_of(tmp_path, spec)[0])


# ── Kept ──────────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_a_channel_in_a_directory_is_read_every_time(channel: str, tmp_path: Path) -> None:
    spec, settings = spec_of([channel], f"python={MINOR}", "alpha"), ResolverSettings(tmp_path / "e")
    assert packages(environments.resolve(spec, settings, lambda _: None))["alpha"] == "2.0"
    make_channel(tmp_path / "channel", [module("alpha", "2.1")])
    assert packages(environments.resolve(spec, settings, lambda _: None))["alpha"] == "2.1"
