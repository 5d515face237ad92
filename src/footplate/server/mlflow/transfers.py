"""Signed links to parts of large files, which clients transfer in parallel and without their credentials.

A link is a payload and its signature. It expires after a day, so an interrupted transfer resumes with the parts that
are missing. The parts of an upload lie in a folder of the home until the upload is completed or aborted.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import json
import re
import secrets
import shutil
import time
from pathlib import Path
from typing import Any

from footplate.errors import NotAllowed
from footplate.server.mlflow.call import Json
from footplate.server.mlflow.errors import MlflowError, missing
from footplate.server.refusals import TRANSFERS
from footplate.storage.secrets import Seal

_LIFETIME = 24 * 3600.0
_MOST_PARTS = 10_000
_UPLOAD = re.compile(r"[0-9a-f]{32}")
_PIECE = 8 << 20


class Transfers:
    def __init__(self, home: Path) -> None:
        self._folder = home / "uploads"
        self._seal = Seal(home)
        self._key: bytes | None = None

    # ── Links ─────────────────────────────────────────────────────────────────────────────────────────────────────────

    def link(self, origin: str, **payload: Any) -> str:
        """Return an address that gives access to what the payload names."""
        text = json.dumps({**payload, "expires": time.time() + _LIFETIME}, separators=(",", ":"))
        encoded = base64.urlsafe_b64encode(text.encode("utf-8", "surrogatepass")).decode().rstrip("=")
        return f"{origin}{TRANSFERS}{encoded}.{self._sign(encoded)}"

    def read_link(self, path: str) -> Json:
        """Return the payload of a link; raise NotAllowed unless it was signed here and is still valid."""
        encoded, _, signature = path.removeprefix(TRANSFERS).partition(".")
        try:
            if hmac.compare_digest(signature.encode(), self._sign(encoded).encode()):
                payload: Json = json.loads(base64.urlsafe_b64decode(encoded + "=" * (-len(encoded) % 4)))
                if payload["expires"] >= time.time():
                    return payload
        except (ValueError, binascii.Error):
            pass
        raise NotAllowed("this link is not valid, or has expired", "request the transfer again")

    def _sign(self, text: str) -> str:
        if self._key is None:
            self._key = self._seal.derive("mlflow-transfers").encode()
        return hmac.new(self._key, text.encode("utf-8", "replace"), hashlib.sha256).hexdigest()

    # ── Uploads ───────────────────────────────────────────────────────────────────────────────────────────────────────

    def begin(self, origin: str, parts: int) -> Json:
        """Begin an upload; return its id and a link for each part."""
        if not 1 <= parts <= _MOST_PARTS:
            raise MlflowError(f"Invalid value {parts} for parameter 'num_parts' supplied: give 1 to {_MOST_PARTS}")
        self._sweep()
        upload = secrets.token_hex(16)
        (self._folder / upload).mkdir(mode=0o700, parents=True)
        credentials: list[Json] = [
            {"url": self.link(origin, upload=upload, part=part), "part_number": part, "headers": {}}
            for part in range(1, parts + 1)
        ]
        return {"upload_id": upload, "credentials": credentials}

    def part(self, upload: str, number: int) -> Path:
        """Return the file of a part; raise for an upload that is over."""
        return self._of(upload) / str(number)

    def finish(self, upload: str, parts: list[Any]) -> Path:
        """Join the parts of an upload in order and return the file."""
        folder = self._of(upload)
        whole = folder / "whole"
        with whole.open("wb") as out:
            for part in sorted(parts, key=lambda each: int(each["part_number"])):
                path = folder / str(int(part["part_number"]))
                if not path.exists():
                    raise missing(f"part {part['part_number']} of upload {upload} has not arrived")
                with path.open("rb") as source:
                    shutil.copyfileobj(source, out, _PIECE)
        return whole

    def end(self, upload: str) -> None:
        """Forget an upload and its parts."""
        if _UPLOAD.fullmatch(upload):
            shutil.rmtree(self._folder / upload, ignore_errors=True)

    def temporary(self) -> Path:
        """Return the name of a new file, for a body that arrives."""
        self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        return self._folder / f"body-{secrets.token_hex(16)}"

    def _of(self, upload: str) -> Path:
        folder = self._folder / upload
        if not _UPLOAD.fullmatch(upload) or not folder.is_dir():
            raise missing(f"there is no upload {upload[:64]!r}: it was completed or aborted, or is too old")
        return folder

    def _sweep(self) -> None:
        """Remove what interrupted clients and servers left behind."""
        if not self._folder.is_dir():
            return
        for entry in self._folder.iterdir():
            if entry.stat().st_mtime < time.time() - 2 * _LIFETIME:
                shutil.rmtree(entry, ignore_errors=True) if entry.is_dir() else entry.unlink(missing_ok=True)
