"""The YAML of run configurations and conda files: YAML 1.1, reduced to the data that JSON has.

The only module of the SDK that imports PyYAML. It differs from `yaml.safe_load` where that surprises people: a key that
occurs twice is an error, keys are texts, dates and `12:30` stay texts, and no value contains itself.
"""

from __future__ import annotations

from typing import Any, ClassVar, Dict, List, Mapping, Sequence, cast

import yaml
from yaml.constructor import ConstructorError
from yaml.reader import ReaderError

from footplate.sdk.values.yaml import YamlError

_TAG = "tag:yaml.org,2002:"
_NUMBERS = (f"{_TAG}int", f"{_TAG}float")
_CONSTRUCTED = (None, f"{_TAG}null", f"{_TAG}bool", f"{_TAG}str")
_HINTS = {
    r"'\t'": "indent with spaces",
    "mapping values": "put a text that contains ': ' in quotes",
    "unknown escape": "write \\\\ for a backslash, or use single quotes",
    "the tag": "leave the tag out; a text that begins with ! needs quotes",
    "alias": "define the anchor before it is used; a text that begins with * needs quotes",
    "another document": "keep one document in a file",
    "twice": "remove one of the two",
    "recursive": "write the value out instead of referring to it",
}
_WRITABLE = "use texts, numbers, booleans, None, and lists and mappings of them"


def load(text: str, name: str) -> Any:
    try:
        return yaml.load(text, _Loader)
    except yaml.MarkedYAMLError as error:
        problem = error.problem or str(error)
        hint = next((hint for part, hint in _HINTS.items() if part in problem), "put the text in quotes")
        mark = error.problem_mark or error.context_mark
        raise _error_at(name, mark.line + 1 if mark else 0, mark.column + 1 if mark else 0, problem, hint) from None
    except ReaderError as error:
        before = text[: error.position]
        problem = f"the character {text[error.position]!r} is not allowed"
        position = before.count("\n") + 1, len(before) - before.rfind("\n")
        raise _error_at(name, *position, problem, 'write it as "\\x…" in double quotes') from None


def _error_at(name: str, line: int, column: int, problem: str, hint: str) -> YamlError:
    return YamlError(f"line {line}, column {column} of {name}: {problem}", line, column, hint)


def dump(data: Any) -> str:
    if data is None:
        return "null\n"
    style: Dict[str, Any] = {"sort_keys": False, "default_flow_style": False, "allow_unicode": True, "width": 10_000}
    return cast("Any", yaml).dump(_plain(data), Dumper=_Dumper, **style)


class _Loader(yaml.SafeLoader):
    def resolve(self, kind: Any, value: Any, implicit: Any) -> str:
        tag = str(cast("Any", super()).resolve(kind, value, implicit))
        sexagesimal = tag in _NUMBERS and ":" in value
        return f"{_TAG}str" if sexagesimal or tag in (f"{_TAG}timestamp", f"{_TAG}value") else tag

    def number(self, node: yaml.ScalarNode) -> Any:
        """Construct an int or a float; Python refuses integers of several thousand digits."""
        read = self.construct_yaml_int if node.tag == f"{_TAG}int" else self.construct_yaml_float
        try:
            return read(node)
        except ValueError as error:
            raise ConstructorError(
                None, None, f"{node.value[:40]!r} is not a number: {error}", node.start_mark
            ) from None

    def mapping(self, node: yaml.MappingNode) -> Dict[Any, Any]:
        """Construct a mapping whose keys are texts, each of them once. (Keys that `<<` merges in may be overridden.)"""
        seen: List[str] = []
        for key, _ in node.value:
            if key.tag not in (f"{_TAG}str", f"{_TAG}merge"):
                problem = f"the key {getattr(key, 'value', key)!r} is not a text"
                raise ConstructorError(None, None, problem, key.start_mark)
            if key.value in seen:
                raise ConstructorError(None, None, f"the key {key.value!r} occurs twice", key.start_mark)
            seen.append(key.value)
        return self.construct_mapping(node, deep=True)

    def sequence(self, node: yaml.SequenceNode) -> List[Any]:
        return self.construct_sequence(node, deep=True)

    # Tags beyond those of JSON (!!set, !!binary, !!python/…) have no constructor here and are refused.
    yaml_constructors: ClassVar[Any] = {
        **{tag: yaml.SafeLoader.yaml_constructors[tag] for tag in _CONSTRUCTED},
        **dict.fromkeys(_NUMBERS, number),
        f"{_TAG}map": mapping,
        f"{_TAG}seq": sequence,
    }


class _Dumper(yaml.SafeDumper):
    def ignore_aliases(self, data: Any) -> bool:
        return True

    def text(self, data: str) -> yaml.ScalarNode:
        # PyYAML would write these line breaks of Unicode without escaping them, and read them as spaces.
        escaped = any(character in data for character in "\x85\u2028\u2029")
        style = '"' if escaped else "|" if "\n" in data else None
        return cast("Any", self).represent_scalar(f"{_TAG}str", data, style=style)

    def null(self, _: None) -> yaml.ScalarNode:
        return cast("Any", self).represent_scalar(f"{_TAG}null", "")

    yaml_representers: ClassVar[Any] = {**yaml.SafeDumper.yaml_representers, str: text, type(None): null}


def _plain(data: Any) -> Any:
    """Return `data` as exactly the types that JSON has."""
    if isinstance(data, Mapping):
        return {_key(key): _plain(value) for key, value in cast("Mapping[Any, Any]", data).items()}
    if isinstance(data, (list, tuple)):
        return [_plain(value) for value in cast("Sequence[Any]", data)]
    if data is None or isinstance(data, bool):
        return data
    for kind in (str, int, float):
        if isinstance(data, kind):
            return kind(data)
    raise YamlError(f"{data!r} cannot be written as YAML", hint=_WRITABLE)


def _key(key: Any) -> str:
    if not isinstance(key, str):
        raise YamlError(f"the key {key!r} is not a text", hint="use str(key)")
    return str(key)
