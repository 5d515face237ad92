"""Registered models.

    model                   Model: finding, registering, downloading
    registration            the body of a registration request
    model_cache             models on this machine, where scoring scripts look for them
    resource_configuration  ResourceConfiguration
    web_services            Azure's serving classes, which raise an error

`tests/e2e/test_job_contract.py` and `tests/e2e/test_documents.py` cover them on a server.
"""

from __future__ import annotations

from footplate.lazy import lazy_submodules

TYPE_CHECKING = False  # typing's own costs 8 ms
if TYPE_CHECKING:
    from footplate.sdk.models import model as model
    from footplate.sdk.models import resource_configuration as resource_configuration
else:
    __getattr__ = lazy_submodules(__name__)
