"""The table of runs as a person uses it: columns, groups, views, selection, undo, keys. One server for all tests."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from playwright.sync_api import Browser, BrowserContext, Locator, Page, expect

from browser.conftest import CLI, PATIENCE, ROOT
from conftest import remove_home

TRAIN = """
import sys, time
from azureml.core import Run
run = Run.get_context()
rate = float(sys.argv[2])
for step in range(50):
    run.log("loss", 1 / (1 + step * rate), step=step)
    run.log("accuracy", step * rate, step=step)
if "forever" in sys.argv:
    time.sleep(600)
for name in sys.argv[3:]:
    with run.child_run(name) as child:
        child.log("loss", 0.5)
"""
NAMES = ("slow", "slow-again", "quick", "tree")


@dataclass(frozen=True)
class World:
    home: Path
    project: Path

    def command(self, *arguments: str) -> None:
        variables = {**os.environ, "FOOTPLATE_HOME": str(self.home)}
        subprocess.run(
            [*CLI, *arguments], env=variables, cwd=self.project, check=True, capture_output=True, timeout=300
        )


@pytest.fixture(scope="module")
def world() -> Iterator[World]:
    """A home with four runs; one of them has two children."""
    world = World(Path(tempfile.mkdtemp(prefix="h", dir="/tmp")), Path(tempfile.mkdtemp(prefix="p", dir="/tmp")))
    (world.project / "train.py").write_text(TRAIN)
    world.command("init", "--name", "runs-page")
    for name, arguments in zip(NAMES, (["0.1"], ["0.1"], ["0.5"], ["0.2", "first-child", "second-child"]), strict=True):
        world.command("run", "--wait", "--name", name, "--tag", f"team={name[:5]}", "train.py", "--rate", *arguments)
    yield world
    shutil.rmtree(world.project)
    left = remove_home(world.home)
    assert not left, f"processes of the tests were left behind (now killed): {left}"


@pytest.fixture
def home(world: World, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Take the place of the fixture that makes a home for each test."""
    monkeypatch.setenv("FOOTPLATE_HOME", str(world.home))
    return world.home


@pytest.fixture(autouse=True)
def _table(page: Page) -> None:
    expect(page.get_by_role("link", name="quick")).to_be_visible()


def title(page: Page, name: str) -> Locator:
    return page.get_by_role("button", name=name, exact=True)


def names(page: Page) -> list[str]:
    return page.locator("tbody .name a").all_inner_texts()


def run_link(page: Page, name: str) -> Locator:
    return page.get_by_role("link", name=name, exact=True)


def test_columns_are_chosen_moved_and_kept_in_the_address(page: Page, context: BrowserContext) -> None:
    expect(title(page, "loss curve")).to_be_visible()
    page.get_by_role("button", name="Columns").click()
    page.get_by_role("searchbox", name="Search names").fill("team")
    page.get_by_role("checkbox", name="tags.team").check()
    page.keyboard.press("Escape")
    expect(page.get_by_role("cell", name="quick", exact=True).last).to_be_visible()
    title(page, "team").press("Alt+ArrowLeft")
    headings = page.locator("thead th .heading > button:first-child")
    expect(headings.nth(-2)).to_have_text("team")
    expect(headings.nth(-1)).to_contain_text("Created")
    width = title(page, "team").locator("xpath=ancestor::th").bounding_box()
    assert width
    title(page, "team").press("Shift+ArrowRight")
    page.wait_for_url("**widths**")
    copy = context.new_page()
    copy.goto(page.url)
    expect(copy.locator("thead th .heading > button:first-child").nth(-2)).to_have_text("team")
    page.goto(page.url.partition("?")[0])  # remembered: an address without columns has them, too
    expect(headings.nth(-2)).to_have_text("team")


def test_the_menu_of_a_column_sorts_shows_extremes_and_removes(page: Page) -> None:
    title(page, "loss").hover()
    page.get_by_role("button", name="Column loss", exact=True).click()
    page.get_by_role("menuitem", name="Show the largest value").click()
    expect(page.locator("td.best").first).to_have_text("1")
    page.get_by_role("button", name="Column loss max").press("Enter")
    page.get_by_role("menuitem", name="Remove the column").press("Enter")
    expect(title(page, "loss max")).to_have_count(0)
    title(page, "rate").click()
    expect(page.locator("tbody .name a").first).to_have_text("slow")
    title(page, "rate").click()
    expect(page.locator("tbody .name a").first).to_have_text("quick")
    page.go_back()
    expect(page.locator("tbody .name a").first).to_have_text("slow")


def test_the_filter_completes_fields_names_and_values(page: Page) -> None:
    page.keyboard.press("/")
    field = page.get_by_role("combobox", name="Filter")
    expect(field).to_be_focused()
    page.keyboard.type("tags.te")
    expect(page.get_by_role("option", name="team")).to_be_visible()
    page.keyboard.press("Tab")
    page.keyboard.type("== sl")
    expect(page.get_by_role("option", name="slow-")).to_be_visible()
    field.fill("tags.team == quick")
    page.keyboard.press("Enter")
    expect(page.get_by_role("button", name="Remove the filter tags.team == quick")).to_be_visible()
    expect(run_link(page, "slow")).to_have_count(0)
    expect(page.get_by_label("Number of runs")).to_have_text("1 of 4 runs")
    field.fill("tags.team = = 1")
    page.keyboard.press("Enter")
    expect(page.get_by_role("alert")).to_contain_text("the filter is wrong")
    page.get_by_role("button", name="clear").click()
    expect(run_link(page, "slow")).to_be_visible()


def test_groups_show_ranges_and_lead_to_their_runs(page: Page) -> None:
    page.get_by_role("button", name="Group").click()
    page.get_by_role("dialog", name="Group").get_by_role("button", name="params.rate").click()
    row = page.get_by_role("row").filter(has=page.get_by_role("button", name="0.1", exact=True))
    expect(row.get_by_role("cell").nth(1)).to_have_text("2")
    page.get_by_role("button", name="loss mean").click()
    expect(page.locator("tbody tr").first).to_contain_text("0.5")
    row.get_by_role("button", name="0.1", exact=True).click()
    expect(page.get_by_role("button", name='Remove the filter params.rate == "0.1"')).to_be_visible()
    expect(page.locator("tbody .name a")).to_have_text(["slow-again", "slow"])


def test_a_view_is_saved_for_others_and_deleted_with_undo(page: Page, context: BrowserContext) -> None:
    page.get_by_role("combobox", name="Filter").fill("params.rate < 0.3")
    page.keyboard.press("Enter")
    expect(run_link(page, "quick")).to_have_count(0)
    page.get_by_role("button", name="+ save view").click()
    page.get_by_role("textbox", name="Name").fill("patient")
    page.keyboard.press("Enter")
    expect(page.get_by_role("link", name="patient")).to_have_attribute("aria-current", "page")
    other = context.new_page()
    other.goto(page.url.partition("?")[0])
    other.get_by_role("link", name="patient").click()
    expect(other.get_by_role("button", name="Remove the filter params.rate < 0.3")).to_be_visible()
    page.get_by_role("button", name="Delete the view patient").click()
    expect(page.get_by_role("link", name="patient")).to_have_count(0)
    page.get_by_role("button", name="Undo").last.click()
    expect(page.get_by_role("link", name="patient")).to_be_visible()


def test_a_selection_is_a_range_and_is_kept_on_the_way_back(page: Page) -> None:
    page.get_by_role("checkbox", name="Select slow", exact=True).click()
    page.get_by_role("checkbox", name="Select quick").click(modifiers=["Shift"])
    expect(page.get_by_role("toolbar", name="Selected runs")).to_contain_text("3 selected")
    expect(page.get_by_role("img", name="loss of")).to_be_visible()
    run_link(page, "quick").click()
    expect(page.get_by_role("heading", name="quick")).to_be_visible()
    page.get_by_role("navigation", name="Pages").get_by_role("link", name="Runs").click()
    expect(page.get_by_role("checkbox", name="Select slow-again")).to_be_checked()
    page.get_by_role("toolbar").get_by_role("button", name="clear").click()
    expect(page.get_by_role("toolbar")).to_have_count(0)


def test_archive_tag_and_delete_can_be_undone(page: Page) -> None:
    page.get_by_role("checkbox", name="Select quick").click()
    page.get_by_role("button", name="Tag", exact=True).click()
    page.get_by_role("textbox", name="Name").fill("kept")
    page.get_by_role("textbox", name="Value").fill("yes")
    page.keyboard.press("Enter")
    notices = page.get_by_role("status", name="Notices")
    expect(notices).to_contain_text("Tagged 1 run")
    notices.get_by_role("button", name="Undo").click()
    expect(notices).to_contain_text("Restored the tag of 1 run")
    page.get_by_role("button", name="Archive", exact=True).click()
    expect(run_link(page, "quick")).to_have_count(0)
    page.get_by_role("button", name="Archived").click()
    expect(run_link(page, "quick")).to_be_visible()
    page.get_by_role("button", name="Show runs that are not archived").click()
    notices.get_by_role("button", name="Undo").last.click()
    expect(run_link(page, "quick")).to_be_visible()
    page.get_by_role("checkbox", name="Select quick").click()
    page.get_by_role("button", name="Delete", exact=True).click()
    expect(run_link(page, "quick")).to_have_count(0)
    notices.get_by_role("button", name="Undo").last.click()
    expect(run_link(page, "quick")).to_be_visible()


def test_selected_runs_are_canceled_and_deleted(page: Page, world: World) -> None:
    world.command("run", "--name", "endless", "train.py", "--rate", "0.1", "forever")
    row = page.get_by_role("row").filter(has=run_link(page, "endless"))
    expect(row).to_contain_text("Running", timeout=PATIENCE)
    page.get_by_role("checkbox", name="Select endless").click()
    expect(page.get_by_role("button", name="Delete", exact=True)).to_be_disabled()  # it has not ended
    page.get_by_role("button", name="Cancel", exact=True).click()
    page.get_by_role("alertdialog").get_by_role("button", name="Cancel 1 run").click()
    expect(row).to_contain_text("Canceled", timeout=PATIENCE)
    page.get_by_role("button", name="Delete", exact=True).click()
    expect(row).to_have_count(0)
    page.get_by_label("Number of runs").filter(has_text="4 runs").wait_for(timeout=PATIENCE)  # deleted on the server
    page.reload()
    expect(run_link(page, "quick")).to_be_visible()
    expect(row).to_have_count(0)


def test_children_open_below_their_run(page: Page) -> None:
    page.get_by_role("button", name="Children of tree").click()
    expect(run_link(page, "first-child")).to_be_visible()
    assert sorted(names(page)[1:3]) == ["first-child", "second-child"]
    page.reload()
    expect(page.get_by_role("button", name="Children of tree")).to_have_attribute("aria-expanded", "true")
    page.get_by_role("button", name="Children of tree").click()
    expect(page.locator("tbody .name a")).to_have_count(4)


def test_everything_can_be_done_with_keys(page: Page) -> None:
    page.keyboard.press("j")
    expect(run_link(page, "tree")).to_be_focused()
    page.keyboard.press("j")
    expect(run_link(page, "quick")).to_be_focused()
    page.keyboard.press("x")
    expect(page.get_by_role("checkbox", name="Select quick")).to_be_checked()
    page.keyboard.press("k")
    expect(run_link(page, "tree")).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name="tree")).to_be_visible()
    page.keyboard.press("Control+k")
    page.get_by_role("combobox", name="Go to").fill("slow-ag")
    expect(page.get_by_role("option", name="slow-again")).to_be_visible()
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name="slow-again")).to_be_visible()
    page.keyboard.press("?")
    expect(page.get_by_role("dialog", name="Keys")).to_be_visible()
    page.keyboard.press("Escape")
    expect(page.get_by_role("dialog")).to_have_count(0)


def test_open_panels_have_no_serious_barriers(page: Page) -> None:
    source = (ROOT / "ui" / "node_modules" / "axe-core" / "axe.min.js").read_text(encoding="utf-8")
    page.evaluate(source)

    def check() -> None:
        found = page.evaluate("axe.run().then((result) => result.violations)")
        serious = [each for each in found if each["impact"] in ("serious", "critical")]
        assert not serious, json.dumps([(each["id"], [node["html"] for node in each["nodes"]]) for each in serious])

    page.get_by_role("checkbox", name="Select quick").click()
    expect(page.get_by_role("img", name="loss of")).to_be_visible()
    check()
    page.get_by_role("button", name="Columns").click()
    expect(page.get_by_role("checkbox", name="tags.team")).to_be_visible()
    check()
    page.keyboard.press("Escape")
    page.keyboard.press("Control+k")
    expect(page.get_by_role("listbox", name="Matches").get_by_role("option").first).to_be_visible()
    check()


def test_a_phone_shows_state_and_a_metric_without_sideways_scroll(
    page: Page, browser: Browser, sign_in_link: Callable[[], str]
) -> None:
    phone = browser.new_context(viewport={"width": 390, "height": 844}, color_scheme="dark")
    small = phone.new_page()
    small.goto(sign_in_link())
    expect(run_link(small, "quick")).to_be_visible()
    expect(title(small, "loss")).to_be_visible()
    assert small.evaluate("document.documentElement.scrollWidth") <= 390
    assert small.evaluate("document.querySelector('.table').scrollWidth") <= 390
    phone.close()
