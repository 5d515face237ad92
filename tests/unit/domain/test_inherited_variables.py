from __future__ import annotations

import re
from pathlib import Path

import pytest

from footplate.domain.inherited_variables import (
    BUILDS,
    JOBS,
    agent_variables,
    build_variables,
    container_variables,
    engine_variables,
    job_variables,
)

STARTER = {
    "PATH": "/bin", "HOME": "/root", "LC_ALL": "C.UTF-8", "TZ": "UTC", "CUDA_VISIBLE_DEVICES": "0",
    "MPLBACKEND": "module://inline", "AWS_SECRET_ACCESS_KEY": "s", "PYTHONPATH": "/mine", "https_proxy": "http://p",
    "UV_INDEX_URL": "https://index", "UV_PUBLISH_TOKEN": "t", "CONDA_PREFIX": "/conda", "CONTAINERS_CONF": "/c",
    "FOOTPLATE_TOKEN": "t", "FOOTPLATE_HOME": "/h", "FOOTPLATE_KEEP_WORK": "1", "AZUREML_RUN_ID": "r",
    "PATHOLOGICAL": "1", "path": "/lower",
}  # fmt: skip
JOB = {"PATH", "HOME", "LC_ALL", "TZ", "CUDA_VISIBLE_DEVICES"}


def test_jobs_get_the_documented_variables_and_no_others():
    assert set(job_variables(STARTER)) == JOB
    assert set(container_variables(STARTER)) == {"LC_ALL", "TZ", "CUDA_VISIBLE_DEVICES"}


def test_builds_find_indexes_and_proxies_but_no_secrets():
    assert set(build_variables(STARTER)) == JOB | {"https_proxy", "UV_INDEX_URL", "CONTAINERS_CONF"}
    assert set(engine_variables(STARTER)) == JOB | {"CONTAINERS_CONF"}


def test_agents_also_get_the_settings_of_footplate():
    more = {"PYTHONPATH", "FOOTPLATE_HOME", "FOOTPLATE_KEEP_WORK"}
    assert set(agent_variables(STARTER)) == set(build_variables(STARTER)) | more


@pytest.mark.parametrize("select", [job_variables, container_variables, build_variables, engine_variables])
def test_further_variables_are_named_by_a_setting(select):
    named = {**STARTER, "FOOTPLATE_PASS_ENVIRONMENT": "AWS_* MPLBACKEND FOOTPLATE_TOKEN"}
    assert set(select(named)) == {*select(STARTER), "AWS_SECRET_ACCESS_KEY", "MPLBACKEND"}


def test_the_documentation_lists_every_pattern():
    page = (Path(__file__).parents[3] / "docs/reference/environment-variables.md").read_text()
    listed = set(re.findall(r"`([^`]+)`", page.partition("## Passed on to jobs and builds")[2].partition("\n## ")[0]))
    patterns = {pattern for groups in (JOBS, BUILDS) for group in groups.values() for pattern in group}
    assert patterns <= listed
