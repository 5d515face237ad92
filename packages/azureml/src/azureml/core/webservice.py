from __future__ import annotations

from footplate.sdk.models.webservice import Webservice
from footplate.sdk.models.webservice_kinds import AciWebservice, AksEndpoint, AksWebservice, LocalWebservice

__all__ = ["AciWebservice", "AksEndpoint", "AksWebservice", "LocalWebservice", "Webservice"]
