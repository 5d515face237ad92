"""Build every curated environment that this machine can build, and use the packages of each as scripts do.

    make curated                                   entries that are new, changed or failed
    make curated CURATED_ARGS=--all                all of them again
    make curated CURATED_ARGS='AzureML-sklearn-1.5 Footplate-Minimal'

Each entry is resolved and built as for a run without a GPU, its packages are imported, and its framework computes
something small. Entries with the same lock are built once, and each environment is removed after its check. Everything
lives in a temporary directory that needs up to 20 GB; wheels in it are removed when the disk gets full. An entry that
cannot exist here must say so before the run, and name the nearest one. The exit code is 0 if every entry did.

Results are kept in docs/reference/curated.json, from which the page beside it is written after each entry, so that an
interrupted check continues where it was. tests/docs/test_curated.py compares both with the catalogue.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
import textwrap
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path

from footplate import environments
from footplate.domain.locks import TENSORFLOW1, packages
from footplate.domain.orders import Lock
from footplate.domain.specs import EnvironmentSpec
from footplate.environments import caches, curated
from footplate.environments.base import Interpreter, ResolverSettings
from footplate.environments.built_environments import size
from footplate.environments.curated import Curated, substitutes
from footplate.environments.requirements import name_of
from footplate.errors import FootplateError, InvalidInput
from footplate.job import bootstrap

PAGE = Path(__file__).parent.parent / "docs" / "reference" / "curated.md"
RECORD = PAGE.with_suffix(".json")
FREE = 20 << 30
"""Free bytes below which the downloaded wheels are removed before the next build."""
LONGEST = 900
"""Seconds that one program may take."""

MODULES = {
    "torch": "torch",
    "torchvision": "torchvision",
    "torchaudio": "torchaudio",
    "tensorflow": "tensorflow",
    "tensorflow-cpu": "tensorflow",
    "tensorflow-gpu": "tensorflow",
    "tensorflow-datasets": "tensorflow_datasets",
    "tf-keras": "tf_keras",
    "tensorboard": "tensorboard.summary",
    "scikit-learn": "sklearn",
    "sklearn-pandas": "sklearn_pandas",
    "numpy": "numpy",
    "scipy": "scipy.sparse",
    "pandas": "pandas",
    "pyarrow": "pyarrow",
    "matplotlib": "matplotlib.pyplot",
    "mlflow": "mlflow",
    "mlflow-skinny": "mlflow",
    "lightgbm": "lightgbm",
    "xgboost": "xgboost",
    "dask": "dask",
    "dask-ml": "dask_ml.linear_model",
    "chainer": "chainer",
    "onnx": "onnx",
    "onnxruntime": "onnxruntime",
    "onnxscript": "onnxscript",
    "skl2onnx": "skl2onnx",
    "transformers": "transformers",
    "horovod": "horovod",
    "mpi4py": "mpi4py.MPI",
    "pip": "pip",
    "setuptools": "pkg_resources",
}
"""Package of a lock → the module that scripts import from it."""

FRAMEWORKS = (
    "torch", "tensorflow", "tensorflow-cpu", "tensorflow-gpu", "chainer", "lightgbm", "onnxruntime", "scikit-learn",
)  # fmt: skip

WORK = {
    "torch": """
        import numpy, torch
        layer = torch.nn.Linear(2, 1)
        optimizer = torch.optim.SGD(layer.parameters(), lr=0.1)
        loss = (layer(torch.from_numpy(numpy.eye(2, dtype="float32"))) ** 2).mean()
        loss.backward(); optimizer.step()
        assert torch.ones(3).numpy().sum() == 3
    """,
    "torchvision": """
        import torch, torchvision
        assert torchvision.models.resnet18().eval()(torch.zeros(1, 3, 64, 64)).shape == (1, 1000)
    """,
    "torch and tensorboard": """
        import tempfile
        from torch.utils.tensorboard import SummaryWriter
        SummaryWriter(tempfile.mkdtemp()).add_scalar("loss", 1.0, 0)
    """,
    "tensorflow": """
        import numpy, tensorflow as tf
        model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
        model.compile("sgd", "mse")
        model.fit(numpy.eye(4), numpy.ones((4, 1)), verbose=0)
    """,
    "tensorflow 1": """
        import tensorflow as tf
        x = tf.placeholder(tf.float32, [None, 2])
        with tf.Session() as session:
            assert session.run(tf.reduce_sum(x), {x: [[1, 2]]}) == 3
    """,
    "sklearn": """
        import numpy
        from sklearn.linear_model import LogisticRegression
        assert LogisticRegression().fit(numpy.eye(4), [0, 1, 0, 1]).predict(numpy.eye(4)).tolist() == [0, 1, 0, 1]
    """,
    "pandas": """
        import pandas
        assert pandas.DataFrame({"a": [1, 2]}).groupby("a").size().sum() == 2
    """,
    "lightgbm": """
        import lightgbm, numpy
        lightgbm.LGBMClassifier(n_estimators=2, min_child_samples=1).fit(numpy.eye(4), [0, 1, 0, 1])
    """,
    "xgboost": """
        import numpy, xgboost
        xgboost.XGBClassifier(n_estimators=2).fit(numpy.eye(4), [0, 1, 0, 1])
    """,
    "chainer": """
        import chainer, numpy
        assert chainer.links.Linear(2, 1)(numpy.eye(2, dtype="float32")).shape == (2, 1)
    """,
    "skl2onnx": """
        import numpy, onnxruntime
        from skl2onnx import to_onnx
        from sklearn.linear_model import LogisticRegression
        x = numpy.eye(4, dtype=numpy.float32)
        model = to_onnx(LogisticRegression().fit(x, [0, 1, 0, 1]), x)
        onnxruntime.InferenceSession(model.SerializeToString()).run(None, {"X": x})
    """,
}
"""Module → what a script does with it."""


@dataclass(frozen=True)
class Result:
    """One entry: what was built, what it could do, and what it cost. `error` is empty if everything worked.

    `definition` is the fingerprint of the entry, `pins` are the versions of packages that it names, and `same_as` is an
    entry with the same packages, which was built instead.
    """

    definition: str
    python: str = ""
    framework: str = ""
    pins: dict[str, str] = field(default_factory=dict[str, str])
    imports: list[str] = field(default_factory=list[str])
    megabytes: int = 0
    seconds: int = 0
    error: str = ""
    same_as: str = ""
    refused: str = ""


def main() -> int:
    parser = argparse.ArgumentParser(description="build the curated environments and use their packages")
    parser.add_argument("names", nargs="*", help="entries of the catalogue; without any, those without a result")
    parser.add_argument("--all", action="store_true", help="also entries that have a result")
    options = parser.parse_args()
    record = read_record()
    asked = [curated.get(name) for name in options.names]
    entries = asked or [entry for entry in curated.every() if options.all or not is_current(entry, record)]
    known = dict[str, tuple[str, Result]]()
    with tempfile.TemporaryDirectory(prefix="footplate-curated-") as folder:
        for number, entry in enumerate(entries, 1):
            record[entry.name] = _check(entry, Path(folder), known)
            print(f"[{number}/{len(entries)}] {_line(entry.name, record[entry.name])}", flush=True)
            _write(record)
    failed = [entry.name for entry in entries if record[entry.name].error]
    print(f"{len(entries) - len(failed)} of {len(entries)} entries are right")
    return 1 if failed else 0


def read_record() -> dict[str, Result]:
    """Return the results of earlier checks by the names of their entries."""
    if not RECORD.exists():
        return {}
    return {name: Result(**data) for name, data in json.loads(RECORD.read_text(encoding="utf-8")).items()}


def fingerprint(entry: Curated) -> str:
    """Return a short hash of everything that decides what an entry contains."""
    about = [entry.python, entry.requirements, entry.day, entry.source_only, entry.variables, entry.unavailable]
    return hashlib.sha256(json.dumps(about, sort_keys=True).encode()).hexdigest()[:12]


def is_current(entry: Curated, record: Mapping[str, Result]) -> bool:
    """Whether the entry was checked as it is now, without an error."""
    found = record.get(entry.name)
    return found is not None and found.definition == fingerprint(entry) and not found.error


def _check(entry: Curated, root: Path, known: dict[str, tuple[str, Result]]) -> Result:
    """Resolve, build and use one entry; `known` are names and results by the digests of their locks."""
    begin, found = time.monotonic(), Result(fingerprint(entry))
    try:
        lock = _resolve(entry, root)
    except InvalidInput as error:
        named = entry.similar is not None and entry.similar in (error.hint or "")
        why = "" if named else f"refused without the nearest entry: {error}"
        return replace(found, refused=error.message.partition(": ")[2], error=why)
    if lock.digest in known:
        first, result = known[lock.digest]
        return replace(result, definition=found.definition, same_as=first)
    found = replace(found, python=str(lock.content["python"]), framework=_framework(lock), pins=_pins(entry, lock))
    if entry.nearest is not None and any(f"the run uses {entry.nearest}" in each for each in lock.warnings):
        return replace(found, error=f"its own packages cannot be installed: {lock.warnings[0]}")
    try:
        found = _build_and_use(found, entry, lock, root)
    except FootplateError as error:
        found = replace(found, error=f"not built: {error}")
    found = replace(found, seconds=round(time.monotonic() - begin))
    known[lock.digest] = entry.name, found
    return found


def _pins(entry: Curated, lock: Lock) -> dict[str, str]:
    named, found = {str(name_of(line)) for line in entry.requirements}, packages(lock)
    return {name: found[name] for name in sorted(named & set(found))}


def _resolve(entry: Curated, root: Path) -> Lock:
    spec = EnvironmentSpec(
        builder="venv", python=entry.python, requirements=entry.requirements, options={substitutes.OPTION: entry.name}
    )
    return environments.resolve(spec, ResolverSettings(root, cpu_builds=True), lambda _: None)


def _build_and_use(found: Result, entry: Curated, lock: Lock, root: Path) -> Result:
    if shutil.disk_usage(root).free < FREE:
        caches.clear(root, time.time(), ["wheels", "bytecode"], print)
    interpreter = environments.load("venv").build(lock, root, lambda _: None)
    folder = Path(interpreter.variables["VIRTUAL_ENV"])
    try:
        modules = sorted({MODULES[name] for name in packages(lock) if name in MODULES})
        failures = [why for code in _programs(modules, lock) if (why := _run(interpreter, entry, code, root))]
        return replace(found, imports=modules, megabytes=size(folder) // 10**6, error="\n".join(failures))
    finally:
        shutil.rmtree(folder)


def _programs(modules: Sequence[str], lock: Lock) -> list[str]:
    """Return the programs of an entry: all imports, then the work of each of its modules."""
    ready = {each: each for each in modules}
    if lock.content.get(TENSORFLOW1):
        ready["tensorflow 1"] = ready.pop("tensorflow")
    if "torch" in ready and "tensorboard.summary" in ready:
        ready["torch and tensorboard"] = "torch"
    work = [textwrap.dedent(WORK[each]) for each in ready if each in WORK]
    return ["\n".join(f"import {each}" for each in modules), *work]


def _run(interpreter: Interpreter, entry: Curated, code: str, root: Path) -> str:
    """Run a program in the environment, as a run does; return why it failed, or nothing."""
    script = root / "program.py"
    script.write_text(code, encoding="utf-8")
    command = [*interpreter.argv, "-W", "ignore", str(bootstrap.__file__), str(script)]
    variables = {**os.environ, **interpreter.variables, **entry.variables, "MPLBACKEND": "agg"}
    try:
        done = subprocess.run(command, env=variables, capture_output=True, text=True, timeout=LONGEST, check=False)
    except subprocess.TimeoutExpired:
        return f"not ended after {LONGEST} seconds:\n{textwrap.indent(code.strip(), '    ')}"
    return "" if done.returncode == 0 else (done.stderr.strip() or f"exit code {done.returncode}")[-1500:]


def _framework(lock: Lock) -> str:
    found = packages(lock)
    return ", ".join(f"{name} {found[name]}" for name in FRAMEWORKS if name in found)


# ── Reporting ─────────────────────────────────────────────────────────────────────────────────────────────────────────


def _line(name: str, one: Result) -> str:
    if one.error:
        return f"{name}: FAILED\n{textwrap.indent(one.error, '    ')}"
    if one.refused:
        return f"{name}: refused before the run: {one.refused}"
    cost = f"same as {one.same_as}" if one.same_as else f"{one.megabytes / 1000:.1f} GB, {one.seconds} s"
    return f"{name}: Python {one.python}, {one.framework or 'no framework'}, {len(one.imports)} imports, {cost}"


def _write(record: Mapping[str, Result]) -> None:
    ordered = {entry.name: record[entry.name] for entry in curated.every() if entry.name in record}
    data = {name: asdict(one) for name, one in ordered.items()}
    RECORD.write_text(json.dumps(data, indent=1) + "\n", encoding="utf-8")
    PAGE.write_text(page(ordered), encoding="utf-8")


def deviations(entry: Curated) -> str:
    """Return how an entry differs from Azure's definition, in one line."""
    if entry.unavailable is not None:
        return f"not available: {entry.unavailable}; the nearest is `{entry.similar}`"
    words = [*entry.deviations, *([f"without {', '.join(entry.left_out)}"] if entry.left_out else [])]
    return "; ".join(words) or "none"


_HEAD = """# Curated environments, as built

`make curated` wrote this page: it builds entries of the catalogue for a machine without a GPU,
imports their packages and uses them (a training step, a table, a summary for TensorBoard). Sizes
are those of the environment on disk, without hard links. Seconds include resolution, download and
imports, on a machine with two busy cores. Entries with the same packages are built once.
[How they are chosen](../concepts/environments.md#curated-environments).

| entry | Python | framework | imports | size | seconds |
|---|---|---|---|---|---|
"""
_MIDDLE = """
## Differences from Azure's definitions

Horovod is built for runs over MPI only. Developer tools of the definitions (debugpy, ipykernel,
py-spy) are not installed.

"""


def page(record: Mapping[str, Result]) -> str:
    """Return the page about these results, with every entry of the catalogue."""
    entries = curated.every()
    rows = [_row(entry, record) for entry in entries]
    azure = [entry for entry in entries if entry not in curated.tested.ALL]
    lines = [textwrap.fill(f"- `{entry.name}`: {deviations(entry)}", 100, subsequent_indent="  ") for entry in azure]
    return _HEAD + "\n".join(rows) + "\n" + _MIDDLE + "\n".join(lines) + "\n"


def _row(entry: Curated, record: Mapping[str, Result]) -> str:
    name, one = f"`{entry.name}`", record.get(entry.name)
    if one is None or not is_current(entry, record):
        return f"| {name} | {entry.python} | {'not built yet' if one is None else 'not right yet'} | – | – | – |"
    if one.refused:
        return f"| {name} | – | refused before the run | – | – | – |"
    if one.same_as:
        return f"| {name} | {one.python} | as `{one.same_as}` | {len(one.imports)} | – | – |"
    cost = f"{one.megabytes / 1000:.1f} GB | {one.seconds}"
    return f"| {name} | {one.python} | {one.framework or '–'} | {len(one.imports)} | {cost} |"


if __name__ == "__main__":
    sys.exit(main())
