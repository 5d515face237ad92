from __future__ import annotations

from footplate.sdk.models.webservice_kinds import AciWebservice

__all__ = ["AciWebservice"]
