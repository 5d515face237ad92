"""Samplers: deterministic, replayable, and with Optuna's own results behind Optuna's names."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path
from typing import Any

import optuna
import pytest

from footplate.errors import InvalidInput
from footplate.tuning.samplers import SAMPLERS, Call, SamplerContext, TrialResult, make_sampler, replay

SPACE = {
    "x": ["uniform", [-5, 5]],
    "lr": ["loguniform", [-9, -1]],
    "layers": ["choice", [1, 2, 4]],
    "units": ["quniform", [16, 128, 16]],
    "noise": ["normal", [0, 1]],
    "momentum": ["when", ["layers", [1, 2], ["uniform", [0.5, 1.0]]]],
}
PLAIN = {"x": ["uniform", [-5, 5]], "y": ["uniform", [-5, 5]]}


def score(values: dict[str, Any]) -> float:
    return (values["x"] - 1) ** 2 + values.get("y", 0.0) ** 2


def drive(kind: str, space: dict[str, Any], count: int, seed: int = 3) -> tuple[list[dict[str, Any]], list[Call]]:
    """Run trials two at a time, so that results come back in another order than they were asked for."""
    sampler = make_sampler(kind, SamplerContext(space, ("minimize",), seed))
    asked: list[dict[str, Any]] = []
    calls: list[Call] = []
    for number in range(count):
        values = sampler.ask()
        assert values is not None
        asked.append(values)
        calls.append(None)
        if number % 2:
            for ended in (number, number - 1):
                result = TrialResult((score(asked[ended]),))
                sampler.tell(ended, result)
                calls.append((ended, result))
    return asked, calls


@pytest.mark.parametrize("kind", ["random", "tpe", "qmc", "nsga2"])
def test_the_same_seed_gives_the_same_trials(kind: str) -> None:
    first, _ = drive(kind, SPACE, 12)
    assert first == drive(kind, SPACE, 12)[0]
    assert first != drive(kind, SPACE, 12, seed=4)[0]


@pytest.mark.parametrize("kind", ["random", "tpe", "cmaes"])
def test_a_replayed_sampler_continues_where_the_other_stopped(kind: str) -> None:
    whole, _ = drive(kind, PLAIN, 16)
    _, calls = drive(kind, PLAIN, 14)
    restored = replay(make_sampler(kind, SamplerContext(PLAIN, ("minimize",), 3)), calls)
    assert restored.ask() == whole[14]


def test_tpe_finds_the_values_that_optuna_itself_finds() -> None:
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    study = optuna.create_study(direction="minimize", sampler=optuna.samplers.TPESampler(seed=5))
    study.optimize(lambda t: score({"x": t.suggest_float("x", -5, 5), "y": t.suggest_float("y", -5, 5)}), n_trials=25)
    sampler = make_sampler("tpe", SamplerContext(PLAIN, ("minimize",), 5))
    found: list[float] = []
    for number in range(25):
        values = sampler.ask()
        assert values is not None
        found.append(score(values))
        sampler.tell(number, TrialResult((found[-1],)))
    assert found == [trial.value for trial in study.trials]


def test_every_value_lies_in_its_space() -> None:
    for values in drive("tpe", SPACE, 40)[0]:
        assert -5 <= values["x"] <= 5 and 1e-4 < values["lr"] < 0.37
        assert values["units"] in range(16, 129, 16)
        assert ("momentum" in values) == (values["layers"] in (1, 2))


def test_choices_that_optuna_cannot_name_are_drawn_by_index() -> None:
    space = {"shape": ["choice", [[1, 2], [3]]]}
    assert {str(values["shape"]) for values in drive("tpe", {**space, **PLAIN}, 20)[0]} == {"[1, 2]", "[3]"}


def test_a_grid_ends() -> None:
    sampler = make_sampler("grid", SamplerContext({"a": ["choice", [1, 2]]}, ("minimize",), 0))
    assert [sampler.ask(), sampler.ask(), sampler.ask()] == [{"a": 1}, {"a": 2}, None]


def test_two_objectives_are_accepted() -> None:
    sampler = make_sampler("nsga2", SamplerContext(PLAIN, ("minimize", "maximize"), 0))
    assert sampler.ask() is not None
    sampler.tell(0, TrialResult((1.0, 2.0)))
    assert sampler.ask() is not None


def test_a_failed_trial_and_nan_teach_nothing() -> None:
    sampler = make_sampler("tpe", SamplerContext(PLAIN, ("minimize",), 0))
    for number, values in enumerate((None, (float("nan"),), (1.0,))):
        assert sampler.ask() is not None
        sampler.tell(number, TrialResult(values))


class Halving:
    """A custom sampler: halve x each time."""

    def __init__(self, context: SamplerContext) -> None:
        self._x = 1.0

    def ask(self) -> dict[str, Any]:
        self._x /= 2
        return {"x": self._x}

    def tell(self, number: int, result: TrialResult) -> None:
        pass


@pytest.mark.parametrize("name", ["halving", "Halving", f"{__name__}:Halving"])
def test_a_class_that_the_owner_listed_is_a_sampler(name: str) -> None:
    sampler = make_sampler(name, SamplerContext(PLAIN, ("minimize",), 0), {"halving": f"{__name__}:Halving"})
    assert [sampler.ask(), sampler.ask()] == [{"x": 0.5}, {"x": 0.25}]


def test_a_class_that_the_owner_did_not_list_is_refused_and_not_imported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "never_imported.py").write_text("raise SystemExit('imported')")
    monkeypatch.syspath_prepend(tmp_path)
    for path in ("never_imported:Any", f"{tmp_path}/never_imported.py:Any", "builtins:exit", "sys:addaudithook"):
        with pytest.raises(InvalidInput, match="not listed by the owner") as refusal:
            make_sampler(path, SamplerContext(PLAIN, ("minimize",), 0), {"halving": f"{__name__}:Halving"})
        assert f"[samplers]\n{path.rpartition(':')[2].lower()} = {path}" in str(refusal.value)


def test_the_sampler_of_the_guide_takes_twenty_lines_and_learns(
    tmp_path: Path,
) -> None:
    guide = (Path(__file__).parents[3] / "docs/guides/sweeps.md").read_text(encoding="utf-8")
    (source,) = (block for block in re.findall(r"```python\n(.*?)```", guide, re.DOTALL) if "def ask" in block)
    assert len([line for line in source[source.index("class ") :].splitlines() if line.strip()]) <= 20
    file = tmp_path / "around_the_best.py"
    file.write_text(source)
    space, listed = {"x": ["uniform", [-5, 5]]}, {"around": f"{file}:AroundTheBest"}
    sampler = make_sampler("around", SamplerContext(space, ("minimize",), 3), listed)
    found: list[float] = []
    for number in range(40):
        values = sampler.ask()
        assert values is not None
        found.append(score(values))
        sampler.tell(number, TrialResult((found[-1],)))
    assert sum(found[5:]) / 35 < 0.1 * sum(found[:5]) / 5, "later draws are near the best one"


def test_an_unknown_sampler_is_refused() -> None:
    with pytest.raises(InvalidInput, match="sampler 'luck' is unknown"):
        make_sampler("luck", SamplerContext(PLAIN, ("minimize",), 0))


@pytest.mark.parametrize("path", ["os:Nothing", "no_such_module:Any", "Any", "/no/such/file.py:Any"])
def test_a_listed_class_that_cannot_be_loaded_is_named(path: str) -> None:
    with pytest.raises(InvalidInput, match=f"sampler '{path}' cannot be loaded"):
        make_sampler("mine", SamplerContext(PLAIN, ("minimize",), 0), {"mine": path})


class Broken:
    """A sampler with a mistake in each method; `drawn` is what it asks for."""

    drawn: Any = None

    def __init__(self, context: SamplerContext) -> None:
        assert context.seed, "no seed"

    def ask(self) -> Any:
        return self.drawn or 1 / 0

    def tell(self, number: int, result: TrialResult) -> None:
        raise KeyError(number)


def test_mistakes_of_a_class_of_the_user_name_the_class(monkeypatch: pytest.MonkeyPatch) -> None:
    path = f"{__name__}:Broken"
    with pytest.raises(InvalidInput, match=f"{path}' cannot be made: AssertionError: no seed"):
        make_sampler("broken", SamplerContext(PLAIN, ("minimize",), 0), {"broken": path})
    sampler = make_sampler("broken", SamplerContext(PLAIN, ("minimize",), 1), {"broken": path})
    with pytest.raises(InvalidInput, match="failed in ask: ZeroDivisionError"):
        sampler.ask()
    with pytest.raises(InvalidInput, match="failed in tell: KeyError: 7"):
        sampler.tell(7, TrialResult(None))
    for drawn, words in ((3, "drew 3"), ({"z": 1}, "drew {'z': 1}"), ({"x": object()}, "failed in ask: TypeError")):
        monkeypatch.setattr(Broken, "drawn", drawn)
        with pytest.raises(InvalidInput, match=words):
            sampler.ask()


@pytest.mark.parametrize("seed", [-1, 2**40])
def test_any_whole_number_is_a_seed(seed: int) -> None:
    assert make_sampler("tpe", SamplerContext(PLAIN, ("minimize",), seed)).ask()


def test_cmaes_takes_one_objective() -> None:
    with pytest.raises(InvalidInput, match="'cmaes' knows one objective"):
        make_sampler("cmaes", SamplerContext(PLAIN, ("minimize", "maximize"), 0))


@pytest.mark.skipif(importlib.util.find_spec("torch") is not None, reason="torch is installed")
def test_gp_without_torch_is_refused_before_the_first_trial() -> None:
    with pytest.raises(InvalidInput, match="sampler 'gp' needs another package: No module named 'torch'"):
        make_sampler("gp", SamplerContext(PLAIN, ("minimize",), 0))


def test_unknown_options_are_refused() -> None:
    with pytest.raises(InvalidInput, match="qmc_type='nope'"):
        make_sampler("qmc", SamplerContext(PLAIN, ("minimize",), 0, {"qmc_type": "nope"}))
    with pytest.raises(InvalidInput, match="nonsense"):
        make_sampler("tpe", SamplerContext(PLAIN, ("minimize",), 0, {"nonsense": 1}))


def test_options_that_would_take_all_memory_are_refused() -> None:
    with pytest.raises(InvalidInput, match="n_ei_candidates = 1000000000"):
        make_sampler("tpe", SamplerContext(PLAIN, ("minimize",), 0, {"n_ei_candidates": 10**9}))
    assert make_sampler("tpe", SamplerContext(PLAIN, ("minimize",), 0, {"seed": 10**9})).ask()


def test_every_sampler_has_a_name_in_the_table() -> None:
    assert list(SAMPLERS) == ["random", "grid", "tpe", "cmaes", "gp", "qmc", "nsga2"]
