"""The command line of mpirun, the shell around a rank, and the requests for daemons."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from footplate.domain.orders import NodePlace
from footplate.node.mpi import mpirun, remote_shell
from footplate.node.mpi.launcher_rpc import LauncherClient, LauncherServer
from footplate.node.mpi.mpirun import Launcher
from footplate.node.node_directory import NodeFolder
from footplate.node.preparation import Failed
from footplate.testing.waiting import wait_until

from ....unit.node.mpi.test_mpirun import orders


class TestFinding:
    def launcher(self, folder: Path, version: str, name: str = "mpirun") -> None:
        program = folder / name
        program.write_text(f"#!/bin/sh\necho '{version}'\n")
        program.chmod(0o755)

    @pytest.mark.parametrize(
        ("version", "kind"),
        [
            ("mpirun (Open MPI) 4.1.8", "open4"),
            ("mpirun (Open MPI) 5.0.11", "open5"),
            ("HYDRA build details:", "mpich"),
        ],
    )
    def test_the_kind_by_version(self, tmp_path: Path, version: str, kind: str) -> None:
        (tmp_path / "real").mkdir()
        self.launcher(tmp_path / "real", version)
        (tmp_path / "link").symlink_to(tmp_path / "real")
        assert mpirun.find(str(tmp_path / "link"), orders()) == Launcher(str(tmp_path / "real" / "mpirun"), kind)

    @pytest.mark.parametrize(
        ("companions", "kind"),
        [
            (["orted"], "open4"),
            (["prted"], "open5"),
            (["hydra_pmi_proxy"], "mpich"),
            (["orted", "hydra_pmi_proxy"], "open5"),  # two of them are installed: the program knows
            (["hydra_pmi_proxy", "hydra_bstrap_proxy"], "open5"),  # Intel's brings MPICH's daemon
        ],
    )
    def test_the_kind_by_companions(self, tmp_path: Path, companions: list[str], kind: str) -> None:
        self.launcher(tmp_path, "mpirun (Open MPI) 5.0.11")
        for name in companions:
            (tmp_path / name).touch()
        assert mpirun.find(str(tmp_path), orders()).kind == kind

    def test_the_first_known_mpirun_is_used(self, tmp_path: Path) -> None:
        self.launcher(tmp_path, "somebody else's")
        self.launcher(tmp_path, "HYDRA build details:", "mpiexec")
        assert mpirun.find(str(tmp_path), orders()).program.endswith("mpiexec")

    def test_a_missing_mpirun_gets_a_hint(self, tmp_path: Path) -> None:
        with pytest.raises(Failed) as raised:
            mpirun.find(str(tmp_path), orders())
        assert "no mpirun" in raised.value.cause.message
        assert "openmpi" in (raised.value.cause.hint or "")


class TestTheShellOfARank:
    def run(self, home: Path, program: str, rank: int = 3, **variables: str) -> NodeFolder:
        folder = NodeFolder(str(home), "r_1", 1)
        folder.make()
        ours = {"PATH": os.environ["PATH"], "FOOTPLATE_EXITS": folder.exits, "QUOTED": 'it\'s $5 "now"\n', "a.b": "c"}
        mpirun.lay_out(orders(node=1), folder, ["/bin/sh", "-c", program], ours)
        foreign = {"OMPI_COMM_WORLD_RANK": str(rank), "FOOTPLATE_EXITS": "/nowhere", **variables}
        subprocess.run(["/bin/sh", mpirun.rank_script(folder)], env=foreign, check=False)
        return folder

    def log(self, folder: NodeFolder, rank: int = 3) -> str:
        return Path(folder.logs, f"user_logs/std_log_process_{rank:02d}.txt").read_text()

    def test_a_rank_has_the_environment_of_its_node_and_its_own_log(self, tmp_path: Path) -> None:
        folder = self.run(tmp_path, 'pwd; echo "$FOOTPLATE_RANK $OMPI_COMM_WORLD_LOCAL_RANK $QUOTED"; echo err >&2')
        assert self.log(folder) == f'{folder.wd}\n3 1 it\'s $5 "now"\n\nerr\n'

    def test_variables_of_daemons_do_not_reach_ranks(self, tmp_path: Path) -> None:
        folder = self.run(tmp_path, 'echo "${HWLOC_XMLFILE-none}"', HWLOC_XMLFILE="of the daemon")
        assert self.log(folder) == "none\n"
        mine = {"FOOTPLATE_EXITS": folder.exits, "HWLOC_XMLFILE": "mine"}
        mpirun.lay_out(orders(node=1), folder, ["/bin/sh", "-c", 'echo "$HWLOC_XMLFILE"'], mine)
        subprocess.run(["/bin/sh", mpirun.rank_script(folder)], env={"PMI_RANK": "2"}, check=True)
        assert self.log(folder, 2) == "mine\n"

    def test_variables_that_are_not_text_are_preserved(self, tmp_path: Path) -> None:
        """Variables are bytes; Python shows those that are not UTF-8 as surrogates."""
        folder = NodeFolder(str(tmp_path), "r_1", 1)
        folder.make()
        variables = {"FOOTPLATE_EXITS": folder.exits, "LATIN": os.fsdecode(b"caf\xe9")}
        mpirun.lay_out(orders(node=1), folder, ["/bin/sh", "-c", 'echo "$LATIN"'], variables)
        subprocess.run(["/bin/sh", mpirun.rank_script(folder)], env={"PMI_RANK": "2"}, check=True)
        assert Path(folder.logs, "user_logs/std_log_process_02.txt").read_bytes() == b"caf\xe9\n"

    def test_open_mpis_variables_exist_under_mpich_too(self, tmp_path: Path) -> None:
        names = "RANK SIZE LOCAL_RANK LOCAL_SIZE"
        script = "; ".join(f'echo "$OMPI_COMM_WORLD_{name}"' for name in names.split())
        folder = NodeFolder(str(tmp_path), "r_1", 1)
        folder.make()
        mpirun.lay_out(orders(node=1), folder, ["/bin/sh", "-c", script], {"FOOTPLATE_EXITS": folder.exits})
        subprocess.run(["/bin/sh", mpirun.rank_script(folder)], env={"PMI_RANK": "2"}, check=True)
        assert self.log(folder, 2).split() == ["2", "4", "0", "2"]

    def test_a_rank_has_variables_of_its_own(self, tmp_path: Path) -> None:
        given = orders(node=1)
        ranks = tuple(replace(r, variables={**r.variables, "CUDA_VISIBLE_DEVICES": str(r.rank)}) for r in given.ranks)
        folder = NodeFolder(str(tmp_path), "r_1", 1)
        folder.make()
        node = {"FOOTPLATE_EXITS": folder.exits, "CUDA_VISIBLE_DEVICES": "2"}  # as its first rank has it
        mpirun.lay_out(replace(given, ranks=ranks), folder, ["/bin/sh", "-c", 'echo "$CUDA_VISIBLE_DEVICES"'], node)
        for rank in (2, 3):
            variables = {"OMPI_COMM_WORLD_RANK": str(rank)}
            subprocess.run(["/bin/sh", mpirun.rank_script(folder)], env=variables, check=True)
            assert self.log(folder, rank) == f"{rank}\n"

    @pytest.mark.parametrize(("program", "code"), [("exit 7", 7), ("true", 0), ("kill -9 $$", 137)])
    def test_a_rank_records_how_it_ended(self, tmp_path: Path, program: str, code: int) -> None:
        assert self.run(tmp_path, program).read_rank_end(3)[0] == code

    def test_a_rank_that_is_asked_to_end_leaves_no_report(self, tmp_path: Path) -> None:
        folder = NodeFolder(str(tmp_path), "r_1", 1)
        folder.make()
        program = "trap 'echo saved; exit 3' TERM; echo up; while :; do sleep 0.02; done"
        ours = {"PATH": os.environ["PATH"], "FOOTPLATE_EXITS": folder.exits}
        mpirun.lay_out(orders(node=1), folder, ["/bin/sh", "-c", program], ours)
        argv = ["/bin/sh", mpirun.rank_script(folder)]
        with subprocess.Popen(argv, env={"PMI_RANK": "3"}, start_new_session=True) as shell:
            log = os.path.join(folder.logs, "user_logs/std_log_process_03.txt")
            wait_until(lambda: os.path.exists(log) and self.log(folder))
            os.killpg(shell.pid, signal.SIGTERM)
            assert shell.wait(120) == 3
        assert self.log(folder).endswith("saved\n")
        assert folder.read_rank_end(3)[0] is None

    @pytest.mark.parametrize(
        ("name", "rank"), [("OMPI_COMM_WORLD_RANK", True), ("PMI_RANK", True), ("FOOTPLATE_RANK", False)]
    )
    def test_ranks_differ_from_the_processes_of_mpi(self, name: str, rank: bool) -> None:
        assert mpirun.is_rank([b"PATH=/bin", f"{name}=0".encode()]) == rank

    def test_a_rank_on_the_wrong_node_is_refused(self, tmp_path: Path) -> None:
        assert self.run(tmp_path, "true", rank=0).read_rank_end(0)[0] == 125

    def test_secrets_are_readable_by_their_owner_only(self, tmp_path: Path) -> None:
        folder = self.run(tmp_path, "true")
        assert os.stat(mpirun.rank_script(folder)).st_mode & 0o077 == 0


class TestTheDoor:
    """From the remote shell, which mpirun runs, through the client of its node to the server of another."""

    @contextmanager
    def door(self, start: Callable[[str], Callable[[], int]], folder: Path, secret: str = "s3cret") -> Iterator[int]:
        with socket.create_server(("127.0.0.1", 0)) as probe:
            port = probe.getsockname()[1]
        door = LauncherServer("127.0.0.1", port, "s3cret", start)
        nowhere = NodePlace("127.0.0.1", (9,))
        switchboard = LauncherClient(
            str(folder / remote_shell.NAME), (nowhere, NodePlace("127.0.0.1", (port,))), secret
        )
        try:
            yield port
        finally:
            switchboard.close()
            door.close()

    def reach(self, folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
        argv = [sys.executable, "-I", "-S", remote_shell.__file__, str(folder / remote_shell.NAME), *words]
        return subprocess.run(argv, capture_output=True, text=True, timeout=30, check=False)

    def test_a_command_is_started_and_its_exit_code_returned(self, tmp_path: Path) -> None:
        asked: list[str] = []

        def start(command: str) -> Callable[[], int]:
            asked.append(command)
            return lambda: 7

        with self.door(start, tmp_path):
            done = self.reach(tmp_path, "-x", "node-1", "orted", '-mca ess "env"')
        assert (done.returncode, done.stderr) == (7, "")
        assert asked == ['orted -mca ess "env"']

    def test_long_paths_work(self, tmp_path: Path) -> None:
        folder = tmp_path / ("long" * 30) / "grün"
        folder.mkdir(parents=True)
        with self.door(lambda command: lambda: len(command), folder):
            assert self.reach(folder, "node-1", "x" * 200).returncode == 200
            assert (folder / remote_shell.NAME).stat().st_mode & 0o077 == 0
        assert not (folder / remote_shell.NAME).exists()

    def test_a_wrong_secret_starts_nothing(self, tmp_path: Path) -> None:
        asked: list[str] = []

        def start(command: str) -> Callable[[], int]:
            asked.append(command)
            return lambda: 0

        with self.door(start, tmp_path, secret="guessed"):
            done = self.reach(tmp_path, "node-1", "rm")
        assert (done.returncode, asked) == (1, [])
        assert "does not know the secret" in done.stderr

    def test_a_command_that_cannot_start_is_reported(self, tmp_path: Path) -> None:
        def start(_command: str) -> Callable[[], int]:
            raise OSError("no more processes")

        with self.door(start, tmp_path):
            done = self.reach(tmp_path, "node-1", "orted")
        assert done.returncode == 1
        assert done.stderr == "node-1 could not be reached: its agent does not start orted: no more processes\n"

    @pytest.mark.parametrize("host", ["node-7", "nonsense"])
    def test_a_missing_node_is_reported(self, tmp_path: Path, host: str) -> None:
        with self.door(lambda _: lambda: 0, tmp_path):
            assert self.reach(tmp_path, host, "orted").returncode == 1

    def test_garbage_is_ignored(self, tmp_path: Path) -> None:
        with self.door(lambda _: lambda: 3, tmp_path) as port:
            with socket.create_connection(("127.0.0.1", port)) as link:
                link.sendall(b"GET / HTTP/1.1\r\n\r\n")
                link.recv(1000)
            assert self.reach(tmp_path, "node-1", "orted").returncode == 3
            assert self.reach(tmp_path, "node-1").returncode == 2

    def test_a_missing_agent_is_reported(self, tmp_path: Path) -> None:
        done = self.reach(tmp_path, "node-1", "orted")
        assert done.returncode == 1
        assert "the agent of this node does not answer" in done.stderr
