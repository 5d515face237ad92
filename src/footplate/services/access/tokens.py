"""Tokens of runs. A token names its run and attempt, and a signature with the key of the home proves it.

Nothing is stored: a token is valid as long as its run is. After the end it works for the short while in which agents
repeat unanswered reports, or longer if a node was lost and may still deliver what it has.
"""

from __future__ import annotations

import hmac
import time
from dataclasses import dataclass

from footplate.domain.records import NodeState, RunRecord, Stage
from footplate.errors import NotFound
from footplate.services.access.recent import Recent
from footplate.storage import Storage

REPEAT_SECONDS = 60.0
"""How long the token of a run works whose nodes have delivered everything."""

DELIVERY_SECONDS = 3600.0
"""How long the token of a run works that ended without a report of each node."""

_LONGEST_ABSENCE = 24 * 3600.0
"""If the server was away for no longer than that, the time for late deliveries begins when it is back."""


@dataclass(frozen=True)
class TokenHolder:
    """The run that a token belongs to."""

    run: str
    workspace: str


class TokenService:
    def __init__(self, store: Storage) -> None:
        self._store = store
        self._started = time.time()
        self._recent: Recent[str, TokenHolder] = Recent()

    def token_of(self, run: str, attempt: int) -> str:
        """Return the token of an attempt of a run: the same on each call."""
        return f"{run}.{attempt}.{self._store.secrets.derive(f'token:{run}:{attempt}')}"

    def token_of_signer(self, signer: str) -> str | None:
        """Return the token that a signed link names as `run.attempt`; None if it names none."""
        run, _, attempt = signer.rpartition(".")
        return self.token_of(run, int(attempt)) if run and _is_attempt(attempt) else None

    def recall(self, token: str) -> TokenHolder | None:
        """Return the holder of a token that was verified a moment ago, without any work."""
        return self._recent.get(token)

    def holder_of(self, token: str) -> TokenHolder | None:
        """Return the run that a token belongs to; None if it is not valid, or not any more."""
        holder = self._verify(token)
        if holder is not None:
            self.remember(token, holder)
        return holder

    def remember(self, token: str, holder: TokenHolder) -> None:
        """Take notice of a token that is valid now: it was verified, or an agent that starts now gets it."""
        self._recent.put(token, holder, self._recent.mark)

    def _verify(self, token: str) -> TokenHolder | None:
        run, attempt = [*token.rsplit(".", 2), "", ""][:2]
        if not (token.isascii() and _is_attempt(attempt)):
            return None
        if not hmac.compare_digest(token.encode(), self.token_of(run, int(attempt)).encode()):
            return None
        try:
            record = self._store.runs.record(run)
        except NotFound:
            return None
        return TokenHolder(run, record.workspace) if is_valid(record, time.time(), self._started) else None


def _is_attempt(text: str) -> bool:
    return text.isascii() and text.isdigit() and len(text) < 10


def is_valid(record: RunRecord, now: float, started: float = 0.0) -> bool:
    """Whether the tokens of this run work. A node could not deliver before this server `started`."""
    if record.stage is not Stage.ENDED:
        return True
    ended = record.ended or 0.0
    if all(node.state is NodeState.DONE for node in record.nodes):
        return now < ended + REPEAT_SECONDS
    since = started if ended < started < ended + _LONGEST_ABSENCE else ended
    return now < since + DELIVERY_SECONDS
