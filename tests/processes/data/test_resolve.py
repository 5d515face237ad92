from __future__ import annotations

from footplate.data.resolve import resolve
from support.web_server import WebServer


def test_one_web_file_is_named_by_its_last_part(web: WebServer) -> None:
    address = web.serve("d/a b.csv", b"1")
    assert [item.name for item in resolve({"sources": [{"url": f"{address}?sig=x"}]}, {})] == ["a b.csv"]
    host = web.address.partition("//")[2].replace(":", "_")
    two = {"sources": [{"url": address}, {"url": web.serve("d/b.csv", b"2")}]}
    assert [item.name for item in resolve(two, {})] == [f"{host}/d/a b.csv", f"{host}/d/b.csv"]
