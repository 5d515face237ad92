"""A model without code of the user's: requests of several protocols, evaluated together.

Each request becomes a `Call` (arrays in, a function that turns arrays into a response). Calls of the same kind and
shape are joined along the first dimension and evaluated at once; if that fails, each is evaluated alone, so that one
bad request does not fail the others.

A request that the model refuses is the client's error (400): it has values that are not finite, or the framework raises
one of its errors for inputs while it still evaluates a good request. Everything else is the model's own failure (500).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from footplate.serving.worker.messages import (
    Refused,
    Scorer,
    ScoreRequest,
    ScoreResponse,
    error_response,
)
from footplate.serving.worker.tensors import Arrays, TensorSpec, is_finite, np, rows, zeros


class LoadedModel:
    """A model in memory. `run` may be called with any number of rows if `batches` is set."""

    framework = "Custom"
    name = "model"
    version = "1"
    inputs: Sequence[TensorSpec] = ()
    outputs: Sequence[TensorSpec] = ()
    methods: Sequence[str] = ("predict",)
    refusals: tuple[type[Exception], ...] = ()  # errors that the framework raises for inputs, among others

    @property
    def batches(self) -> bool:
        """Whether the first dimension of every input is free, so that requests can be joined."""
        shapes = [spec.shape for spec in self.inputs]
        return bool(shapes) and all(shape is not None and len(shape) > 0 and shape[0] is None for shape in shapes)

    def run(self, arrays: Arrays, method: str) -> Arrays:
        """Evaluate the model; the arrays have been checked against `inputs`."""
        raise NotImplementedError

    def refuses(self, error: Exception) -> bool:
        """Whether an error of `run` may come from its inputs."""
        return isinstance(error, self.refusals)

    def to_onnx(self, arrays: Arrays) -> bytes:
        """Convert the model; `arrays` is a sample of its inputs."""
        raise NotImplementedError

    def pairs(self, arrays: Arrays, found: Arrays) -> list[tuple[Any, Any]]:
        """Return the outputs of this model on a sample, each with the one of its conversion."""
        expected = self.run(arrays, self.methods[0])
        by_name = expected.keys() == found.keys()
        return [(value, found[name]) if by_name else (value, other)
                for (name, value), other in zip(expected.items(), found.values())]  # fmt: skip


@dataclass(frozen=True)
class Call:
    """One evaluation that a request asks for, and how its result becomes a response."""

    arrays: Arrays
    render: Callable[[Arrays], ScoreResponse]
    method: str = "predict"

    def key(self) -> tuple[Any, ...]:
        """Calls with equal keys can be joined."""
        shapes = tuple((name, array.dtype.str, array.shape[1:]) for name, array in sorted(self.arrays.items()))
        return self.method, shapes


Parsed = Any
"""A Call, or a Response that needs no evaluation."""


class ModelScorer(Scorer):
    """Answers requests to a loaded model. `protocols` maps the beginning of a path to what reads such requests."""

    def __init__(self, model: LoadedModel, readers: dict[str, Callable[[LoadedModel, ScoreRequest], Parsed]]) -> None:
        self._model = model
        self._readers = readers
        self.framework = model.framework
        self.batches = model.batches
        self.protocols = tuple(readers)
        self._good: Arrays = {}  # one row that the model has evaluated

    def describe(self) -> dict[str, Any]:
        inputs, outputs = ([spec.to_json() for spec in specs] for specs in (self._model.inputs, self._model.outputs))
        return {"signature": {"inputs": inputs, "outputs": outputs, "methods": list(self._model.methods)}}

    def answer(self, requests: Sequence[ScoreRequest]) -> list[ScoreResponse]:
        answers: list[ScoreResponse | None] = [None] * len(requests)
        groups: dict[tuple[Any, ...], list[tuple[int, Call]]] = {}
        for place, request in enumerate(requests):
            parsed = self._parse(request)
            if isinstance(parsed, ScoreResponse):
                answers[place] = parsed
            else:
                alone = (place,) if not self.batches or not rows(parsed.arrays) else ()
                groups.setdefault((*parsed.key(), *alone), []).append((place, parsed))
        for calls in groups.values():
            for (place, _), response in zip(calls, self._evaluate([call for _, call in calls])):
                answers[place] = response
        return [answer or error_response("the worker lost this request", 500) for answer in answers]

    def _parse(self, request: ScoreRequest) -> Parsed:
        protocol = request.path.split("/", 1)[0]
        reader = self._readers.get(protocol)
        if reader is None:
            return error_response(f"there is nothing at {request.path!r}", 404)
        key = "message" if protocol == "score" else "error"
        try:
            return reader(self._model, request)
        except Refused as error:
            return error_response(error.message, error.status, key)
        except Exception as error:  # reading depends on nothing but the request
            return error_response(f"the request cannot be read: {type(error).__name__}: {error}", 400, key)

    def _evaluate(self, calls: list[Call]) -> list[ScoreResponse]:
        try:
            return self._together(calls) if len(calls) > 1 else [self._one(calls[0])]
        except Exception:
            return [self._one(call) for call in calls]

    def _together(self, calls: list[Call]) -> list[ScoreResponse]:
        lengths = [rows(call.arrays) for call in calls]
        joined = {name: np.concatenate([call.arrays[name] for call in calls]) for name in calls[0].arrays}
        results = self._model.run(joined, calls[0].method)
        if any(result.ndim == 0 or result.shape[0] != sum(lengths) for result in results.values()):
            raise ValueError("the outputs have another number of rows than the inputs")
        responses: list[ScoreResponse] = []
        start = 0
        for call, length in zip(calls, lengths):
            responses.append(call.render({name: result[start : start + length] for name, result in results.items()}))
            start += length
        return responses

    def _one(self, call: Call) -> ScoreResponse:
        try:
            results = self._model.run(call.arrays, call.method)
        except Refused as error:
            return error_response(error.message, error.status)
        except Exception as error:
            is_finite_input = all(is_finite(array) for array in call.arrays.values())
            is_refusal = not is_finite_input or (self._model.refuses(error) and self._can_evaluate(call.method))
            status = 400 if is_refusal else 500
            return error_response(f"{type(error).__name__}: {error}", status)
        if not self._good:
            self._good = {n: array[:1].copy() if self.batches else array for n, array in call.arrays.items()}
        try:
            return call.render(results)
        except Exception as error:
            return error_response(f"{type(error).__name__}: {error}", 500)

    def _can_evaluate(self, method: str) -> bool:
        """Return whether the model evaluates a request that it has evaluated before; zeros, if there was none yet."""
        try:
            self._model.run(self._good or {spec.name: zeros(spec) for spec in self._model.inputs}, method)
        except Exception:
            return False
        return True
