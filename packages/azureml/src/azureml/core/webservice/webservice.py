from __future__ import annotations

from footplate.sdk.exceptions import WebserviceException
from footplate.sdk.models.webservice import Webservice

__all__ = ["Webservice", "WebserviceException"]
