from __future__ import annotations

import pytest

from footplate.node import host_info
from footplate.node.options import AgentOptions

GIVEN = ["--run", "r", "--node", "1", "--endpoint", "unix:///s"]


def test_all_options_are_parsed() -> None:
    options = AgentOptions([*GIVEN, "--attempt", "2", "--home", "/h", "--lock", "3", "--linger", "0.5"])
    assert (options.run, options.node, options.attempt, options.endpoint) == ("r", 1, 2, "unix:///s")
    assert (options.home, options.root, options.lock) == ("/h", "/h", 3)
    assert (options.linger, AgentOptions(GIVEN).linger) == (0.5, 30)


def test_a_node_without_the_servers_home_has_its_own_root(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FOOTPLATE_NODE_HOME", "/scratch")
    assert AgentOptions(GIVEN).home is None
    assert AgentOptions(GIVEN).root == "/scratch"


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (GIVEN[2:], "missing: --run"),
        ([*GIVEN, "--color", "red"], "not understood: --color"),
        ([*GIVEN, "--home"], "not understood: --home"),
    ],
)
def test_wrong_options_are_named(arguments: list[str], complaint: str) -> None:
    with pytest.raises(SystemExit) as caught:
        AgentOptions(arguments)
    assert complaint in str(caught.value) and "usage:" in str(caught.value)


def test_the_machine_describes_itself_and_its_address() -> None:
    assert host_info.describe()["memory"] > 0
    assert host_info.address_towards("unix:///s") == "127.0.0.1"
    assert host_info.address_towards("http://127.0.0.1:80") == "127.0.0.1"
