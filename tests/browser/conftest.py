"""A real browser (Debian's Chromium), a real server with real runs, and a browser context that has signed in."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, expect, sync_playwright

ROOT = Path(__file__).parents[2]
PICTURES = Path(os.environ.get("FOOTPLATE_TEST_PICTURES") or ROOT / "pictures")
"""Screenshots to look at; git ignores the folder."""

PATIENCE = 60_000
"""Milliseconds: busy machines are slow."""

expect.set_options(timeout=PATIENCE)

CLI = [sys.executable, "-m", "footplate"]


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """Start a browser. It ends with its module: Playwright keeps an event loop running, beside which no other runs."""
    program = shutil.which("chromium")
    if program is None:
        pytest.skip("Chromium is missing: sh scripts/system_packages.sh")
    if not (ROOT / "src" / "footplate" / "page" / "index.html").exists():
        pytest.skip("the page is not built: make page")
    with sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=program, args=["--no-sandbox"])
        yield started
        started.close()


@pytest.fixture
def sign_in_link(home: Path) -> Callable[[], str]:
    """Print a new one-time link, as a person would."""

    def link() -> str:
        done = subprocess.run([*CLI, "ui", "--json"], check=True, capture_output=True, text=True, timeout=120)
        return str(json.loads(done.stdout)["url"])

    return link


@pytest.fixture
def context(browser: Browser) -> Iterator[BrowserContext]:
    opened = browser.new_context(viewport={"width": 1440, "height": 900})
    opened.set_default_timeout(PATIENCE)
    yield opened
    opened.close()


@pytest.fixture
def page(context: BrowserContext, sign_in_link: Callable[[], str]) -> Iterator[Page]:
    """A page that has signed in. Anything that the browser reports as an error fails the test."""
    problems: list[str] = []
    opened = context.new_page()
    opened.on("pageerror", lambda error: problems.append(str(error)))
    opened.on("console", lambda message: problems.append(message.text) if "Content Security" in message.text else None)
    opened.goto(sign_in_link())
    opened.wait_for_url("**/runs**")
    yield opened
    assert not problems


@pytest.fixture
def picture() -> Callable[[Page, str], None]:
    def take(page: Page, name: str) -> None:
        PICTURES.mkdir(exist_ok=True)
        page.screenshot(path=PICTURES / f"{name}.png")

    return take
