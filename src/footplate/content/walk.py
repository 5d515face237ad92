"""A walk over a source directory: the entries that a snapshot holds, and notices about those that it cannot hold."""

from __future__ import annotations

import operator
import os
import stat
from typing import Callable, Dict, List, Optional, Set, Tuple

from footplate.content.ignore import IgnoreRules
from footplate.content.manifest import outer_links
from footplate.content.stat_cache import Seen, Stamp, What
from footplate.errors import InvalidInput

MOST_COPIED = 64_000_000
"""The largest file outside of the directory that is copied in place of a link to it, in bytes."""

stamp_of: Callable[[os.stat_result], Stamp] = operator.attrgetter(
    "st_mode", "st_size", "st_mtime_ns", "st_ctime_ns", "st_ino"
)

_SPECIAL = {stat.S_IFSOCK: "a socket", stat.S_IFIFO: "a pipe", stat.S_IFCHR: "a device", stat.S_IFBLK: "a device"}
_LINK_HINT = "copy its target into the folder, pass it as a data input, or add the link to .amlignore"


class Walk:
    """A walk over everything below `top`. `let_in` are the paths that the same rules included last time.

    Virtual environments, the folder `home`, sockets and devices are left out whatever the rules say.
    """

    def __init__(self, top: str, rules: IgnoreRules, let_in: Seen, home: Optional[str] = None) -> None:
        self._top = top
        self._rules = rules
        self._let_in = let_in
        self._home = _identity(home)
        self._still_there: Seen = {}
        self._left_out: Set[str] = set()
        self._copied: List[str] = []
        self.seen: Seen = {}

    @property
    def notices(self) -> List[str]:
        """Sentences about entries that the snapshot leaves out or holds as copies, in a stable order."""
        left_out = [f"left out of the snapshot: {', '.join(sorted(self._left_out))}"] if self._left_out else []
        return [os.fsencode(text).decode("utf-8", "replace") for text in left_out + sorted(self._copied)]

    def enter(self, above: str) -> None:
        """List a directory and those below it, and add new entries."""
        todo = [above]
        while todo:
            above = todo.pop()
            names = set(_names(f"{self._top}/{above}", self._top))
            if above and _is_environment(f"{self._top}/{above}", names):
                self._left_out.add(f"{above[:-1]} (a Python environment)")
                continue
            before = self._let_in.get(above, {})
            still = before if before.keys() <= names else {name: before[name] for name in before if name in names}
            self._still_there[above] = still
            self.seen[above] = {}
            todo += [f"{above}{name}/" for name in names.difference(still) if self._take(above, name)]

    def look_again(self, unwatched: Optional[Dict[str, Set[str]]]) -> None:
        """Look at known entries again: at the `unwatched` names of each directory, or at all of them."""
        for above, still in list(self._still_there.items()):
            names = still if unwatched is None else unwatched.get(above, set()).intersection(still)
            entries = self.seen[above]
            if _are_as_before(f"{self._top}/{above}", list(names), still):
                self.seen[above] = {**still, **entries} if entries else still
                continue
            entries.update(still)
            for name in names:
                del entries[name]
                if self._take(above, name, was_let_in=True):
                    self.enter(f"{above}{name}/")

    def copy_outer_links(self) -> None:
        """Replace links that lead out of the directory by the files that they lead to."""
        for path, target in outer_links(links_of(self.seen)).items():
            above, name = _split(path)
            info = _stat(f"{self._top}/{path}")
            if info is None:
                self._leave_out(above, name, f"{path} (a link to {target}, which does not exist)")
            elif stat.S_IFMT(info.st_mode) in _SPECIAL:
                self._leave_out(above, name, f"{path} (a link to {_SPECIAL[stat.S_IFMT(info.st_mode)]})")
            else:
                _check_copied(path, target, info)
                self.seen[above][name] = stamp_of(info)
                self._copied.append(f"the link {path} leads out of the folder: the snapshot holds a copy of {target}")

    def _leave_out(self, above: str, name: str, notice: str) -> None:
        del self.seen[above][name]
        self._left_out.add(notice)

    def _take(self, above: str, name: str, was_let_in: bool = False) -> bool:
        """Record the entry with this name if the rules include it; return whether it is a directory to enter."""
        path = above + name
        place = f"{self._top}/{path}"
        try:
            info = os.lstat(place)
        except FileNotFoundError:  # removed during the scan
            return False
        if stat.S_ISDIR(info.st_mode):
            return self._is_wanted(path, info)
        if was_let_in or not self._excludes(path, False):
            kind = stat.S_IFMT(info.st_mode)
            if kind in _SPECIAL:
                self._left_out.add(f"{path} ({_SPECIAL[kind]})")
            else:
                self.seen[above][name] = os.readlink(place) if kind == stat.S_IFLNK else stamp_of(info)
        return False

    def _is_wanted(self, path: str, info: os.stat_result) -> bool:
        if (info.st_dev, info.st_ino) == self._home:
            self._left_out.add(f"{path} (Footplate's home)")
            return False
        return path + "/" in self._let_in or not self._excludes(path, True)

    def _excludes(self, path: str, is_dir: bool) -> bool:
        if not self._rules.excludes(path, is_dir):
            return False
        if self._rules.is_not_source(path, is_dir):
            self._left_out.add(path[path.rfind("/") + 1 :])
        return True


def links_of(seen: Seen) -> Dict[str, str]:
    """Return the targets of all links."""
    return {
        folder + name: what for folder, names in seen.items() for name, what in names.items() if isinstance(what, str)
    }


def _are_as_before(folder: str, names: List[str], before: Dict[str, What]) -> bool:
    """Whether all names stand for the same as before, without a Python step for each of them."""
    try:
        now = map(stamp_of, map(os.lstat, [folder + name for name in names]))
        return list(now) == [before[name] for name in names]
    except FileNotFoundError:
        return False


def _is_environment(folder: str, names: Set[str]) -> bool:
    """Whether the directory is a virtual environment or a conda prefix."""
    return "pyvenv.cfg" in names or ("conda-meta" in names and os.path.isfile(f"{folder}/conda-meta/history"))


def _check_copied(path: str, target: str, info: os.stat_result) -> None:
    link = f"the link {path!r} leads out of the folder, to {target!r}"
    if stat.S_ISDIR(info.st_mode):
        raise InvalidInput(f"{link}, which is a folder", _LINK_HINT)
    if info.st_size > MOST_COPIED:
        raise InvalidInput(
            f"{link}, a file of {info.st_size / 1e6:.0f} MB; files of up to {MOST_COPIED / 1e6:.0f} MB are copied",
            _LINK_HINT,
        )


def _split(path: str) -> Tuple[str, str]:
    at = path.rfind("/") + 1
    return path[:at], path[at:]


def _stat(place: str) -> Optional[os.stat_result]:
    try:
        return os.stat(place)
    except OSError:  # the link leads nowhere, in a circle, or to a place that is not ours to see
        return None


def _identity(folder: Optional[str]) -> Optional[Tuple[int, int]]:
    info = None if folder is None else _stat(folder)
    return None if info is None else (info.st_dev, info.st_ino)


def _names(folder: str, top: str) -> List[str]:
    try:
        return os.listdir(folder)
    except (FileNotFoundError, NotADirectoryError):
        if folder == f"{top}/":
            raise InvalidInput(f"the folder {top!r} does not exist", "check the path of the source folder") from None
        return []  # removed during the scan
    except PermissionError:
        raise InvalidInput(
            f"the folder {folder!r} cannot be read", "make it readable, or add it to .amlignore"
        ) from None
