"""A conda package in a lock: everything needed to download exactly this file, check it and install it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rattler import PackageRecord, RepoDataRecord
from rattler.package import BuildString, NoArchType


def describe(record: RepoDataRecord) -> dict[str, Any]:
    fields: dict[str, Any] = {
        "name": record.name.normalized,
        "version": str(record.version),
        "build": str(record.build),
        "build_number": record.build_number,
        "subdir": record.subdir,
        "url": record.url,
        "sha256": record.sha256.hex() if record.sha256 else None,
        "md5": record.md5.hex() if record.md5 else None,
        "size": record.size,
        "noarch": "python" if record.noarch.python else "generic" if record.noarch.generic else None,
        "depends": list(record.depends),
        "constrains": list(record.constrains),
        "site_packages": record.python_site_packages_path,
        "channel": record.channel,
    }
    return {name: value for name, value in fields.items() if value not in (None, [])}


def restore(data: Mapping[str, Any]) -> RepoDataRecord:
    """Return the record that `describe` wrote."""
    package = PackageRecord(
        data["name"],
        data["version"],
        BuildString(data["build"]),
        data["build_number"],
        data["subdir"],
        noarch=NoArchType(data.get("noarch")),
        depends=list(data.get("depends") or ()),
        constrains=list(data.get("constrains") or ()),
        sha256=_bytes(data.get("sha256")),
        md5=_bytes(data.get("md5")),
        size=data.get("size"),
        python_site_packages_path=data.get("site_packages"),
    )
    return RepoDataRecord(package, data["url"].rsplit("/", 1)[-1], data["url"], data.get("channel") or "")


def _bytes(text: str | None) -> bytes | None:
    return bytes.fromhex(text) if text else None
