"""Features of conda packages, each on a channel that is built here: as in conda, or refused with a message."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from footplate.domain.locks import packages
from footplate.domain.orders import Lock
from footplate.domain.specs import EnvironmentSpec
from footplate.environments.base import Interpreter, ResolverSettings
from footplate.environments.conda import CondaBuilder
from footplate.errors import InvalidInput
from support.conda_channel import MINOR, Package, make_channel, module, python_package

PYTHON = python_package()


@pytest.fixture(autouse=True)
def _no_other_packages(wheels: Path) -> None:
    """Hide every package outside the channels."""


def lock_of(root: Path, channels: list[str], *dependencies: str) -> Lock:
    conda = {"channels": channels, "dependencies": [f"python={MINOR}", *dependencies]}
    spec = EnvironmentSpec(builder="conda", options={"conda": conda})
    return CondaBuilder().lock(spec, ResolverSettings(root / "e", conda="solve"), lambda _: None)


def build(root: Path, lock: Lock) -> tuple[Interpreter, list[str]]:
    said = list[str]()
    return CondaBuilder().build(lock, root / "e", said.append), said


def test_run_exports_do_not_apply_to_environments(tmp_path: Path) -> None:
    exporting = Package("libx", "1.0", info={"run_exports.json": b'{"strong": ["nowhere >=1"]}'})
    made = lock_of(tmp_path, [make_channel(tmp_path / "c", [PYTHON, exporting])], "libx")
    assert set(packages(made)) == {"python", "libx"}


def test_a_package_can_constrain_others_without_installing_them(tmp_path: Path) -> None:
    held = Package("holding", "1.0", constrains=("alpha <2",))
    channel = make_channel(tmp_path / "c", [PYTHON, held, module("alpha", "1.0"), module("alpha", "2.0")])
    assert "alpha" not in packages(lock_of(tmp_path, [channel], "holding"))
    assert packages(lock_of(tmp_path, [channel], "holding", "alpha"))["alpha"] == "1.0"
    with pytest.raises(InvalidInput, match="alpha"):
        lock_of(tmp_path, [channel], "holding", "alpha=2")


# ── Of the machine ────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("need", "variable", "enough", "too_little"),
    [
        ("__glibc >=2.30", "CONDA_OVERRIDE_GLIBC", "2.36", "2.17"),
        ("__cuda >=12", "CONDA_OVERRIDE_CUDA", "12.4", "11.8"),
        ("__linux", "CONDA_OVERRIDE_LINUX", "6.1", None),
        ("__unix", None, None, None),
        ("__archspec", None, None, None),
    ],
)
def test_virtual_packages_describe_the_machine(
    need: str,
    variable: str | None,
    enough: str | None,
    too_little: str | None,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    channel = make_channel(tmp_path / "c", [PYTHON, Package("needs", "1.0", depends=(need,))])
    if variable is not None and enough is not None:
        monkeypatch.setenv(variable, enough)
    made = lock_of(tmp_path, [channel], "needs")
    assert set(packages(made)) == {"python", "needs"}, "what the machine has is in no lock"
    if variable is not None and too_little is not None:
        monkeypatch.setenv(variable, too_little)
        with pytest.raises(InvalidInput, match=need.split()[0]):
            lock_of(tmp_path, [channel], "needs")


# ── Lines ─────────────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.fixture
def builds(tmp_path: Path) -> str:
    alpha = module("alpha", "1.0")
    made = [PYTHON, *(replace(alpha, build=name) for name in ("cpu_0", "cuda_1", "cuda_2")), module("alpha", "2.0")]
    return make_channel(tmp_path / "builds", made)


@pytest.mark.parametrize(
    ("line", "build"),
    [
        ("alpha=1.0=cpu_0", "cpu_0"),
        ("alpha==1.0=cuda_1", "cuda_1"),
        ("alpha 1.0 cuda_2", "cuda_2"),
        ("alpha=1.0=cpu*", "cpu_0"),
        ("alpha[version='1.*', build='cuda_1']", "cuda_1"),
        ("alpha", "pyh0_0"),
        ("alpha>=1,<3", "pyh0_0"),
        ("alpha!=2.0,<=1.0", None),
        ("alpha ~=1.0", None),
    ],
)
def test_specs_choose_versions_and_builds(line: str, build: str | None, builds: str, tmp_path: Path) -> None:
    (found,) = [one for one in lock_of(tmp_path, [builds], line).content["packages"] if one["name"] == "alpha"]
    assert found["build"] == build if build else found["build"] != "pyh0_0"


@pytest.mark.parametrize("line", ["alpha=1.0=rocm*", "alpha=3", "alpha=1.0=cpu_0,>2"])
def test_builds_that_do_not_exist_are_refused(line: str, builds: str, tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="alpha") as caught:
        lock_of(tmp_path, [builds], line)
    assert caught.value.hint


# ── Channels ──────────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("priority", "chosen"), [(None, "1.0"), ("flexible", "1.0"), ("strict", "1.0"), ("disabled", "9.0")]
)
def test_the_first_channel_that_has_a_package_wins(
    priority: str | None, chosen: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = make_channel(tmp_path / "first", [PYTHON, module("alpha", "1.0")])
    second = make_channel(tmp_path / "second", [module("alpha", "9.0")])
    if priority is not None:
        (tmp_path / "condarc").write_text(f"channel_priority: {priority}\n")
        monkeypatch.setenv("CONDARC", str(tmp_path / "condarc"))
    assert packages(lock_of(tmp_path, [first, "nodefaults", second], "alpha"))["alpha"] == chosen


def test_a_line_can_name_its_channel_by_address(tmp_path: Path) -> None:
    first = make_channel(tmp_path / "first", [PYTHON, module("alpha", "1.0"), module("beta", "1.0")])
    second = make_channel(tmp_path / "second", [module("alpha", "9.0")])
    found = {
        one["name"]: one["url"] for one in lock_of(tmp_path, [first], f"{second}::alpha", "beta").content["packages"]
    }
    assert found["alpha"].startswith(second) and found["beta"].startswith(first)
    with pytest.raises(InvalidInput, match="beta"):
        lock_of(tmp_path, [first], f"{second}::beta")


def test_defaults_follow_condas_settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    channel = make_channel(tmp_path / "first", [PYTHON, module("alpha", "1.0")])
    (tmp_path / "condarc").write_text(f"default_channels: [{channel}]\n")
    monkeypatch.setenv("CONDARC", str(tmp_path / "condarc"))
    assert packages(lock_of(tmp_path, ["defaults"], "alpha"))["alpha"] == "1.0"
