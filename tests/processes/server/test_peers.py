from __future__ import annotations

import os
import subprocess
import sys

import pytest

from footplate import environ
from footplate.server.peers import Peer

HOME = "/home/of/the/server"
RANK = {environ.RUN_ID: "r1", environ.EXITS: f"{HOME}/work/r1/node_0/exits"}
AGENT = {environ.AGENT: "r1/0", environ.HOME: HOME}


@pytest.fixture
def process():
    """Start a process with variables, and a program that it starts with none of them; return the pids of both."""
    started = []

    def start(variables):
        script = "import subprocess\np = subprocess.Popen(['/bin/cat'], env={})\nprint(p.pid, flush=True)\np.wait()"
        argv = [sys.executable, "-I", "-c", script]
        outer = subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=variables, text=True)
        started.append(outer)
        assert outer.stdout is not None
        return outer.pid, int(outer.stdout.readline())

    yield start
    for outer in started:
        outer.stdin.close()
        outer.wait(120)
        outer.stdout.close()


@pytest.mark.parametrize("variables", [RANK, AGENT, {**AGENT, environ.HOME: ""}])
def test_processes_of_a_run_are_not_the_owner(process, variables):
    variables = {name: value for name, value in variables.items() if value}
    for pid in process(variables):
        assert Peer(pid, os.geteuid()).refusal(HOME) == f"process {pid} belongs to run r1"


@pytest.mark.parametrize("variables", [{}, RANK, AGENT])
def test_processes_of_another_home_are_the_owner(process, variables):
    for pid in process(variables):
        assert Peer(pid, os.geteuid()).refusal("/home/of/another") is None
