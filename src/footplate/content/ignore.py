r"""Ignore files with git's semantics, compiled to regular expressions over bytes.

Git matches bytes, not characters (`?` is half an "é"), and so does this module. The last rule that matches a path
decides; nothing below an excluded directory can be included again. `git check-ignore` is the reference, including its
corner cases: the part of a pattern before the first special character is compared literally and cut off, so
`foo**/bar` means `foo` and then `**/bar`.
"""

from __future__ import annotations

import os
import re
from typing import List, NamedTuple, Optional, Pattern, Tuple

AMLIGNORE = ".amlignore"
GITIGNORE = ".gitignore"

_SPECIAL = re.compile(rb"[*?\[\\]")
_CLASSES = {
    b"alnum": b"0-9A-Za-z",
    b"alpha": b"A-Za-z",
    b"blank": rb"\t ",
    b"cntrl": rb"\x00-\x1f\x7f",
    b"digit": b"0-9",
    b"graph": rb"\x21-\x7e",
    b"lower": b"a-z",
    b"print": rb"\x20-\x7e",
    b"punct": rb"\x21-\x2f\x3a-\x40\x5b-\x60\x7b-\x7e",
    b"space": rb"\t-\r ",
    b"upper": b"A-Z",
    b"xdigit": b"0-9A-Fa-f",
}


NOT_SOURCE = frozenset(
    [b".git", b"__pycache__", b"node_modules", b".ipynb_checkpoints", b".mypy_cache", b".pytest_cache", b".ruff_cache",
     b".hypothesis", b".tox", b".nox", b".eggs", b".hg", b".svn"]
)  # fmt: skip
"""Directories that are not source code. They are excluded unless `.amlignore` exists or a rule includes them."""


class _Rule(NamedTuple):
    regex: bytes
    negated: bool
    only_folders: bool
    by_name: bool  # matches only the last component; otherwise the whole path


class _Group(NamedTuple):
    """Neighbouring rules with the same effect, as one expression."""

    matches: Pattern[bytes]
    by_name: bool
    excludes: bool


class IgnoreRules:
    """The rules of an ignore file. Rules with the same effect have the same `key`.

    With `only_source`, `.git` is excluded, as git itself does, and other directories of `NOT_SOURCE` are excluded
    unless a rule includes them.
    """

    def __init__(self, text: bytes, only_source: bool) -> None:
        rules = [rule for rule in map(_parse, _lines(text)) if rule is not None]
        self.key = (text if rules else b"", only_source)
        self._only_source = only_source
        self._for_files = _group([rule for rule in rules if not rule.only_folders])
        self._for_folders = _group(rules)

    def ignores(self, path: str, is_dir: bool) -> bool:
        """Whether `path` (relative, with slashes) is excluded, directly or with a directory above it."""
        parts = path.split("/")
        folders = ("/".join(parts[: depth + 1]) for depth in range(len(parts) - 1))
        return any(self.excludes(folder, True) for folder in folders) or self.excludes(path, is_dir)

    def excludes(self, path: str, is_dir: bool) -> bool:
        """Whether a path is excluded whose directories are known to be included."""
        verdict = self._verdict(path, is_dir)
        return self.is_not_source(path, is_dir) if verdict is None else verdict

    def is_not_source(self, path: str, is_dir: bool) -> bool:
        """Whether a path is excluded although no rule mentions it."""
        name = os.fsencode(path[path.rfind("/") + 1 :])
        if not self._only_source or name not in NOT_SOURCE:
            return False
        return name == b".git" or (is_dir and self._verdict(path, is_dir) is None)

    def _verdict(self, path: str, is_dir: bool) -> Optional[bool]:
        """Return whether the last rule that matches excludes the path; None when no rule matches."""
        raw = os.fsencode(path)
        name = raw[raw.rfind(b"/") + 1 :]
        if self._only_source and name == b".git":
            return None
        for group in self._for_folders if is_dir else self._for_files:
            if group.matches.fullmatch(name if group.by_name else raw):
                return group.excludes
        return None


def rules_for(folder: str) -> IgnoreRules:
    """Read `.amlignore` at the top of the directory, which alone decides; else `.gitignore`, if there is one."""
    for name in (AMLIGNORE, GITIGNORE):
        try:
            with open(os.path.join(folder, name), "rb") as file:
                return IgnoreRules(file.read(), only_source=name == GITIGNORE)
        except (FileNotFoundError, IsADirectoryError, NotADirectoryError):
            continue
    return IgnoreRules(b"", only_source=True)


def _lines(text: bytes) -> List[bytes]:
    lines = (text[3:] if text.startswith(b"\xef\xbb\xbf") else text).split(b"\n")
    return [line[:-1] if line.endswith(b"\r") else line for line in lines]


def _parse(line: bytes) -> Optional[_Rule]:
    if not line or line.startswith(b"#"):
        return None
    pattern = _without_trailing_spaces(line.split(b"\0", 1)[0])
    negated = pattern.startswith(b"!")
    if negated:
        pattern = pattern[1:]
    only_folders = pattern.endswith(b"/")
    if only_folders:
        pattern = pattern[:-1]
    by_name = b"/" not in pattern
    regex = _glob(pattern) if by_name else _path_glob(pattern)
    return None if regex is None else _Rule(regex, negated, only_folders, by_name)


def _without_trailing_spaces(line: bytes) -> bytes:
    end = at = 0
    while at < len(line):
        step = 2 if line[at : at + 1] == b"\\" else 1
        if step == 2 or line[at : at + 1] != b" ":
            end = at + step
        at += step
    return line[:end]


def _group(rules: List[_Rule]) -> Tuple[_Group, ...]:
    """Join neighbouring rules of one kind, last rule first."""
    groups: List[Tuple[_Rule, List[bytes]]] = []
    for rule in reversed(rules):
        if groups and groups[-1][0][1::2] == rule[1::2]:
            groups[-1][1].append(rule.regex)
        else:
            groups.append((rule, [rule.regex]))
    return tuple(
        _Group(re.compile(b"|".join(b"(?:%s)" % r for r in regexes), re.DOTALL), first.by_name, not first.negated)
        for first, regexes in groups
    )


def _path_glob(pattern: bytes) -> Optional[bytes]:
    if pattern.startswith(b"/"):
        pattern = pattern[1:]
    special = _SPECIAL.search(pattern)
    cut = special.start() if special else len(pattern)
    rest = _glob(pattern[cut:], any_char=b"[^/]")
    return None if rest is None else re.escape(pattern[:cut]) + rest


def _glob(pattern: bytes, any_char: bytes = b".") -> Optional[bytes]:
    """Return the expression for a glob; None if nothing matches it. With `any_char` "[^/]" `**` crosses folders."""
    out: List[bytes] = []
    at = 0
    while at < len(pattern):
        char = pattern[at : at + 1]
        if char == b"*":
            at, piece = _stars(pattern, at, any_char)
        elif char == b"[":
            char_class = _char_class(pattern, at + 1, any_char)
            if char_class is None:
                return None
            at, piece = char_class
        elif char == b"?":
            at, piece = at + 1, any_char
        else:
            if char == b"\\":
                at += 1
                if at == len(pattern):
                    return None
            at, piece = at + 1, re.escape(pattern[at : at + 1])
        out.append(piece)
    return b"".join(out)


def _stars(pattern: bytes, at: int, any_char: bytes) -> Tuple[int, bytes]:
    end = at
    while pattern[end : end + 1] == b"*":
        end += 1
    opens = at == 0 or pattern[at - 1 : at] == b"/"
    if end - at == 1 or not opens or any_char == b".":
        return end, any_char + b"*"
    if pattern[end : end + 1] == b"/":
        return end + 1, b"(?:.*/)?"
    if end == len(pattern) or pattern[end : end + 2] == rb"\/":
        return end, b".*"
    return end, any_char + b"*"


def _char_class(pattern: bytes, at: int, any_char: bytes) -> Optional[Tuple[int, bytes]]:
    """Return the expression of the class whose `[` is before `at`, and its end; None when it is malformed."""
    negated = pattern[at : at + 1] in (b"!", b"^")
    if negated:
        at += 1
    members: List[bytes] = []
    previous: Optional[int] = None  # a byte that could start a range
    first = True
    while first or pattern[at : at + 1] != b"]":
        first = False
        item = _class_item(pattern, at, previous)
        if item is None:
            return None
        at, member, previous = item
        members.append(member)
    inside = b"".join(members)
    if negated:
        return at + 1, b"[^%s%s]" % (inside, b"/" if any_char != b"." else b"")
    chosen = b"[%s]" % inside if inside else b"(?!)"
    return at + 1, chosen if any_char == b"." else b"(?!/)" + chosen


def _class_item(pattern: bytes, at: int, previous: Optional[int]) -> Optional[Tuple[int, bytes, Optional[int]]]:
    """Return the end of one member of a class, its expression, and the byte that could start a range."""
    if at >= len(pattern):
        return None
    if pattern[at : at + 1] == b"-" and previous is not None and pattern[at + 1 : at + 2] not in (b"", b"]"):
        at += 2 if pattern[at + 1 : at + 2] == b"\\" else 1
        if at >= len(pattern):
            return None
        last = pattern[at]
        return at + 1, b"\\x%02x-\\x%02x" % (previous, last) if previous <= last else b"", None
    if pattern[at : at + 2] == b"[:":
        end = pattern.find(b"]", at + 2)
        if end < 0:
            return None
        if end > at + 2 and pattern[end - 1 : end] == b":":
            named = _CLASSES.get(pattern[at + 2 : end - 1])
            return None if named is None else (end + 1, named, None)
    elif pattern[at : at + 1] == b"\\":
        at += 1
        if at >= len(pattern):
            return None
    return at + 1, b"\\x%02x" % pattern[at], pattern[at]
