from __future__ import annotations

import pytest

from footplate.domain.orders import Cause
from footplate.domain.runs.root_cause import blames_another


def raised(exception: str, message: str = "") -> Cause:
    return Cause("user_exception", "…", node=0, rank=1, exception=exception, exception_message=message)


@pytest.mark.parametrize(
    "cause",
    [
        raised("ConnectionResetError", "[Errno 104] Connection reset by peer"),
        raised("torch.distributed.DistNetworkError", "The client socket has failed to connect to any network address"),
        raised(
            "torch.distributed.DistBackendError",
            "ncclRemoteError: A call failed possibly due to a network error or a remote process exited",
        ),
        raised("RuntimeError", "[gloo/transport/tcp/pair.cc:537] Read error [127.0.0.1]:1: Connection reset by peer"),
        raised("RuntimeError", "[gloo/…/unbound_buffer.cc:78] Timed out waiting 1800000ms for recv operation"),
        raised("tensorflow.python.framework.errors_impl.UnavailableError", "Collective ops is aborted by: …"),
        raised("horovod.common.exceptions.HorovodInternalError", "Horovod has been shut down"),
        Cause("signal", "aborted itself", rank=1, signal="SIGABRT", last_lines=("…", "what(): Broken pipe")),
    ],
    ids=lambda cause: cause.exception or cause.signal,
)
def test_a_rank_that_lost_a_peer_reports_it(cause: Cause) -> None:
    assert blames_another(cause)


@pytest.mark.parametrize(
    "cause",
    [
        raised("ValueError", "bad"),
        raised("torch.distributed.DistNetworkError", "The server socket has failed to listen: EADDRINUSE"),
        raised("torch.distributed.DistBackendError", "ncclInvalidUsage: Duplicate GPU detected"),
        Cause("exit_code", "ended with exit code 3", rank=1, exit_code=3, last_lines=("done",)),
        Cause("signal", "ended by SIGKILL", rank=1, signal="SIGKILL", last_lines=("connection refused, once more",)),
        Cause("node_lost", "connection reset by peer", node=1),
    ],
    ids=lambda cause: cause.exception or cause.code,
)
def test_a_rank_that_failed_by_itself_blames_nobody(cause: Cause) -> None:
    assert not blames_another(cause)
