"""TLS connections to a server whose certificate a private authority has signed.

Everybody may name the authority with `SSL_CERT_FILE`, as for any other program. Nodes and their jobs get it from the
server (`--ca-file`) in `FOOTPLATE_CA`, which extends the authorities of the system instead of replacing them.
"""

from __future__ import annotations

import base64
import os
from typing import TYPE_CHECKING

from footplate import environ
from footplate.errors import InvalidInput

if TYPE_CHECKING:
    import ssl

_LARGEST = 64 << 10  # it travels in a variable


def server_context() -> ssl.SSLContext:
    """Return the settings of a connection to the server."""
    import ssl  # noqa: PLC0415  # most processes reach their server without TLS, and its import takes a while

    context = ssl.create_default_context()
    authority = os.environ.get(environ.CA)
    if authority:
        context.load_verify_locations(cadata=base64.b64decode(authority).decode("ascii"))
    return context


def encode_authority(path: str) -> str:
    """Return the content of a PEM file as the value of `FOOTPLATE_CA`; raise InvalidInput if it is not one."""
    import ssl  # noqa: PLC0415  # as above

    try:
        with open(path, encoding="ascii") as file:
            text = file.read(_LARGEST + 1)
        if len(text) > _LARGEST:
            raise ValueError("it is larger than 64 KiB")
        ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT).load_verify_locations(cadata=text)
    except (OSError, ValueError) as error:
        raise InvalidInput(
            f"{path} cannot be read as certificates: {error}",
            "give a PEM file with the certificate of the authority that signs the server's",
        ) from None
    return base64.b64encode(text.encode()).decode()
