"""Scoring scripts of the user's own, by Azure's rules."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from footplate.serving.worker.entry_script import EntryScript, link_source
from footplate.serving.worker.messages import ScoreRequest, ScoreResponse


@pytest.fixture
def score(tmp_path: Path) -> Any:
    """Return a function that loads a script and answers one request with it."""

    def answer(text: str, body: bytes = b"{}", **request: Any) -> ScoreResponse:
        script = tmp_path / f"score_{abs(hash(text))}.py"
        script.write_text(text)
        (found,) = EntryScript(str(script)).answer([ScoreRequest(body, **request)])
        return found

    return answer


def test_run_gets_the_body_as_text_after_init(score: Any) -> None:
    found = score("def init():\n global n\n n = 2\ndef run(data):\n return [n, data]", b'{"x": 1}')
    assert (found.status, json.loads(found.body), found.content_type) == (200, [2, '{"x": 1}'], "application/json")


def test_source_files_are_found_below_the_name_of_their_directory(tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "labels.json").write_text("[1]")
    for _ in range(2):  # a worker that starts again finds the links
        link_source(str(tmp_path), "abc")
    assert (tmp_path / "abc" / "data" / "labels.json").read_text() == "[1]"
    assert not (tmp_path / "abc" / "abc").exists()
    link_source(str(tmp_path), "data")
    assert [path.name for path in (tmp_path / "data").iterdir()] == ["labels.json"]
    link_source(str(tmp_path), None)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["abc", "data"]


def test_json_text_that_run_returns_is_encoded_once_more(score: Any) -> None:
    found = score("import json\ndef run(data):\n return json.dumps({'a': 1})")
    assert json.loads(found.body) == '{"a": 1}'


def test_numpy_values_are_encoded(score: Any) -> None:
    found = score("import numpy\ndef run(data):\n return {'a': numpy.arange(3), 'b': numpy.float32(1.5)}")
    assert json.loads(found.body) == {"a": [0, 1, 2], "b": 1.5}


def test_an_exception_is_a_500_with_its_message(score: Any, capsys: pytest.CaptureFixture[str]) -> None:
    found = score("def run(data):\n raise ValueError('no such thing')")
    assert (found.status, json.loads(found.body)) == (500, {"message": "ValueError: no such thing"})
    assert "Traceback" in capsys.readouterr().err


def test_a_parameter_request_headers_gets_the_headers(score: Any) -> None:
    found = score("def run(data, request_headers):\n return request_headers['x-a']", headers={"x-a": "1"})
    assert json.loads(found.body) == "1"


def test_input_schema_gives_parsed_arguments(score: Any) -> None:
    text = (
        "import numpy\nfrom inference_schema.schema_decorators import input_schema\n"
        "from inference_schema.parameter_types.numpy_parameter_type import NumpyParameterType\n"
        "@input_schema('data', NumpyParameterType(numpy.array([[1.0, 2.0]])))\n"
        "def run(data):\n return [type(data).__name__, float(data.sum())]\n"
    )
    assert json.loads(score(text, b'{"data": [[3, 4]]}').body) == ["ndarray", 7.0]
    assert score(text, b"[1]").status == 400
    assert score(text, b"nonsense").status == 400


@pytest.mark.parametrize(
    "body",
    [b"{}", b'{"other": 1}', b'{"data": [[1, 2]], "more": 1}', b'{"data": [["a"]]}', b'{"data":' + b"[" * 100_000],
)
def test_arguments_that_do_not_fit_the_schema_are_the_clients_error(score: Any, body: bytes) -> None:
    text = (
        "import numpy\nfrom inference_schema.schema_decorators import input_schema\n"
        "from inference_schema.parameter_types.numpy_parameter_type import NumpyParameterType\n"
        "@input_schema('data', NumpyParameterType(numpy.array([[1.0, 2.0]])))\n"
        "def run(data):\n return 1 / int(data[0][0])\n"
    )
    assert score(text, body).status == 400
    assert score(text, b'{"data": [[0, 1]]}').status == 500  # the script's own failure


def test_failures_of_a_script_with_a_relative_path_are_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Workers start in the directory of the script."""
    monkeypatch.chdir(tmp_path)
    Path("relative_score.py").write_text(
        "from inference_schema.schema_decorators import input_schema\n"
        "from inference_schema.parameter_types.standard_py_parameter_type import StandardPythonParameterType\n"
        "@input_schema('word', StandardPythonParameterType('size'))\n"
        "def run(word):\n raise ValueError('asked to fail')\n"
    )
    script = EntryScript("relative_score.py")
    own, foreign = script.answer([ScoreRequest(b'{"word": "fail"}'), ScoreRequest(b'{"other": 1}')])
    assert (own.status, foreign.status) == (500, 400)


RAW = """
from footplate.serving.worker.raw_http import AMLResponse, rawhttp
@rawhttp
def run(request):
    if request.method == 'GET':
        return AMLResponse(dict(request.args), 200, json_str=True)
    if request.files:
        return AMLResponse(request.files['image'].read()[::-1], 201)
    answer = AMLResponse(request.get_data(), 202)
    answer.headers['X-Kind'] = request.headers['Content-Type']
    return answer
"""


def test_rawhttp_gets_the_request_and_sets_the_response(score: Any) -> None:
    found = score(RAW, b"\xff\x00", headers={"content-type": "image/png"})
    assert (found.status, found.body, found.headers) == (202, b"\xff\x00", {"X-Kind": "image/png"})
    assert json.loads(score(RAW, b"", method="GET", query="a=1&b=2").body) == {"a": "1", "b": "2"}


SET = """
import numpy
from footplate.serving.worker.raw_http import AMLResponse, rawhttp
@rawhttp
def run(request):
    answer = AMLResponse('x', 200)
    {change}
    return answer
"""


@pytest.mark.parametrize(
    "change, words",
    [
        ("answer.status_code = None", "status of the response is None"),
        ("answer.status_code = 99", "status of the response is 99"),
        ("answer.status_code = 600", "status of the response is 600"),
        ("answer.status_code = 101", "status of the response is 101"),
        ("answer.status_code = 200.5", "status of the response is 200.5"),
        ("answer.headers['x\\ny'] = 'z'", "'x\\ny' is not the name of a header"),
        ("answer.headers['x'] = 'y\\r\\nSet-Cookie: a=b'", "the header x has the value"),
        ("answer.headers['content-type'] = 'a\\r\\n\\r\\nb'", "the header content-type has the value"),
        ("answer.mimetype = 'a\\nb'", "the header Content-Type has the value"),
        ("answer.headers['x'] = '\\u20ac'", "not one line of Latin-1 text"),
    ],
)
def test_a_response_that_is_not_http_is_a_500_that_names_the_value(score: Any, change: str, words: str) -> None:
    found = score(SET.format(change=change))
    assert found.status == 500 and words in json.loads(found.body)["message"]


@pytest.mark.parametrize("status", ["201", "'201'", "'201 Created'", "numpy.int64(201)"])
def test_a_status_may_be_a_number_of_any_kind(score: Any, status: str) -> None:
    found = score(SET.format(change=f"answer.status_code = {status}; answer.headers['X-Count'] = 5"))
    assert (found.status, type(found.status), found.headers) == (201, int, {"X-Count": "5"})


def test_headers_of_the_connection_are_left_to_the_gateway(score: Any) -> None:
    change = "answer.headers.update({'Content-Length': '1000', 'transfer-encoding': 'chunked', 'Connection': 'close'})"
    found = score(SET.format(change=change))
    assert (found.status, found.headers) == (200, {})


def test_rawhttp_reads_files_of_a_form(score: Any) -> None:
    body = (
        b'--x\r\nContent-Disposition: form-data; name="image"; filename="a.bin"\r\n'
        b"Content-Type: application/octet-stream\r\n\r\nabc\r\n--x--\r\n"
    )
    found = score(RAW, body, headers={"content-type": "multipart/form-data; boundary=x"})
    assert (found.status, found.body) == (201, b"cba")


def test_a_body_that_is_not_text_is_refused_without_rawhttp(score: Any) -> None:
    found = score("def run(data):\n return 1", b"\xff")
    assert found.status == 400 and b"@rawhttp" in found.body


def test_a_script_without_run_is_refused(tmp_path: Path) -> None:
    (tmp_path / "empty_score.py").write_text("")
    with pytest.raises(AttributeError, match=r"no function run\(data\)"):
        EntryScript(str(tmp_path / "empty_score.py"))
