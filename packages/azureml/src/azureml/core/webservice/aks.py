from __future__ import annotations

from footplate.sdk.models.webservice_kinds import AksEndpoint, AksWebservice

__all__ = ["AksEndpoint", "AksWebservice"]
