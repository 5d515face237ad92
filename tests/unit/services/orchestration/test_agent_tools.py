from __future__ import annotations

import io
import os
import zipfile

import pytest

from footplate.errors import NotFound
from footplate.services.orchestration.agent_archives import NodePlatform, distributions_of, fits, make_tool

NODE = NodePlatform((3, 9), "x86_64", (2, 28))


@pytest.mark.parametrize(
    ("tag", "expected"),
    [
        ("py3-none-any", True),
        ("py2.py3-none-any", True),
        ("py3-none-manylinux_2_17_x86_64", True),
        ("py3-none-manylinux2014_x86_64", True),
        ("py3-none-manylinux_2_31_x86_64", False),
        ("py3-none-manylinux_2_17_aarch64", False),
        ("py3-none-macosx_11_0_arm64", False),
        ("cp36-abi3-manylinux_2_12_x86_64", True),
        ("cp310-abi3-manylinux_2_17_x86_64", False),
        ("cp39-cp39-manylinux_2_17_x86_64", True),
        ("cp38-cp38-manylinux_2_17_x86_64", False),
        ("pp39-pypy39_pp73-manylinux_2_17_x86_64", False),
    ],
)
def test_a_wheel_fits_by_python_machine_and_libc(tag: str, expected: bool) -> None:
    assert fits(tag, NODE) is expected


def test_a_machine_without_glibc_gets_only_pure_wheels() -> None:
    assert not fits("py3-none-manylinux_2_17_x86_64", NodePlatform((3, 9), "x86_64", (0, 0)))


def test_a_tool_has_its_package_and_its_program() -> None:
    here = NodePlatform((3, 13), os.uname().machine, (2, 99))
    with zipfile.ZipFile(io.BytesIO(make_tool(distributions_of("uv", here)))) as archive:
        assert archive.getinfo("bin/uv").external_attr >> 16 == 0o755
        assert "uv/__init__.py" in archive.namelist()


@pytest.mark.parametrize(("python", "names"), [((3, 12), ["obstore", "typing-extensions"]), ((3, 13), ["obstore"])])
def test_the_requirements_of_a_tool_are_those_of_the_node(python: tuple[int, int], names: list[str]) -> None:
    found = distributions_of("obstore", NodePlatform(python, os.uname().machine, (2, 99)))
    assert [each.name.replace("_", "-").lower() for each in found] == names


def test_tools_that_do_not_exist_or_fit_are_refused_with_the_reason() -> None:
    with pytest.raises(NotFound, match="no tool 'torch'") as refused:
        distributions_of("torch", NODE)
    assert "uv" in str(refused.value.hint)
    with pytest.raises(NotFound, match=r"Python 3\.9 on s390x") as refused:
        distributions_of("uv", NodePlatform((3, 9), "s390x", (2, 28)))
    assert "install uv on the node" in str(refused.value.hint)
