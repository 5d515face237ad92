from __future__ import annotations

import asyncio

from footplate.server.gate import Gate, GateMiddleware


async def fine(scope, receive, send):
    await send({"type": "http.response.start", "status": 200, "headers": []})
    await send({"type": "http.response.body", "body": b""})


def test_active_requests_are_counted_and_the_last_one_is_recorded(aask):
    async def scenario() -> None:
        gate, release = Gate(), asyncio.Event()

        async def slow(scope, receive, send):
            await release.wait()
            await fine(scope, receive, send)

        gate.last = 0.0
        assert gate.idle_seconds() > 0
        asked = asyncio.ensure_future(aask(GateMiddleware(slow, gate), "GET", "/"))
        await asyncio.sleep(0)
        assert (gate.inside, gate.idle_seconds()) == (1, 0.0)
        release.set()
        await asked
        assert gate.inside == 0
        assert gate.last > 0

    asyncio.run(scenario())


def test_a_request_that_fails_is_not_counted_for_ever(aask):
    async def broken(scope, receive, send):
        raise ValueError

    gate = Gate()
    try:
        asyncio.run(aask(GateMiddleware(broken, gate), "GET", "/"))
    except ValueError:
        pass
    assert gate.inside == 0


def test_closed_gate_sends_clients_to_the_next_server(ask):
    gate = Gate()
    gate.open = False
    reply = ask(GateMiddleware(fine, gate), "GET", "/")
    assert (reply.status, reply.json()["error"]["details"]) == (503, {"stopping": True})
    gate.open = True
    assert ask(GateMiddleware(fine, gate), "GET", "/").status == 200


def test_stop_is_passed_on():
    asked: list[int] = []
    Gate(lambda: asked.append(1)).stop()
    assert asked == [1]


def test_too_many_long_polls_leave_room_for_agents(ask):
    gate = Gate(most_waiting=3)
    gate.inside = 3
    app = GateMiddleware(fine, gate)
    refused = ask(app, "GET", "/runs/r", query="wait=30")
    assert (refused.status, "3 requests" in refused.json()["error"]["message"]) == (503, True)
    assert ask(app, "GET", "/runs/r").status == 200
    assert ask(app, "GET", "/runs/r/nodes/0/orders", query="wait=30").status == 200
