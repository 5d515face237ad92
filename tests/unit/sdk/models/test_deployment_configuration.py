from __future__ import annotations

from typing import Any

import pytest

from footplate.sdk.exceptions import WebserviceException
from footplate.sdk.models.webservice_kinds import AksWebservice


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"traffic_percentile": 20}, "no option traffic_percentile"),
        ({"num_replica": 2}, "no option num_replica"),
    ],
)
def test_options_that_would_be_ignored_are_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(WebserviceException, match=message) as caught:
        AksWebservice.deploy_configuration(**options)
    assert caught.value.hint
