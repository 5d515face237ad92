"""Every error that Footplate raises on purpose.

    FootplateError              code            HTTP
    ├── InvalidInput            invalid         400   what was asked for cannot be
    ├── NotAllowed              not_allowed     403   missing or wrong token, or out of its scope
    ├── NotFound                not_found       404   no such thing
    ├── Conflict                conflict        409   it exists, or it is in a state that forbids this
    │   └── InvalidTransition   bad_transition  409   an event that the run's state does not admit
    ├── Broken                  broken          500   stored content is not what it was, or a tool we call failed
    ├── Unavailable             unavailable     503   cannot be known or done now; the same call may work later
    └── OutOfSpace              out_of_space    507   the disk is full; nothing was changed

An error says what failed and names the value; `hint` says what to do next. The same object crosses the HTTP API as
`{"error": {"code", "message", "hint", "details"}}` and is raised again on the other side by `from_wire`.
"""

from __future__ import annotations

from typing import Any, Dict, Iterator, Optional, Type


class FootplateError(Exception):
    """Base of all. `str(error)` is the message followed by its hint, ready to be shown."""

    code = "error"
    status = 500

    def __init__(self, message: str, hint: Optional[str] = None, **details: Any) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint
        self.details: Dict[str, Any] = details

    def __str__(self) -> str:
        return f"{self.message}\nhint: {self.hint}" if self.hint else self.message

    def to_wire(self) -> Dict[str, Any]:
        return {"code": self.code, "message": self.message, "hint": self.hint, "details": self.details}


class InvalidInput(FootplateError):
    code, status = "invalid", 400


class NotAllowed(FootplateError):
    code, status = "not_allowed", 403


class NotFound(FootplateError):
    code, status = "not_found", 404


class Conflict(FootplateError):
    code, status = "conflict", 409


class InvalidTransition(Conflict):
    code, status = "bad_transition", 409


class Broken(FootplateError):
    code, status = "broken", 500


class Unavailable(FootplateError):
    code, status = "unavailable", 503


class OutOfSpace(FootplateError):
    code, status = "out_of_space", 507


def _tree(root: Type[FootplateError]) -> Iterator[Type[FootplateError]]:
    yield root
    for child in root.__subclasses__():
        yield from _tree(child)


def from_wire(error: Dict[str, Any]) -> FootplateError:
    """The error that `to_wire` described; a code that this version does not know becomes a plain FootplateError.

    A class elsewhere that narrows one of these without a code of its own travels as that one.
    """
    kinds = {kind.code: kind for kind in _tree(FootplateError) if "code" in vars(kind)}
    kind = kinds.get(str(error.get("code")), FootplateError)
    details: Dict[str, Any] = error.get("details") or {}
    rest = {str(k): v for k, v in details.items() if k not in ("message", "hint")}
    return kind(str(error.get("message", "unknown error")), error.get("hint"), **rest)
