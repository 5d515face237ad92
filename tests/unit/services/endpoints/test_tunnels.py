"""Connections of workers on other machines: who may have one."""

from __future__ import annotations

import pytest

from footplate.errors import Conflict, InvalidInput, NotFound, Unavailable
from footplate.services.endpoints.version_runs import RUN_TYPE

from ..conftest import House


def test_only_the_current_attempt_of_a_replica_is_connected(house: House) -> None:
    endpoints = house.services.endpoints
    house.submit("replica", type=RUN_TYPE)
    house.submit("training")
    house.until_launched("replica")
    endpoints.check_tunnel("replica", 1)
    with pytest.raises(Conflict, match="is at attempt 1, not 2"):
        endpoints.check_tunnel("replica", 2)
    with pytest.raises(InvalidInput, match="training is not a replica"):
        endpoints.check_tunnel("training", 1)
    with pytest.raises(NotFound):
        endpoints.check_tunnel("nobody", 1)
    house.services.runs.cancel("replica", "enough")
    with pytest.raises(Conflict, match="to end"):
        endpoints.check_tunnel("replica", 1)


def test_a_connection_is_refused_while_no_gateway_runs(house: House) -> None:
    with pytest.raises(Unavailable, match="takes no connection now"):
        house.services.endpoints.hand_over("replica", 0)
