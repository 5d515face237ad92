from __future__ import annotations

import asyncio
import threading

import pytest

from footplate.errors import Unavailable
from footplate.server import hub as hubs
from footplate.server.hub import Hub
from footplate.services.topics import RunChanged, RunTurned

A, B, OLD = RunChanged("a"), RunTurned("a"), RunChanged("old")


def test_sequence_grows_with_publications_of_its_topic_only():
    hub = Hub()
    before = hub.sequence(A)
    hub.publish(A)
    first, untouched = hub.sequence(A), hub.sequence(B)
    hub.publish(A)
    assert before < first < hub.sequence(A)
    assert hub.sequence(B) == untouched


def test_a_publication_since_the_last_look_ends_the_wait_at_once():
    async def scenario() -> int:
        hub = Hub()
        seen = hub.sequence(A)
        hub.publish(A)
        return await asyncio.wait_for(hub.wait(A, seen, 3600), 5) - seen

    assert asyncio.run(scenario()) > 0


def test_publication_from_another_thread_wakes_all_waiters():
    async def scenario() -> tuple[int, int]:
        hub, threads = Hub(), threading.active_count()
        waits = [asyncio.ensure_future(hub.wait(A, hub.sequence(A), 3600)) for _ in range(300)]
        other = asyncio.ensure_future(hub.wait(B, hub.sequence(B), 3600))
        while hub.waiting() < 301:
            await asyncio.sleep(0)
        assert threading.active_count() <= threads, "waiting takes no thread"
        thread = threading.Thread(target=hub.publish, args=(A,))
        thread.start()
        woken = await asyncio.wait_for(asyncio.gather(*waits), 10)
        thread.join()
        left = hub.waiting()
        other.cancel()
        await asyncio.gather(other, return_exceptions=True)
        assert len(set(woken)) == 1
        return left, hub.waiting()

    assert asyncio.run(scenario()) == (1, 0)


def test_wait_ends_at_the_timeout():
    async def scenario() -> tuple[bool, int]:
        hub = Hub()
        hub.publish(A)
        seen = hub.sequence(A)
        return await hub.wait(A, seen, 0.01) == seen, hub.waiting()

    assert asyncio.run(scenario()) == (True, 0)


def test_close_ends_present_and_future_waits():
    async def scenario() -> None:
        hub = Hub()
        wait = asyncio.ensure_future(hub.wait(A, 0, 3600))
        while not hub.waiting():
            await asyncio.sleep(0)
        hub.close()
        for waiter in (wait, hub.wait(B, 0, 3600)):
            with pytest.raises(Unavailable) as caught:
                await asyncio.wait_for(waiter, 5)
            assert caught.value.details == {"stopping": True}
        assert hub.waiting() == 0

    asyncio.run(scenario())


def test_memory_is_bounded_and_a_forgotten_topic_is_not_missed():
    hub = Hub()
    seen = hub.sequence(OLD)
    hub.publish(OLD)
    for n in range(hubs.MEMORY * 2):
        hub.publish(RunChanged(f"t{n}"))
    assert len(hub._last) <= hubs.MEMORY
    assert hub.sequence(OLD) > seen
    assert hub.sequence(OLD) == hub.sequence(OLD) <= hub.sequence(RunChanged(f"t{hubs.MEMORY * 2 - 1}"))


def test_waiters_of_a_closed_loop_do_no_harm():
    hub = Hub()

    async def abandon() -> None:
        asyncio.ensure_future(hub.wait(A, 0, 3600))  # noqa: RUF006  dropped on purpose
        while not hub.waiting():
            await asyncio.sleep(0)

    asyncio.run(abandon())
    hub.publish(A)
    assert hub.waiting() == 0


def test_changes_since_a_count_are_each_topic_once_in_order():
    hub = Hub()
    begin, none = hub.changes(0)
    assert (begin, none) == (0, [])
    for topic in (A, B, A):
        hub.publish(topic)
    assert hub.changes(begin) == (3, [B, A])
    assert hub.changes(3) == (3, [])


def test_forgotten_changes_are_not_passed_over_silently():
    hub = Hub()
    for number in range(hubs.MEMORY + 1):
        hub.publish(RunChanged(str(number)))
    assert hub.changes(1)[1] is None
    assert hub.changes(hubs.MEMORY)[1] == [RunChanged(str(hubs.MEMORY))]
    assert hub.changes(2 * hubs.MEMORY)[1] is None, "a count of another server"


def test_any_publication_wakes_those_who_follow_all():
    async def scenario() -> None:
        hub = Hub()
        seen = hub.changes(0)[0]
        waiting = asyncio.ensure_future(hub.wait_for_any(seen, 3600))
        await asyncio.sleep(0)
        hub.publish(B)
        await asyncio.wait_for(waiting, 5)
        await asyncio.wait_for(hub.wait_for_any(seen, 3600), 5)

    asyncio.run(scenario())
