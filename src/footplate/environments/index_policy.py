"""Addresses that an environment may name: a server fetches them on behalf of its users, and may restrict them.

Only addresses in the request count. Indexes and channels that the machine's own configuration names are the choice of
whoever runs the server, as are conda channels without an address.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator, Sequence
from urllib.parse import unquote, urlsplit

from footplate.domain.specs import EnvironmentSpec
from footplate.environments.requirements import conda_lines, names_local_files, pip_lines
from footplate.errors import NotAllowed

ANY = ("any",)
OWN = ("own",)
"""Only what the machine itself is configured with."""

_OPTION = re.compile(r"(?:-i|-f|--index-url|--extra-index-url|--find-links)[\s=]*(\S+)")
_VERSION_CONTROL = re.compile(r"^(?:git|hg|svn|bzr)\+")
_URL = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:/+[^\s;,'\"\]]+")


def check(spec: EnvironmentSpec, allowed: Sequence[str]) -> None:
    """Raise NotAllowed for an address that is not below one of `allowed`."""
    if tuple(allowed) == ANY:
        return
    for address in _addresses(spec):
        if not any(_is_below(address, each) for each in allowed):
            policy = "only its own indexes" if tuple(allowed) == OWN else f"only {', '.join(allowed)}"
            raise NotAllowed(
                f"the environment {spec.name!r} names {address}, and this server fetches {policy}",
                "use one of these, or ask whoever runs the server to add it to [environments] indexes of settings.ini",
            )


def _addresses(spec: EnvironmentSpec) -> Iterator[str]:
    for line in pip_lines(spec):
        named = _OPTION.match(line)
        addresses = [named[1]] if named else _URL.findall(line)
        yield from addresses
        if not addresses and names_local_files([line]):
            yield line
    for line in (*conda_lines(spec, "channels"), *conda_lines(spec, "dependencies")):
        yield from _URL.findall(line)


def _is_below(address: str, allowed: str) -> bool:
    url = urlsplit(_VERSION_CONTROL.sub("", address))
    base = urlsplit(allowed)
    if not base.scheme or (url.scheme, url.netloc.lower()) != (base.scheme, base.netloc.lower()):
        return False
    path, below = _path(url.path), _path(base.path)
    return path == below or path.startswith(below.rstrip("/") + "/")


def _path(path: str) -> str:
    return posixpath.normpath("/" + unquote(path).lstrip("/"))
