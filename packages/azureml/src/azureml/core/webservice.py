from __future__ import annotations

from footplate.sdk.models.web_services import AciWebservice, AksWebservice, LocalWebservice, Webservice

__all__ = ["AciWebservice", "AksWebservice", "LocalWebservice", "Webservice"]
