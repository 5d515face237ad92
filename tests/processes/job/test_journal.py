from __future__ import annotations

import resource
import signal

from footplate.job.journal_format import writers


def test_logged_values_survive_sigkill(tmp_path, points, python):
    done = python(
        """
        import os, signal
        from footplate.job.journal import Journal
        journal = Journal("journals")
        for number in range(10_000):
            journal.log("loss", number / 7, number)
        journal.log("note", "last words")
        print("10001", flush=True)
        journal.log("epoch", 42); os.kill(os.getpid(), signal.SIGKILL)
        """
    )
    assert done.returncode == -signal.SIGKILL
    assert done.stdout == "10001\n"
    found = points(tmp_path / "journals")
    assert [p.value for p in found] == [number / 7 for number in range(10_000)] + ["last words", 42]
    assert [p.step for p in found[:10_000]] == [float(number) for number in range(10_000)]


def test_a_forked_child_has_its_own_writer(tmp_path, points, python):
    done = python(
        """
        import os
        from footplate.job.journal import Journal
        journal = Journal("journals")
        journal.log("x", 0.0)
        kept = journal.log
        name = journal.writer
        children = []
        for child in range(3):
            pid = os.fork()
            if pid == 0:
                for number in range(5000):
                    journal.log("x", float(number))
                kept("x", -1.0)
                kept("new", -1.0)
                assert journal.writer != name
                os._exit(0)
            children.append(pid)
        for number in range(1, 5000):
            journal.log("x", float(number))
        assert journal.writer == name
        assert [os.waitpid(pid, 0)[1] for pid in children] == [0, 0, 0]
        """
    )
    assert done.returncode == 0, done.stderr
    names = writers(str(tmp_path / "journals"))
    assert len(names) == 4
    lines = sorted([(p.name, p.value) for p in points(tmp_path / "journals", name)] for name in names)
    own = [("x", float(number)) for number in range(5000)]
    assert lines == sorted([own] + 3 * [[*own, ("x", -1.0), ("new", -1.0)]])


def test_a_child_that_logs_nothing_has_no_files(tmp_path, python):
    done = python(
        """
        import os
        from footplate.job.journal import Journal
        journal = Journal("journals")
        journal.log("x", 0.0)
        if os.fork() == 0:
            os._exit(0)
        os.wait()
        journal.log("x", 1.0)
        """
    )
    assert done.returncode == 0, done.stderr
    assert len(writers(str(tmp_path / "journals"))) == 1


def limit_files():
    resource.setrlimit(resource.RLIMIT_FSIZE, (300_000, 300_000))


def test_a_full_disk_fails_only_the_call(tmp_path, points, python):
    done = python(
        """
        from footplate.job.journal import Journal
        journal = Journal("journals")
        kept = 0
        try:
            while True:
                journal.log("x", float(kept))
                kept += 1
        except OSError as error:
            print(type(error).__name__, error.errno)
        for value in (1.0, 1):
            try:
                journal.log("x", value)
            except OSError:
                print("again")
        try:
            journal.log("text", "t" * 400_000)
        except OSError:
            print("text")
        journal.close()
        print(kept)
        """,
        preexec_fn=limit_files,
    )
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert lines[1:-1] == ["again", "again", "text"]
    assert [p.value for p in points(tmp_path / "journals")] == [float(number) for number in range(int(lines[-1]))]


def test_logging_continues_after_a_full_disk(tmp_path, points, python):
    done = python(
        """
        import resource
        from footplate.job.journal import Journal
        journal = Journal("journals")
        resource.setrlimit(resource.RLIMIT_FSIZE, (70_000, resource.RLIM_INFINITY))
        kept = 0
        try:
            while True:
                journal.log("x", float(kept))
                kept += 1
        except OSError:
            resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
        for _ in range(5000):
            journal.log("x", float(kept))
            kept += 1
        print(kept)
        """
    )
    assert done.returncode == 0, done.stderr
    assert [p.value for p in points(tmp_path / "journals")] == [float(number) for number in range(int(done.stdout))]


def test_a_writer_that_cannot_start_can_start_later(tmp_path, points, python):
    done = python(
        """
        import resource
        from footplate.job.journal import Journal
        journal = Journal("journals", "w")
        resource.setrlimit(resource.RLIMIT_FSIZE, (1000, resource.RLIM_INFINITY))
        try:
            journal.log("x", 1.0)
        except OSError:
            resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
        journal.log("x", 2.0)
        """
    )
    assert done.returncode == 0, done.stderr
    assert [p.value for p in points(tmp_path / "journals")] == [2.0]


def test_chdir_does_not_move_the_journal(tmp_path, points, python):
    done = python(
        """
        import os
        from footplate.job.journal import Journal
        journal = Journal("journals")
        journal.log("x", 0.0)
        os.mkdir("elsewhere")
        os.chdir("elsewhere")
        os.closerange(3, 100)  # as those do who become daemons
        for number in range(1, 5000):
            journal.log("x", float(number))
        journal.log("y", 1)
        """
    )
    assert done.returncode == 0, done.stderr
    assert len(points(tmp_path / "journals")) == 5001
