"""Data round-trips through YAML, unchanged for other readers too; problems are reported with their position."""

from __future__ import annotations

import json
import math
from typing import Any

import pytest
import yaml as reference
from hypothesis import example, given, settings
from hypothesis import strategies as st

from footplate.sdk.exceptions import UserErrorException
from footplate.sdk.values import yaml
from footplate.sdk.values.yaml import YamlError

TRICKY = st.sampled_from(
    ["", "yes", "no", "On", "null", "~", "1", "0", "-1", "010", "0x1F", "1_000", "1.5", "1e5", "1.0e+5", ".5", ".inf",
     "=", "<<", "12:30", "2020-01-01", "python=3.8", "numpy>=1.0,<2", "a: b", "a:", "a #b", "#a", "- a", "-", "--pre",
     "? a", "[a", "{a}", "a]", "&a", "*a", "!a", "|", ">", "%a", "@a", "`a", "'a", '"a', " a", "a ", "a\tb",
     "a\nb", "a\n", "\na", "a\n\nb\n", "a\n b\n", "a\n\n", "---", "...", "x: |", "é", "\u2028", "\x85", "\x7f",
     "\ufeff", "\U0001f600", "\\", "None"]
)  # fmt: skip
TEXTS = TRICKY | st.text(max_size=12)
SCALARS = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | TEXTS
DATA = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXTS, inner, max_size=4), max_leaves=12
)


@settings(max_examples=150, deadline=None)
@given(DATA)
@example({"a": [[], {}, [[1], {"b": None}], None], "b": {"c": {"d": "x\ny\n"}}})
@example([[[1, 2], [3]], {"a": [{"b": 1, "c": [2]}]}])
def test_written_data_reads_back_the_same_here_and_elsewhere(data: Any):
    text = yaml.dumps(data)
    assert yaml.loads(text) == data
    assert reference.safe_load(text) == data


@settings(max_examples=100, deadline=None)
@given(DATA, st.sampled_from([None, False, True]), st.sampled_from([2, 4]), st.sampled_from([None, "|", ">", "'", '"']))
def test_files_of_other_writers_read_back_the_same(data: Any, flow: Any, indent: int, style: Any):
    text = reference.dump(data, default_flow_style=flow, indent=indent, default_style=style, allow_unicode=True)
    try:
        expected = reference.safe_load(text)
    except reference.YAMLError:
        return  # PyYAML cannot read every text that it writes
    assert yaml.loads(text) == expected


PIECES = st.sampled_from(
    ["a", "b", "1", "1.5", "yes", "~", "-", "- ", "- - ", ": ", ":", "a: ", "'", '"', "'q'", '"q"', "[", "]", "{", "}",
     ", ", ",", "#", " # c", "|", "|-", "|+", ">",
     "&x ", "*x", "!t ", "? ", "\n", "\n", "\n  ", "\n    ", "\n ", "  ", " ",
     "\t", "\\", "\\n", "---", "...", "%", "@", "=", "<<", "<<: ", "é", "12:30", "0x1", "\r\n", "a: |\n  ", "a:\n- "]
)  # fmt: skip


@settings(max_examples=600, deadline=None)
@given(st.lists(PIECES, max_size=14).map("".join))
def test_any_text_becomes_json_data_or_an_error_with_a_position(text: str):
    try:
        json.dumps(yaml.loads(text))
    except YamlError as refused:
        assert refused.hint and refused.line > 0 and refused.column > 0
        assert f"line {refused.line}, column {refused.column} of " in refused.message


REAL = """\
# a run configuration as Azure writes it
script: train.py
arguments: []
target: local
communicator: None
maxRunDurationSeconds:
environment:
  # Environment variables set for the run.
  environmentVariables:
    EXAMPLE_ENV_VAR: EXAMPLE_VALUE
  python:
    userManagedDependencies: false
    condaDependenciesFile: .azureml/conda_dependencies.yml
  docker:
    shmSize: 1g
    arguments: ["-v", '/a:/b']   # two of them
    baseDockerfile: |
      FROM python:3.11
      # no comment of ours
      RUN  echo "a"

    baseImage:
  spark:
    packages:
    - group: com.microsoft.ml.spark
      version: '0.12'
    precachePackages: true
history:
    directoriesToWatch:
        - logs
mpi: {processCountPerNode: 2}
"""


def test_run_configuration_as_azure_writes_it():
    data = yaml.loads(REAL)
    assert data == reference.safe_load(REAL)
    assert data["communicator"] == "None" and data["maxRunDurationSeconds"] is None
    assert data["environment"]["docker"]["baseDockerfile"] == (
        'FROM python:3.11\n# no comment of ours\nRUN  echo "a"\n'
    )


def test_anchors_merges_and_folded_texts_are_read():
    text = "base: &base {a: 1, b: 2}\nmerged:\n  <<: *base\n  b: 3\nfolded: >-\n  one\n  two\nlist: [a,\n  b]\n"
    assert yaml.loads(text) == {
        "base": {"a": 1, "b": 2},
        "merged": {"a": 1, "b": 3},
        "folded": "one two",
        "list": ["a", "b"],
    }


@pytest.mark.parametrize(
    "text, value",
    [("yes", True), ("Off", False), ("010", 8), ("0x1F", 31), ("1_000", 1000), ("1e5", "1e5"), ("~", None),
     ("12:30", "12:30"), ("190:20:30.15", "190:20:30.15"), ("2020-01-01", "2020-01-01"), ("=", "=")],
)  # fmt: skip
def test_plain_texts_follow_yaml_1_1_without_dates_and_sexagesimals(text: str, value: Any):
    assert yaml.loads(f"a: {text}") == {"a": value}
    assert yaml.loads(yaml.dumps({"a": text})) == {"a": text}


@pytest.mark.parametrize(
    "text, line, column, words",
    [
        ("a: *x", 1, 4, "undefined alias"),
        ("a: !t b", 1, 4, "tag"),
        ("a: !!python/object/apply:os.system [true]", 1, 4, "tag"),
        ("a: !!set {b}", 1, 4, "tag"),
        ("a:\n\tb: 1", 2, 1, "spaces"),
        ("a: 1\na: 2", 2, 1, "occurs twice"),
        ("a: {b: 1, b: 2}", 1, 11, "occurs twice"),
        ("a: 'b", 1, 6, "end of stream"),
        ("yes: 1", 1, 1, "'yes'"),
        ("a: &x [*x]", 1, 4, "recursive"),
        ("a: 1\n---\nb: 2", 2, 1, "document"),
        ("a: b: c", 1, 5, "quotes"),
        ("- a\nb: c", 2, 1, "block end"),
        ("a: 1\nb", 2, 2, "':'"),
        ('a: "\\q"', 1, 6, "escape"),
        ("a: 1\nb: \x07", 2, 4, r"\\x07"),
        ("a: " + "9" * 5000, 1, 4, "not a number"),
    ],
)
def test_errors_name_the_file_the_line_and_the_column(text: str, line: int, column: int, words: str):
    with pytest.raises(YamlError, match=words) as caught:
        yaml.loads(text, "env.yml")
    assert (caught.value.line, caught.value.column) == (line, column)
    assert f"line {line}, column {column} of env.yml: " in str(caught.value) and "hint: " in str(caught.value)
    assert isinstance(caught.value, UserErrorException)


def test_written_files_are_easy_to_read():
    data = {"b": ["x", {"pip": ["y>=1"]}], "a": [], "none": None, "text": "one\ntwo\n", "small": 1e-05, "yes": "no"}
    assert yaml.dumps(data) == (
        "b:\n- x\n- pip:\n  - y>=1\na: []\nnone:\ntext: |\n  one\n  two\nsmall: 1.0e-05\n'yes': 'no'\n"
    )


@pytest.mark.parametrize("text", ["[" * 2_000, "- " * 2_000 + "a", "{a: " * 2_000])
def test_endless_nesting_is_refused(text: str):
    with pytest.raises(YamlError, match=r"(line 1 of|nested too deeply)"):
        yaml.loads(text)


def test_infinities_and_nan_round_trip():
    assert yaml.loads(yaml.dumps([math.inf, -math.inf])) == [math.inf, -math.inf]
    assert math.isnan(yaml.loads(yaml.dumps({"a": math.nan}))["a"])


def test_values_that_yaml_cannot_hold_are_refused_by_name():
    with pytest.raises(YamlError, match="<object"):
        yaml.dumps({"a": [object()]})
    with pytest.raises(YamlError, match="key 1 "):
        yaml.dumps({1: "a"})


def test_byte_order_marks_and_windows_line_ends_are_read(tmp_path: Any):
    (tmp_path / "a.yml").write_bytes(b"\xef\xbb\xbfa: 1\r\nb: |\r\n  x\r\n")
    assert yaml.load_file(str(tmp_path / "a.yml")) == {"a": 1, "b": "x\n"}
    (tmp_path / "b.yml").write_bytes(b"a: \xff")
    with pytest.raises(YamlError, match=r"b\.yml is not UTF-8"):
        yaml.load_file(str(tmp_path / "b.yml"))
    with pytest.raises(UserErrorException, match="nowhere"):
        yaml.load_file(str(tmp_path / "nowhere.yml"))
