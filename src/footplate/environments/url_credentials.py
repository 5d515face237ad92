"""Addresses with a password or a token. Specs, locks, logs and views contain the bare address; the rest is kept apart.

    https://conda.anaconda.org/t/TOKEN/channel   a conda channel     → https://conda.anaconda.org/channel
    https://USER:PASSWORD@host/simple            any other address   → https://host/simple
    https://USER:PASSWORD@host                   an image registry, as the SDK sends it

The server extracts the logins from each request, stores them encrypted, and passes them to the node that builds, as
`Logins`: bare address → full address. `reveal` inserts them again only for uv, rattler and container engines.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, TypeVar, cast
from urllib.parse import unquote

from footplate.domain.orders import Lock
from footplate.domain.values import Value, field, replace

if TYPE_CHECKING:  # an agent starts sooner without them
    from footplate.domain.specs import EnvironmentSpec, RunSpec

T = TypeVar("T")
_ADDRESS = r"(?P<scheme>https?://)(?P<user>[^\s/@'\"]+@)?(?P<rest>(?:(?!::)[^\s#;'\"<>|\[\]@?])+)"
_TOKEN = r"(?P<host>[^/]+)/t/(?P<token>[^/]+)(?P<path>(?:/.*)?)"
_VARIABLES = r"(\$\{\w+\}:?)+@"  # variables of the machine that resolves, not secrets


class Logins(Value):
    by_address: Mapping[str, str] = field(default_factory=lambda: {}, repr=False)

    def reveal(self, text: str) -> str:
        """Return the text with full addresses instead of bare ones."""
        for bare in sorted(self.by_address, key=len, reverse=True):
            text = re.sub(re.escape(bare) + r"(?![\w.~%-])", lambda _found: self.by_address[bare], text)  # noqa: B023
        return text

    def conceal(self, text: str) -> str:
        """Return the text with bare addresses instead of full ones, and without any password or token."""
        text = self.with_bare_addresses(text)
        for secret in sorted(self._secrets(), key=len, reverse=True):
            text = text.replace(secret, "***")
        return text

    def with_bare_addresses(self, text: str) -> str:
        for bare, whole in self.by_address.items():
            text = text.replace(whole, bare)
        return text

    def listen(self, say: Callable[[str], None]) -> Callable[[str], None]:
        """Wrap a log function so that it conceals every line."""
        return (lambda line: say(self.conceal(line))) if self.by_address else say

    def of(self, lock: Lock) -> Logins:
        """Return only the logins that this lock needs."""
        return self.named_in(lock.content)

    def named_in(self, value: Any) -> Logins:
        """Return only the logins whose addresses appear in some text of this data."""
        texts = _texts(value) if self.by_address else []
        return Logins({bare: whole for bare, whole in self.by_address.items() if any(bare in text for text in texts)})

    def user_of(self, bare: str) -> tuple[str, str] | None:
        """Return the user name and password for this address, if there are any."""
        address = re.fullmatch(_ADDRESS, self.by_address.get(bare, ""))
        user, colon, password = ((address["user"] or "") if address else "").rstrip("@").partition(":")
        return (unquote(user), unquote(password)) if colon else None

    def _secrets(self) -> set[str]:
        secrets: set[str] = set()
        for whole in self.by_address.values():
            address = re.fullmatch(_ADDRESS, whole)
            token = re.fullmatch(_TOKEN, address["rest"]) if address else None
            user, _, password = (address["user"] or "").rstrip("@").partition(":") if address else ("", "", "")
            for secret in (password or user, token["token"] if token else ""):
                secrets.update({secret, unquote(secret)} if len(secret) > 3 else ())
        return secrets


NO_LOGINS = Logins()


def extract_logins(spec: EnvironmentSpec) -> tuple[EnvironmentSpec, Logins]:
    """Return the spec with bare addresses, and the logins that were in it."""
    by_address: dict[str, str] = {}
    conda: dict[str, Any] | None = spec.options.get("conda")
    lines = tuple(_bare(line, by_address, tokens=False) for line in spec.requirements)
    options = spec.options
    if conda is not None:
        changed = {
            name: [_bare(str(line), by_address, tokens=name != "pip") for line in conda[name]]
            for name in ("channels", "dependencies", "pip")
            if conda.get(name)
        }
        options = {**options, "conda": {**conda, **changed}}
    docker: dict[str, Any] = options.get("docker") or {}
    registry: dict[str, Any] = docker.get("registry") or {}
    if registry.get("address"):
        bare = {**registry, "address": _bare(str(registry["address"]), by_address, tokens=False)}
        options = {**options, "docker": {**docker, "registry": bare}}
    if not by_address:
        return spec, NO_LOGINS
    return replace(spec, requirements=lines, options=options), Logins(by_address)


def extract_run_logins(spec: RunSpec) -> tuple[RunSpec, Logins]:
    """Return a run's spec with bare addresses, in the client's own definition of the environment as well."""
    environment, of_environment = extract_logins(spec.environment)
    if of_environment.by_address:
        definition = change_texts(spec.definition, of_environment.with_bare_addresses)
        spec = replace(spec, environment=environment, definition=definition)
    if spec.controller is not None and spec.controller.children:
        extracted = {key: extract_run_logins(child) for key, child in spec.controller.children.items()}
        children = {key: child for key, (child, _) in extracted.items()}
        spec = replace(spec, controller=replace(spec.controller, children=children))
        logins = [of_environment, *(more for _, more in extracted.values())]
        of_environment = Logins({bare: full for more in logins for bare, full in more.by_address.items()})
    return spec, of_environment if of_environment.by_address else NO_LOGINS


def extract_definition_logins(definition: dict[str, Any]) -> tuple[dict[str, Any], Logins]:
    """Return an environment definition of the client's API with bare addresses, and the logins that were in it."""
    by_address: dict[str, str] = {}
    bare = change_texts(definition, lambda text: _bare(text, by_address, tokens=True))
    return (bare, Logins(by_address)) if by_address else (definition, NO_LOGINS)


def _bare(text: str, by_address: dict[str, str], tokens: bool) -> str:
    def part(address: re.Match[str]) -> str:
        user, rest = address["user"], address["rest"]
        if user is not None and re.fullmatch(_VARIABLES, user):
            return address[0]
        token = re.fullmatch(_TOKEN, rest) if tokens else None
        if user is None and token is None:
            return address[0]
        bare = f"{address['scheme']}{token['host'] + token['path'] if token else rest}"
        by_address[bare.rstrip("/")] = address[0].rstrip("/")
        return bare

    return re.sub(_ADDRESS, part, text)


def change_texts(value: T, change: Callable[[str], str]) -> T:
    """Return the same data with `change` applied to every text in it."""
    if isinstance(value, str):
        return cast("T", change(value))
    if isinstance(value, dict):
        items = cast("dict[Any, Any]", value).items()
        return cast("T", {key: change_texts(item, change) for key, item in items})
    if isinstance(value, list):
        return cast("T", [change_texts(item, change) for item in cast("list[Any]", value)])
    return value


def _texts(value: Any) -> list[str]:
    texts: list[str] = []
    change_texts(value, lambda text: texts.append(text) or text)
    return texts
