"""Requests of each protocol, read into calls of a model, and its results written back.

score               {"data": [[…]], "method": "predict"}; {"inputs": {name: […]}}; ONNX Runtime Server's tensors
v1/models/NAME      TensorFlow Serving: :predict with "instances" (rows) or "inputs" (columns); metadata
v2/…                the Open Inference Protocol (KServe, Triton), with JSON or binary tensors
"""

# Requests are JSON of any shape: each value is checked where it is used.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false

from __future__ import annotations

import base64
import json
import re
import struct
from collections.abc import Callable, Sequence
from typing import Any

from footplate.serving.worker.messages import JSON, Refused, ScoreRequest, ScoreResponse, json_response, parse_json
from footplate.serving.worker.model_scorer import Call, LoadedModel, Parsed
from footplate.serving.worker.tensors import (
    V2_TYPES,
    Arrays,
    TensorSpec,
    np,
    only,
    plain,
    rows,
    to_array,
    to_arrays,
)


def read_object(body: bytes) -> dict[str, Any]:
    """Return a body that has to be a JSON object."""
    try:
        value: Any = parse_json(body)
    except (ValueError, RecursionError) as error:
        raise Refused(f"the request is not JSON: {error}") from None
    if not isinstance(value, dict):
        raise Refused("the request is not a JSON object")
    return dict(value)


# ── Azure's own form ──────────────────────────────────────────────────────────────────────────────────────────────────


def read_score(model: LoadedModel, request: ScoreRequest) -> Parsed:
    """Read {"data": …, "method": …} or {"inputs": {…}}."""
    body = read_object(request.body)
    method = _method(model, body.get("method"))
    if "data" in body:
        arrays = read_data(model, body["data"])
        return Call(arrays, lambda results: json_response(_by_name(model, method, results)), method)
    if isinstance(body.get("inputs"), dict):
        return _read_inputs(model, body, method)
    raise Refused("the request has neither 'data' nor 'inputs'")


def _method(model: LoadedModel, wanted: Any) -> str:
    """Return the method to call; the first that the model has, as on Azure, where none is named."""
    if wanted is None:
        return model.methods[0]
    if wanted not in model.methods:
        raise Refused(f"the model has no method {wanted!r}: it has {', '.join(model.methods)}")
    return str(wanted)


def read_data(model: LoadedModel, data: Any) -> Arrays:
    """Return the arrays of a request: rows of the one input, columns by name, or records."""
    if isinstance(data, dict):
        return to_arrays(model.inputs, data)
    records: list[Any] = data if isinstance(data, list) else []
    if records and isinstance(records[0], dict) and len(model.inputs) > 1:
        return to_arrays(model.inputs, _columns(records))
    spec = only(model.inputs)
    if records and isinstance(records[0], dict) and spec.columns:
        return {spec.name: to_array(spec, _by_column(spec, records))}
    return {spec.name: to_array(spec, data)}


def _by_column(spec: TensorSpec, records: Sequence[Any]) -> list[list[Any]]:
    """Return records as rows in the order of the columns; a name that is missing or unknown is refused."""
    values = _columns(records)
    for name in values:
        if name not in spec.columns:
            raise Refused(f"there is no column {name!r}: the model takes {', '.join(spec.columns)}")
    for name in spec.columns:
        if name not in values:
            raise Refused(f"column {name!r} is missing: the model takes {', '.join(spec.columns)}")
    return [list(row) for row in zip(*(values[name] for name in spec.columns))]


def _columns(records: Sequence[Any]) -> dict[str, list[Any]]:
    names: list[str] = list(records[0])
    try:
        return {name: [record[name] for record in records] for name in names}
    except (KeyError, TypeError):
        raise Refused("the records under 'data' do not all have the same names") from None


def _by_name(model: LoadedModel, method: str, results: Arrays) -> dict[str, Any]:
    """Return results as Azure does for scikit-learn, under the method's name; under their own where there are more."""
    if len(results) == 1:
        return {method: plain(next(iter(results.values())))}
    return {name: plain(result) for name, result in results.items()}


def _read_inputs(model: LoadedModel, body: dict[str, Any], method: str) -> Call:
    inputs: dict[str, Any] = body["inputs"]
    outputs: Sequence[str] = body.get("outputFilter") or body.get("output_filter") or ()
    if not isinstance(outputs, (list, tuple)):
        raise Refused("'outputFilter' is not a list of names")
    if any(isinstance(value, dict) and "dims" in value for value in inputs.values()):
        arrays = to_arrays(model.inputs, {name: _onnx_tensor(name, value) for name, value in inputs.items()})
        return Call(arrays, lambda results: json_response({"outputs": _onnx_results(results, outputs)}), method)
    arrays = to_arrays(model.inputs, inputs)
    return Call(arrays, lambda r: json_response({"outputs": {n: plain(a) for n, a in _chosen(r, outputs)}}), method)


def _chosen(results: Arrays, wanted: Sequence[str]) -> list[tuple[str, Any]]:
    return [(name, array) for name, array in results.items() if not wanted or name in wanted]


# ── ONNX Runtime Server's tensors: dimensions, a type by number, and base64 or a list ─────────────────────────────────

_ONNX_TYPES = {
    1: "float32",
    2: "uint8",
    3: "int8",
    4: "uint16",
    5: "int16",
    6: "int32",
    7: "int64",
    9: "bool",
    10: "float16",
    11: "float64",
    12: "uint32",
    13: "uint64",
}
_ONNX_LISTS = ("floatData", "int32Data", "int64Data", "doubleData", "uint64Data", "stringData")


def _onnx_tensor(name: str, value: dict[str, Any]) -> Any:
    try:
        shape = [int(size) for size in value["dims"]]
        if "rawData" in value:
            dtype = _ONNX_TYPES[int(value.get("dataType", 1))]
            return np.frombuffer(base64.b64decode(value["rawData"]), dtype).reshape(shape)
        data = next(value[kind] for kind in _ONNX_LISTS if kind in value)
        return np.asarray(data).reshape(shape)
    except (KeyError, TypeError, ValueError, StopIteration) as error:
        raise Refused(f"input {name!r} is not a tensor of dims, dataType and rawData: {error}") from None


def _onnx_results(results: Arrays, wanted: Sequence[str]) -> dict[str, Any]:
    numbers = {dtype: number for number, dtype in _ONNX_TYPES.items()}
    tensors: dict[str, Any] = {}
    for name, array in _chosen(results, wanted):
        raw = base64.b64encode(np.ascontiguousarray(array).tobytes()).decode()
        dims = [str(size) for size in array.shape]
        tensors[name] = {"dims": dims, "dataType": numbers.get(array.dtype.name, 1), "rawData": raw}
    return tensors


# ── TensorFlow Serving ────────────────────────────────────────────────────────────────────────────────────────────────

_TF_PATH = re.compile(r"v1/models/(?P<name>[^/:]+)(?:/versions/\d+|/labels/[^/:]+)?(?P<rest>:\w+|/metadata)?")


def read_tfserving(model: LoadedModel, request: ScoreRequest) -> Parsed:
    """Read a request of TensorFlow Serving's REST API, or one to ONNX Runtime Server at the same address."""
    path = _TF_PATH.fullmatch(request.path)
    if path is None:
        raise Refused(f"there is nothing at {request.path!r}", 404)
    if request.method == "GET":
        if path["rest"] == "/metadata":
            return json_response(_tf_metadata(model))
        status = {"error_code": "OK", "error_message": ""}
        version = {"version": str(model.version), "state": "AVAILABLE", "status": status}
        return json_response({"model_version_status": [version]})
    if path["rest"] != ":predict":
        raise Refused(f"only :predict is supported, not {path['rest'] or 'a plain POST'}", 404)
    body = read_object(request.body)
    if "instances" in body:
        return Call(_instances(model, body["instances"]), _predictions)
    if "inputs" not in body:
        raise Refused("the request has neither 'instances' nor 'inputs'")
    inputs: Any = body["inputs"]
    if isinstance(inputs, dict):
        if any(isinstance(value, dict) and "dims" in value for value in inputs.values()):
            return _read_inputs(model, body, model.methods[0])
        return Call(to_arrays(model.inputs, inputs), _columns_out)
    spec = only(model.inputs)
    return Call({spec.name: to_array(spec, inputs)}, _columns_out)


def _instances(model: LoadedModel, instances: Any) -> Arrays:
    if not isinstance(instances, list) or not instances:
        raise Refused("'instances' is not a list of rows")
    items: list[Any] = [_decode_bytes(item) for item in instances]
    if isinstance(items[0], dict):
        return to_arrays(model.inputs, _columns(items))
    spec = only(model.inputs)
    return {spec.name: to_array(spec, items)}


def _decode_bytes(value: Any) -> Any:
    """Return a value with {"b64": …} replaced by its bytes."""
    if isinstance(value, dict):
        values: dict[str, Any] = value
        if list(values) == ["b64"]:
            return base64.b64decode(str(values["b64"]))
        return {name: _decode_bytes(item) for name, item in values.items()}
    return value


def _predictions(results: Arrays) -> ScoreResponse:
    """Return one prediction for each row: the value itself where there is one output, an object otherwise."""
    if len(results) == 1:
        return json_response({"predictions": plain(next(iter(results.values())))})
    columns = {name: plain(array) for name, array in results.items()}
    count = rows(results)
    return json_response({"predictions": [{name: column[n] for name, column in columns.items()} for n in range(count)]})


def _columns_out(results: Arrays) -> ScoreResponse:
    if len(results) == 1:
        return json_response({"outputs": plain(next(iter(results.values())))})
    return json_response({"outputs": {name: plain(array) for name, array in results.items()}})


def _tf_metadata(model: LoadedModel) -> dict[str, Any]:
    def tensors(specs: Sequence[TensorSpec]) -> dict[str, Any]:
        return {
            spec.name: {
                "dtype": f"DT_{spec.dtype.upper()}",
                "tensor_shape": {"dim": [{"size": str(-1 if n is None else n)} for n in spec.shape or ()]},
            }
            for spec in specs
        }

    signature = {"inputs": tensors(model.inputs), "outputs": tensors(model.outputs)}
    definition = {"signature_def": {"serving_default": signature}}
    return {
        "model_spec": {"name": model.name, "signature_name": "", "version": str(model.version)},
        "metadata": {"signature_def": definition},
    }


# ── The Open Inference Protocol ───────────────────────────────────────────────────────────────────────────────────────

_V2_PATH = re.compile(
    r"v2/models/(?P<name>[^/]+)(?:/versions/(?P<version>[^/]+))?(?:/(?P<verb>ready|infer|config|stats))?"
)
_BINARY = "inference-header-content-length"


def read_v2(model: LoadedModel, request: ScoreRequest) -> Parsed:
    """Read a request of the Open Inference Protocol, version 2."""
    path = request.path.rstrip("/")
    if path == "v2":
        return json_response({"name": "footplate", "version": "2", "extensions": ["binary_tensor_data"]})
    if path in ("v2/health/live", "v2/health/ready"):
        return ScoreResponse(200, b"", "text/plain")
    parts = _V2_PATH.fullmatch(path)
    if parts is None:
        raise Refused(f"there is nothing at {request.path!r}", 404)
    if parts["name"] != model.name:
        raise Refused(f"there is no model {parts['name']!r} here, only {model.name!r}", 404)
    if parts["verb"] == "ready":
        return ScoreResponse(200, b"", "text/plain")
    if parts["verb"] == "infer":
        return _read_infer(model, request)
    return json_response(_v2_metadata(model))


def _v2_metadata(model: LoadedModel) -> dict[str, Any]:
    def tensors(specs: Sequence[TensorSpec]) -> list[dict[str, Any]]:
        return [
            {"name": s.name, "datatype": s.v2_type, "shape": [-1 if n is None else n for n in s.shape or ()]}
            for s in specs
        ]

    return {
        "name": model.name,
        "versions": [str(model.version)],
        "platform": model.framework.lower(),
        "inputs": tensors(model.inputs),
        "outputs": tensors(model.outputs),
    }


def _read_infer(model: LoadedModel, request: ScoreRequest) -> Call:
    header, binary = _split_binary(request)
    body = read_object(header)
    inputs: Any = body.get("inputs")
    if not isinstance(inputs, list):
        raise Refused("'inputs' is not a list of tensors")
    values: dict[str, Any] = {}
    for item in inputs:
        name, array, binary = _v2_tensor(item, binary)
        values[name] = array
    specs = {spec.name: spec for spec in model.inputs}
    if set(values) != set(specs):
        to_arrays(model.inputs, values)  # raises, and names the input that is missing or unknown
    arrays = {name: to_array(spec, values[name]) for name, spec in specs.items()}
    outputs: list[dict[str, Any]] = body.get("outputs") or []
    by_default = bool((body.get("parameters") or {}).get("binary_data_output"))
    return Call(arrays, _v2_renderer(model, body.get("id"), outputs, by_default))


def _split_binary(request: ScoreRequest) -> tuple[bytes, memoryview]:
    length = request.headers.get(_BINARY)
    if length is None:
        return request.body, memoryview(b"")
    try:
        end = int(length)
    except ValueError:
        raise Refused(f"{_BINARY} is {length!r}") from None
    return request.body[:end], memoryview(request.body)[end:]


def _v2_tensor(item: Any, binary: memoryview) -> tuple[str, Any, memoryview]:
    """Return the name and the array of one tensor, and the bytes that are left for the next."""
    try:
        name = str(item["name"])
        dtype = V2_TYPES[item["datatype"]]
        shape = [int(size) for size in item["shape"]]
    except (KeyError, TypeError, ValueError):
        raise Refused(f"{item!r:.100} is not a tensor of name, datatype and shape") from None
    size = (item.get("parameters") or {}).get("binary_data_size")
    try:
        if size is None:
            return name, np.asarray(item["data"], dtype=dtype).reshape(shape), binary
        raw = binary[: int(size)]
        flat = _texts(raw) if dtype == "object" else np.frombuffer(raw, dtype)
        return name, np.asarray(flat).reshape(shape), binary[int(size) :]
    except (KeyError, TypeError, ValueError, OverflowError, struct.error):
        raise Refused(f"the data of input {name!r} is not {shape} of {item['datatype']}") from None


def _texts(raw: memoryview) -> Any:
    """Return texts, each behind its length in four bytes."""
    texts: list[bytes] = []
    while raw:
        (length,) = struct.unpack_from("<I", raw)
        texts.append(bytes(raw[4 : 4 + length]))
        raw = raw[4 + length :]
    return np.array(texts, dtype=object)


def _v2_renderer(
    model: LoadedModel, request_id: Any, wanted: list[dict[str, Any]], by_default: bool
) -> Callable[[Arrays], ScoreResponse]:
    choices = {str(item.get("name")): dict(item.get("parameters") or {}) for item in wanted}

    def render(results: Arrays) -> ScoreResponse:
        outputs: list[dict[str, Any]] = []
        parts: list[bytes] = []
        for name, array in results.items():
            if choices and name not in choices:
                continue
            spec = TensorSpec(name, "object" if array.dtype.kind in "OSU" else array.dtype.name)
            output: dict[str, Any] = {"name": name, "datatype": spec.v2_type, "shape": list(array.shape)}
            if choices.get(name, {}).get("binary_data", by_default):
                parts.append(_raw(array))
                output["parameters"] = {"binary_data_size": len(parts[-1])}
            else:
                output["data"] = plain(array.reshape(-1))
            outputs.append(output)
        answer: dict[str, Any] = {"model_name": model.name, "model_version": str(model.version), "outputs": outputs}
        if request_id is not None:
            answer["id"] = request_id
        return _v2_response(answer, parts)

    return render


def _v2_response(answer: dict[str, Any], parts: list[bytes]) -> ScoreResponse:
    head = json.dumps(answer, separators=(",", ":")).encode()
    if not parts:
        return ScoreResponse(200, head, JSON)
    headers = {"Inference-Header-Content-Length": str(len(head))}
    return ScoreResponse(200, b"".join([head, *parts]), "application/octet-stream", headers)


def _raw(array: Any) -> bytes:
    if array.dtype.kind not in "OSU":
        return np.ascontiguousarray(array).tobytes()
    texts = [text if isinstance(text, bytes) else str(text).encode() for text in array.reshape(-1).tolist()]
    return b"".join(struct.pack("<I", len(text)) + text for text in texts)


READERS: dict[str, Callable[[LoadedModel, ScoreRequest], Parsed]] = {
    "score": read_score,
    "v1": read_tfserving,
    "v2": read_v2,
}
