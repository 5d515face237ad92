"""Clients that send one request after the other on open connections, in one process with one epoll loop.

The request is read from stdin as JSON: {host, port, path, bodies, clients, seconds}. The result goes to stdout: the
latency of every request, the CPU time of this process, and every distinct response to each body, so that the caller
can check all of them. The same program measures all contestants; it only needs the standard library.
"""

from __future__ import annotations

import json
import select
import socket
import sys
import time
from typing import Any


class Client:
    """One connection with one request in flight."""

    def __init__(self, address: tuple[str, int], requests: list[bytes], first: int) -> None:
        self.socket = socket.create_connection(address)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.requests = requests
        self.next = first
        self.began = 0.0
        self.buffer = b""

    def send(self) -> None:
        self.buffer = b""
        self.next = (self.next + 1) % len(self.requests)
        self.began = time.perf_counter()
        self.socket.sendall(self.requests[self.next])

    def receive(self) -> tuple[int, bytes] | None:
        """Return status and body when they are complete."""
        data = self.socket.recv(1 << 16)
        if not data:
            raise ConnectionError(f"the server closed a connection after {self.buffer[:200]!r}")
        self.buffer += data
        head, mark, body = self.buffer.partition(b"\r\n\r\n")
        if not mark:
            return None
        length = head.lower().partition(b"content-length:")[2].partition(b"\r\n")[0]
        return (int(head[9:12]), body) if len(body) >= int(length) else None


def main() -> None:
    given: dict[str, Any] = json.load(sys.stdin)
    head = (
        f"POST {given['path']} HTTP/1.1\r\nhost: {given['host']}\r\ncontent-type: application/json\r\n"
        "content-length: {}\r\n\r\n"
    )
    requests = [head.format(len(body)).encode() + body.encode() for body in given["bodies"]]
    address = (given["host"], given["port"])
    clients = [Client(address, requests, number) for number in range(given["clients"])]
    by_number = {client.socket.fileno(): client for client in clients}
    poll = select.epoll()
    for number in by_number:
        poll.register(number, select.EPOLLIN)
    latencies: list[float] = []
    seen: dict[int, set[tuple[int, bytes]]] = {place: set() for place in range(len(requests))}
    cpu, begin = time.process_time(), time.perf_counter()
    end = begin + given["seconds"]
    for client in clients:
        client.send()
    while time.perf_counter() < end:
        for number, _ in poll.poll(1.0):
            client = by_number[number]
            response = client.receive()
            if response is not None:
                latencies.append(time.perf_counter() - client.began)
                seen[client.next].add(response)
                client.send()
    seconds = time.perf_counter() - begin
    answers = [[place, status, body.decode()] for place, found in seen.items() for status, body in found]
    result = {"latencies": latencies, "seconds": seconds, "cpu": time.process_time() - cpu, "answers": answers}
    json.dump(result, sys.stdout)


if __name__ == "__main__":
    main()
