"""Our part of YAML against PyYAML: what we write it reads as the same, and what we accept we read as it does."""

from __future__ import annotations

import math
from typing import Any

import pytest
import yaml as reference
from hypothesis import example, given, settings
from hypothesis import strategies as st

from footplate.sdk.config import yaml
from footplate.sdk.config.yaml import YamlError
from footplate.sdk.exceptions import UserErrorException

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
def test_what_is_written_is_read_as_the_same_here_and_elsewhere(data: Any):
    text = yaml.dumps(data)
    assert yaml.loads(text) == data
    assert reference.safe_load(text) == data


@settings(max_examples=100, deadline=None)
@given(DATA, st.sampled_from([None, False, True]), st.sampled_from([2, 4]), st.sampled_from([None, "|", "'", '"']))
def test_what_others_write_is_read_or_refused_and_never_misread(data: Any, flow: Any, indent: int, style: Any):
    text = reference.dump(
        data, default_flow_style=flow, indent=indent, default_style=style, width=10_000, allow_unicode=True
    )
    compare(text)


PIECES = st.sampled_from(
    ["a", "b", "1", "1.5", "yes", "~", "-", "- ", "- - ", ": ", ":", "a: ", "'", '"', "'q'", '"q"', "[", "]", "{", "}",
     ", ", ",", "#", " # c", "|", "|-", "|+", ">",
     "&x ", "*x", "!t ", "? ", "\n", "\n", "\n  ", "\n    ", "\n ", "  ", " ",
     "\t", "\\", "\\n", "---", "...", "%", "@", "=", "<<", "é", "12:30", "0x1", "\r\n", "a: |\n  ", "- |\n  ", "a:\n- "]
)  # fmt: skip


@settings(max_examples=600, deadline=None)
@given(st.lists(PIECES, max_size=14).map("".join))
@example("a: |\n\n   x\n  y\n")
@example("a: |+\n  x\n\n\nb: 1")
@example("a: |\n  x")
@example("a:\n- b\n-\n  - c\nd: e")
@example("- a: 1\n  b:\n  - 2\n-  c: 3\n   d: 4\n")
@example("'a' : b")
@example("a : b # c")
@example('{"a":b}')
@example("[a, b: c]")
@example("- - a\n  - b\n- c")
def test_any_text_that_is_accepted_means_what_it_means_elsewhere(text: str):
    compare(text)


def compare(text: str) -> None:
    try:
        ours = yaml.loads(text)
    except YamlError as refused:
        assert refused.hint and refused.line > 0 and f"line {refused.line} of " in refused.message
        return
    theirs = reference.safe_load(text)
    assert (ours == theirs and type(ours) is type(theirs)) or (ours != ours and theirs != theirs), text


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


def test_a_real_file():
    data = yaml.loads(REAL)
    assert data == reference.safe_load(REAL)
    assert data["communicator"] == "None" and data["maxRunDurationSeconds"] is None
    assert data["environment"]["docker"]["baseDockerfile"] == (
        'FROM python:3.11\n# no comment of ours\nRUN  echo "a"\n'
    )


@pytest.mark.parametrize(
    "text, line, words",
    [
        ("a: 1\nb: &x 2", 2, "anchors"),
        ("a: *x", 1, "aliases"),
        ("a: !t b", 1, "tag"),
        ("a: >\n  b", 1, "use |"),
        ("a:\n\tb: 1", 2, "spaces"),
        ("a: 1\na: 2", 2, "second time"),
        ("a: b\n  c", 2, "one line"),
        ("a: [b,\n  c]", 1, "on one line"),
        ("a: 'b", 1, "not closed"),
        ("a: 010", 1, "'010'"),
        ("a: 12:30", 1, "quotes"),
        ("a: 2020-01-01", 1, "quotes"),
        ("yes: 1", 1, "'yes'"),
        ("a: 1\n---\nb: 2", 2, "document"),
        ("a: b: c", 1, "quotes"),
        ("- a\nb: c", 2, "indentation"),
        ("a: 1\n  b: 2", 2, "below a value"),
        ("a: 1\nb", 2, "no key"),
        ('a: "\\q"', 1, r"\\q"),
        ("a: \x07", 1, r"\\x07"),
        ("? a", 1, "key: value"),
    ],
)
def test_what_is_not_read_is_refused_by_line_with_a_hint(text: str, line: int, words: str):
    with pytest.raises(YamlError, match=words) as caught:
        yaml.loads(text, "env.yml")
    assert (
        caught.value.line == line and f"line {line} of env.yml" in str(caught.value) and "hint: " in str(caught.value)
    )
    assert isinstance(caught.value, UserErrorException)


def test_written_for_people():
    data = {"a": ["x", {"pip": ["y>=1"]}], "empty": [], "none": None, "text": "one\ntwo\n", "small": 1e-05, "yes": "no"}
    assert yaml.dumps(data) == (
        'a:\n- x\n- pip:\n  - y>=1\nempty: []\nnone:\ntext: |\n  one\n  two\nsmall: 1.0e-05\n"yes": "no"\n'
    )


@pytest.mark.parametrize("text", ["[" * 2_000, "- " * 2_000 + "a", "{a: " * 2_000])
def test_what_is_nested_without_end_is_refused(text: str):
    with pytest.raises(YamlError, match=r"(line 1 of|nested too deeply)"):
        yaml.loads(text)


def test_a_number_of_a_thousand_digits_is_refused():
    with pytest.raises(YamlError, match="not every reader"):
        yaml.loads("9" * 5000)


def test_odd_numbers():
    assert yaml.loads(yaml.dumps([math.inf, -math.inf])) == [math.inf, -math.inf]
    assert math.isnan(yaml.loads(yaml.dumps({"a": math.nan}))["a"])


def test_what_cannot_be_written_is_refused_by_name():
    with pytest.raises(YamlError, match="<object"):
        yaml.dumps({"a": [object()]})
    with pytest.raises(YamlError, match="key 1 "):
        yaml.dumps({1: "a"})


def test_files(tmp_path: Any):
    (tmp_path / "a.yml").write_bytes(b"\xef\xbb\xbfa: 1\r\nb: |\r\n  x\r\n")
    assert yaml.load_file(str(tmp_path / "a.yml")) == {"a": 1, "b": "x\n"}
    (tmp_path / "b.yml").write_bytes(b"a: \xff")
    with pytest.raises(YamlError, match=r"b\.yml is not UTF-8"):
        yaml.load_file(str(tmp_path / "b.yml"))
    with pytest.raises(UserErrorException, match="nowhere"):
        yaml.load_file(str(tmp_path / "nowhere.yml"))
