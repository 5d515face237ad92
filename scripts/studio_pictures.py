"""Make pictures of the page: every page light and dark, wide and 390 pixels narrow, of a server with real runs.

    .venv/bin/python scripts/studio_pictures.py FOLDER

The folder must be outside git. Look at the pictures after each change of the page.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from playwright.sync_api import Browser, BrowserContext, Page, sync_playwright

CLI = [sys.executable, "-m", "footplate"]
SIZES = {"wide": (1440, 900), "phone": (390, 844)}
SCHEMES = ("light", "dark")
PATIENCE = 60_000
SETTLE = 1500
"""Milliseconds in which charts draw themselves: they are no part of the document that could be waited for."""

TRAIN = """
import argparse, math, random, time
from azureml.core import Run

parser = argparse.ArgumentParser()
parser.add_argument("--lr", type=float)
parser.add_argument("--batch", type=int)
parser.add_argument("--until")
arguments = parser.parse_args()
run = Run.get_context()
dice = random.Random(arguments.batch)
for step in range(300):
    loss = 2.3 * math.exp(-step * arguments.lr / 6) + 0.17 + dice.gauss(0, 0.012)
    run.log("loss", loss, step=step)
    run.log("accuracy", 1 - loss / 2.6, step=step)
    run.log("learning_rate", arguments.lr * (1 - step / 300), step=step)
    print(f"step {step:4d}  loss {loss:.4f}")
if arguments.until == "error":
    raise MemoryError("CUDA out of memory: tried to allocate 8.00 GiB")
while arguments.until == "canceled":
    time.sleep(1)
"""
RUNS = (
    ("mnist-resnet", "ana", 0.01, 256, "end"),
    ("mnist-resnet", "ana", 0.03, 256, "end"),
    ("mnist-wide", "ben", 0.03, 512, "end"),
    ("mnist-wide", "ben", 0.1, 512, "end"),
    ("mnist-resnet", "ana", 0.3, 128, "end"),
    ("mnist-wide", "ben", 0.1, 1024, "error"),
    ("asr-base", "ana", 0.02, 64, "canceled"),
)


class World:
    """A home with a server and runs."""

    def __init__(self, folder: Path) -> None:
        self._project = folder / "project"
        self._project.mkdir()
        (self._project / "train.py").write_text(TRAIN)
        self._variables = {**os.environ, "FOOTPLATE_HOME": str(folder / "home")}

    def command(self, *arguments: str) -> str:
        return subprocess.run(
            [*CLI, *arguments], cwd=self._project, env=self._variables, capture_output=True, text=True, check=False
        ).stdout

    def fill(self) -> None:
        for name, team, rate, batch, until in RUNS:
            wait = () if until == "canceled" else ("--wait",)
            script = ("train.py", "--lr", str(rate), "--batch", str(batch), "--until", until)
            self.command("run", *wait, "--name", name, "--tag", f"team={team}", "--experiment", "mnist", *script)

    def link(self) -> str:
        return str(json.loads(self.command("ui", "--no-browser", "--json"))["url"])

    def stop(self) -> None:
        self.command("runs", "cancel", "latest")
        self.command("server", "stop")


def select_runs(page: Page) -> None:
    boxes = page.get_by_role("checkbox", name="Select mnist")
    boxes.nth(1).click()
    boxes.nth(3).click(modifiers=["Shift"])
    page.get_by_role("img", name="loss of").first.wait_for()


def group_runs(page: Page) -> None:
    page.get_by_role("button", name="Group").click()
    page.get_by_role("dialog").get_by_role("button", name="params.lr").click()
    page.get_by_role("table", name="Runs by lr").wait_for()


def open_columns(page: Page) -> None:
    page.get_by_role("button", name="Columns").click()
    page.get_by_role("checkbox", name="metrics.loss").wait_for()


def open_palette(page: Page) -> None:
    page.keyboard.press("Control+k")
    page.get_by_role("listbox", name="Matches").get_by_role("option").first.wait_for()


def complete_filter(page: Page) -> None:
    page.keyboard.press("/")
    page.keyboard.type("params.")
    page.get_by_role("option", name="batch").wait_for()


def open_run(state: str) -> Callable[[Page], None]:
    def act(page: Page) -> None:
        page.get_by_role("row").filter(has_text=state).locator(".name a").first.click()
        page.get_by_role("heading", level=1).wait_for()

    return act


def open_part(state: str, part: str) -> Callable[[Page], None]:
    def act(page: Page) -> None:
        open_run(state)(page)
        page.get_by_role("link", name=part, exact=False).first.click()

    return act


EVERYWHERE: dict[str, Callable[[Page], None]] = {
    "runs": lambda page: None,
    "run-completed": open_run("Completed"),
    "run-failed": open_run("CUDA"),
    "run-logs": open_part("CUDA", "Logs"),
}
WIDE_ONLY: dict[str, Callable[[Page], None]] = {
    "runs-selected": select_runs,
    "runs-grouped": group_runs,
    "runs-columns": open_columns,
    "runs-filter": complete_filter,
    "palette": open_palette,
    "run-charts": open_part("Completed", "Charts"),
    "run-story": open_part("Completed", "Story"),
}


@contextmanager
def signed_in(
    browser: Browser, world: World, size: tuple[int, int], scheme: str
) -> Iterator[tuple[BrowserContext, str]]:
    context = browser.new_context(viewport={"width": size[0], "height": size[1]}, color_scheme=scheme)  # type: ignore
    context.set_default_timeout(PATIENCE)
    page = context.new_page()
    page.goto(world.link())
    page.wait_for_url("**/runs**")
    yield context, page.url.partition("?")[0]
    context.close()


def take(context: BrowserContext, address: str, act: Callable[[Page], None], path: Path) -> None:
    page = context.new_page()
    page.goto(address)
    page.locator("tbody .name a").first.wait_for()
    act(page)
    page.wait_for_timeout(SETTLE)
    page.screenshot(path=path)
    page.close()


def main() -> None:
    if len(sys.argv) != 2:
        raise SystemExit("usage: studio_pictures.py FOLDER")
    pictures = Path(sys.argv[1]).resolve()
    pictures.mkdir(parents=True, exist_ok=True)
    folder = Path(tempfile.mkdtemp(prefix="fp", dir="/tmp"))
    world = World(folder)
    try:
        world.command("init", "--name", "vision")
        program = shutil.which("chromium")
        with sync_playwright() as playwright:
            browser = playwright.chromium.launch(executable_path=program, args=["--no-sandbox"])
            photograph(browser, world, pictures)
    finally:
        world.stop()
        shutil.rmtree(folder, ignore_errors=True)
    print(f"{len(list(pictures.glob('*.png')))} pictures in {pictures}")


def photograph(browser: Browser, world: World, pictures: Path) -> None:
    with signed_in(browser, world, SIZES["wide"], "light") as (context, _):
        page = context.pages[0]
        page.get_by_role("heading", name="No runs yet").wait_for()
        page.screenshot(path=pictures / "empty-wide-light.png")
        world.fill()
    for size_name, size in SIZES.items():
        for scheme in SCHEMES:
            with signed_in(browser, world, size, scheme) as (context, address):
                views = EVERYWHERE | (WIDE_ONLY if size_name == "wide" else {})
                for name, act in views.items():
                    take(context, address, act, pictures / f"{name}-{size_name}-{scheme}.png")


if __name__ == "__main__":
    main()
