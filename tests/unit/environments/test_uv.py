from __future__ import annotations

import sys
from pathlib import Path

import pytest

from footplate.environments.uv import find_uv, pip_flags, uv_platform, uv_variables
from footplate.errors import InvalidInput


def test_uv_platform_names_the_c_library_of_an_image() -> None:
    assert uv_platform("x86_64", "2.36") == "x86_64-manylinux_2_36"
    assert uv_platform("aarch64", "2.30") == "aarch64-manylinux_2_28"  # the next older one that uv knows
    assert uv_platform("x86_64", "2.99") == "x86_64-manylinux_2_40"
    for strange in ("2.12", "", "3.1", "2"):
        with pytest.raises(InvalidInput, match=strange or "another"):
            uv_platform("x86_64", strange)


def test_pip_settings_become_uv_variables() -> None:
    settings = {
        "index-url": "https://a/simple",
        "extra-index-url": "https://b/simple\nhttps://c/simple",
        "find-links": "/wheels /more",
        "constraint": "c.txt d.txt",
        "cert": "/etc/ca.pem",
        "no-color": "1",
    }
    variables = uv_variables({"PATH": "/bin"}, settings, None)
    assert variables == {
        "PATH": "/bin",
        "UV_DEFAULT_INDEX": "https://a/simple",
        "UV_INDEX": "https://b/simple https://c/simple",
        "UV_FIND_LINKS": "/wheels,/more",
        "UV_CONSTRAINT": "c.txt d.txt",
        "SSL_CERT_FILE": "/etc/ca.pem",
        "UV_INDEX_STRATEGY": "unsafe-best-match",
    }


def test_settings_that_uv_takes_as_arguments_only() -> None:
    settings = {"no-index": "yes", "no-binary": ":all:", "only-binary": "numpy, scipy"}
    assert pip_flags(settings) == [
        *("--no-index", "--no-binary", ":all:"),
        *("--only-binary", "numpy", "--only-binary", "scipy"),
    ]
    assert pip_flags({"no-index": "0"}) == []


def test_proxies_and_certificates_of_pip_apply() -> None:
    settings = {"pre": "1", "keyring-provider": "import"}
    assert uv_variables({}, settings, None) == {"UV_PRERELEASE": "allow", "UV_KEYRING_PROVIDER": "subprocess"}
    assert uv_variables({}, {"keyring-provider": "disabled", "pre": "false"}, None) == {}


@pytest.mark.parametrize(("named", "option"), [("UV_DEFAULT_INDEX", "index-url"), ("UV_INDEX_URL", "index-url")])
def test_uvs_own_variables_take_precedence(named: str, option: str) -> None:
    variables = uv_variables({named: "mine"}, {option: "pip's"}, None)
    assert variables[named] == "mine"
    assert "pip's" not in variables.values()


def test_our_own_environment_is_hidden_from_uv(tmp_path: Path) -> None:
    inherited = {"VIRTUAL_ENV": "/v", "PYTHONPATH": "/p", "UV_CACHE_DIR": "/mine"}
    assert uv_variables(inherited, {}, tmp_path) == {"UV_CACHE_DIR": "/mine"}
    assert uv_variables({}, {}, tmp_path)["UV_CACHE_DIR"] == str(tmp_path)


def test_uv_is_found_beside_our_python() -> None:
    assert Path(find_uv()).parent == Path(sys.executable).parent
