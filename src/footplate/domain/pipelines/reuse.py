"""The parts of a step that decide about its result, and their comparison with those of an earlier run.

Each part is a text: a short value as it is, or the digest of content. Two runs with equal parts would do the same, so
the later one takes over the result of the earlier. Names of runs and paths are not parts: the content of data counts.
"""

from __future__ import annotations

import hashlib
import json
from typing import Any, Dict, Iterator, List, Mapping, Optional, Sequence, Tuple

from footplate.domain.codec import to_json
from footplate.domain.pipelines.graph import PipelineStep
from footplate.domain.specs import RunSpec

STEP = "azureml.moduleName"
"""The property of a step's run with the name of the step."""

KEY = "footplate.step_key"
"""The property with the digest of all parts."""

PARTS = "footplate.step_parts"
"""The property with the parts, as JSON: only a run that was executed has it."""

REASON = "footplate.step_reason"
"""The property that says why the step ran, or from which run it was reused."""

REUSED_RUN = "azureml.reusedrunid"
"""The property with the run whose result a reused step has."""

UNKNOWN = "unknown"
"""The beginning of a part whose content nobody can compare, such as the result of a query."""

Parts = Dict[str, str]


def parts_of(step: PipelineStep, spec: RunSpec, inputs: Mapping[str, str]) -> Parts:
    """Return the parts of a step. `inputs`: digests of the content of its inputs, by name."""
    program = spec.program
    parts: Parts = {
        "code": step.code or spec.snapshot or "",
        "script": "" if program is None else program.script or program.command or "",
        "environment": digest({**to_json(spec.environment), "name": None, "version": None}),
        "settings": digest([to_json(spec.distribution), to_json(spec.gpus), step.version]),
        "outputs": digest(to_json(spec.outputs)),
    }
    if program is not None:
        parts.update(_named_arguments(program.arguments))
    parts.update((f"variable {name}", value) for name, value in spec.environment_variables.items())
    parts.update((f"input {name}", digest) for name, digest in inputs.items())
    if spec.controller is not None:
        template = {key: {**to_json(child), "properties": None} for key, child in spec.controller.children.items()}
        parts["sweep"] = digest([spec.controller.kind, to_json(spec.controller.options), template])
    return parts


def _named_arguments(words: Sequence[str]) -> Iterator[Tuple[str, str]]:
    """Yield each argument with its place, and the option before it, so that people find it."""
    for index, word in enumerate(words):
        option = words[index - 1] if index and words[index - 1].startswith("-") else ""
        yield f"argument {index + 1} {option}".rstrip(), word


def key_of(parts: Parts) -> str:
    return digest(parts)


def explain_difference(now: Parts, before: Parts) -> str:
    """Return what changed since an earlier run, as people read it: `input data changed; argument 3 is 0.2, was 0.1`."""
    changes: List[str] = []
    for name in [*now, *(name for name in before if name not in now)]:
        new, old = now.get(name), before.get(name)
        if new != old:
            changes.append(_describe(name, new, old))
    return "; ".join(changes) or "nothing changed"


def _describe(name: str, new: Optional[str], old: Optional[str]) -> str:
    kind = name.partition(" ")[0]
    if new is None:
        return f"{name} was removed"
    if old is None:
        return f"{name} was added"
    if new.startswith(UNKNOWN):
        return f"the content of {name} cannot be compared"
    if kind in ("argument", "variable", "script"):
        return f"{name} is {_short(new)}, was {_short(old)}"
    return f"{name} changed"


def _short(text: str) -> str:
    return repr(text if len(text) <= 60 else text[:57] + "…")


def digest(value: Any) -> str:
    text = json.dumps(value, sort_keys=True, ensure_ascii=True, default=str)
    return hashlib.sha256(text.encode("ascii")).hexdigest()
