"""One request to a web service, as `service.run` sends it."""

from __future__ import annotations

import json
import ssl
import urllib.error
import urllib.request
from typing import Any, Dict, List, Mapping, Optional, Union, cast
from urllib.parse import urlsplit

from footplate.sdk.exceptions import WebserviceException

_PARTIAL_CHAIN = 0x80000
"""OpenSSL's flag that trusts a certificate itself and not only its issuer; Python 3.10 names it."""


def send(
    name: str,
    address: str,
    data: Union[str, bytes],
    headers: Mapping[str, str],
    seconds: float,
    trusted: Optional[str] = None,
) -> Any:
    """Return the decoded answer: JSON, or text if it is not. Other statuses than 200 are a WebserviceException.

    `trusted` is the certificate of the service, as the server knows it, which also may be signed by nobody.
    """
    body = data.encode() if isinstance(data, str) else data
    request = urllib.request.Request(address, body, {"Content-Type": "application/json", **headers})
    try:
        with _opener(address, trusted).open(request, timeout=seconds) as response:
            content = response.read()
    except urllib.error.HTTPError as error:
        text = error.read().decode("utf-8", "replace")
        raise WebserviceException(
            f"service {name} answered with status {error.code}: {_message(text)}",
            status_code=error.code,
            hint=see_logs(name),
        ) from None
    except OSError as error:
        raise WebserviceException(
            f"service {name} cannot be reached at {address}: {error}",
            hint=f"see service.state, or: footplate endpoints show {name}",
        ) from None
    try:
        return json.loads(content)
    except ValueError:
        return content.decode("utf-8", "replace")


def see_logs(name: str) -> str:
    """Return the hint that names the logs of a service."""
    return f"see service.get_logs(), or: footplate endpoints logs {name}"


def _opener(address: str, trusted: Optional[str]) -> urllib.request.OpenerDirector:
    """Return an opener that uses the proxy of the environment, but not for a service on this machine."""
    local = urlsplit(address).hostname in ("127.0.0.1", "::1", "localhost")
    handlers: List[urllib.request.BaseHandler] = [urllib.request.ProxyHandler({})] if local else []
    if trusted is not None:
        context = ssl.create_default_context()
        context.load_verify_locations(cadata=trusted)
        context.verify_flags |= _PARTIAL_CHAIN
        handlers.append(urllib.request.HTTPSHandler(context=context))
    return urllib.request.build_opener(*handlers)


def _message(text: str) -> str:
    try:
        answer = json.loads(text)
    except ValueError:
        return text[:2000]
    return str(cast("Dict[str, Any]", answer).get("message", text) if isinstance(answer, dict) else text)[:2000]
