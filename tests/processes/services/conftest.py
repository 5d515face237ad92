"""The services of the unit tests, for tests whose environments are resolved by processes."""

from __future__ import annotations

from ...unit.services.conftest import FakeEngine, House, Statements, house, open_house, run_through

__all__ = ["FakeEngine", "House", "Statements", "house", "open_house", "run_through"]
