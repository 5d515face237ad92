"""The errors that Footplate raises on purpose.

    FootplateError              code            HTTP
    ├── InvalidInput            invalid         400   the request cannot be fulfilled as it stands
    ├── NotAllowed              not_allowed     403   the token is missing, wrong, or lacks the right
    │   └── TooManyRequests     too_many        429   too many attempts have failed: wait
    ├── NotFound                not_found       404   the object does not exist
    ├── Conflict                conflict        409   the object exists, or its state forbids the request
    │   └── InvalidTransition   bad_transition  409   the run's state does not admit the event
    ├── Broken                  broken          500   stored content is damaged, or an external tool failed
    ├── Unavailable             unavailable     503   temporary: the same call may work later
    └── OutOfSpace              out_of_space    507   the disk is full; nothing was changed

The message states what failed and names the value; `hint` states what to do next. An error crosses the HTTP API as
`{"error": {"code", "message", "hint", "details"}}`, and `from_wire` raises it again on the other side.
"""

from __future__ import annotations

TYPE_CHECKING = False  # typing is not imported: a script that only logs does without it
if TYPE_CHECKING:
    from typing import Any, Dict, Iterator, Optional, Type


class FootplateError(Exception):
    """The base class. `str(error)` is the message followed by the hint."""

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


class TooManyRequests(NotAllowed):
    code, status = "too_many", 429


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
    """Return the error that `to_wire` described; an unknown code becomes a plain FootplateError.

    A subclass defined elsewhere without a code of its own arrives as its base class.
    """
    kinds = {kind.code: kind for kind in _tree(FootplateError) if "code" in vars(kind)}
    kind = kinds.get(str(error.get("code")), FootplateError)
    details: Dict[str, Any] = error.get("details") or {}
    rest = {str(k): v for k, v in details.items() if k not in ("message", "hint")}
    return kind(str(error.get("message", "unknown error")), error.get("hint"), **rest)
