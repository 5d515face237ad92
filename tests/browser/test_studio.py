"""The page as a person uses it: sign in, the table of runs, the page of a run, live."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, expect

from browser.conftest import CLI, PATIENCE, ROOT

TRAIN = """
import math, sys, time
from azureml.core import Run
run = Run.get_context()
rate = float(sys.argv[2])
for step in range(200):
    run.log("loss", math.exp(-step * rate), step=step)
    run.log("<b>bold</b>", step, step=step)
print("the last line <script>alert(1)</script>")
if "--fail" in sys.argv:
    raise RuntimeError("no more memory")
if "--wait" in sys.argv:
    for step in range(200, 100_000):
        run.log("loss", 0.5, step=step)
        time.sleep(0.05)
open("outputs/report.html", "w").write("<script>document.title = 'owned'</script>")
"""


def command(*arguments: str) -> str:
    done = subprocess.run([*CLI, *arguments], capture_output=True, text=True, timeout=300, check=False)
    return done.stdout


def submit(*arguments: str) -> str:
    """Run the script and wait for its end; return the run's id."""
    command("run", "--wait", "train.py", *arguments)
    return str(json.loads(command("runs", "show", "latest", "--json"))["id"])


@pytest.fixture
def project(home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "project"
    folder.mkdir()
    monkeypatch.chdir(folder)
    (folder / "train.py").write_text(TRAIN)
    command("init", "--name", "studio")
    return folder


@pytest.fixture
def runs(project: Path) -> list[str]:
    return [submit("--rate", "0.01"), submit("--rate", "0.1"), submit("--rate", "0.2", "--fail")]


def row(page: Page, run: str) -> object:
    return page.get_by_role("row").filter(has=page.get_by_role("link", name=run))


def test_an_empty_workspace_shows_the_lines_that_fill_it(project: Path, page: Page) -> None:
    expect(page.get_by_role("heading", name="No runs yet")).to_be_visible()
    expect(page.get_by_text("footplate run train.py", exact=True)).to_be_visible()
    submit("--rate", "0.1")
    expect(page.get_by_role("heading", name="Runs")).to_be_visible()  # by itself, without a reload


def test_a_link_works_once_and_leaves_the_history(
    project: Path, context: BrowserContext, sign_in_link: Callable[[], str], browser: Browser
) -> None:
    link = sign_in_link()
    page = context.new_page()
    page.goto(link)
    page.wait_for_url("**/runs**")
    page.go_back()
    assert "#" not in page.url
    other = browser.new_context()
    second = other.new_page()
    second.goto(link)
    expect(second.get_by_role("alert")).to_contain_text("used before", timeout=PATIENCE)
    other.close()


def test_runs_are_listed_filtered_sorted_and_compared(
    runs: list[str], page: Page, context: BrowserContext, picture: Callable[[Page, str], None]
) -> None:
    first, second, failed = runs
    for run in runs:
        expect(page.get_by_role("link", name=run)).to_be_visible()
    expect(row(page, failed)).to_contain_text("no more memory")  # type: ignore[arg-type]
    page.get_by_role("button", name="loss", exact=True).click()
    expect(
        page.get_by_role("columnheader").filter(has=page.get_by_role("button", name="loss", exact=True))
    ).to_have_attribute("aria-sort", "ascending")
    expect(page.locator("tbody tr").nth(2)).to_contain_text(first)
    for run in (first, second):
        page.get_by_role("checkbox", name=f"Select {run}").check()
    expect(page.get_by_role("img", name="loss of")).to_be_visible()
    picture(page, "runs")
    page.get_by_label("Filter").fill("params.rate == 0.1")
    page.get_by_label("Filter").press("Enter")
    expect(page.get_by_role("link", name=first)).to_have_count(0)
    expect(page.get_by_role("link", name=second)).to_be_visible()
    copy = context.new_page()  # the whole view is in the address
    copy.goto(page.url)
    expect(copy.get_by_role("button", name="Remove the filter params.rate == 0.1")).to_be_visible()
    expect(copy.get_by_role("checkbox", name=f"Select {second}")).to_be_checked()
    copy.get_by_role("button", name="Remove the filter").click()
    expect(copy.get_by_role("link", name=first)).to_be_visible()


def test_a_failed_run_says_why(runs: list[str], page: Page, picture: Callable[[Page, str], None]) -> None:
    page.get_by_role("link", name=runs[2]).click()
    expect(page.get_by_text("Failed after")).to_contain_text("no more memory")
    expect(page.get_by_role("heading", name="Why it failed")).to_be_visible()
    expect(page.get_by_text("RuntimeError: no more memory").last).to_be_visible()
    expect(page.get_by_role("list", name="Phases")).to_contain_text("Running")
    picture(page, "run")
    page.get_by_role("link", name="Logs").click()
    expect(page.get_by_role("log")).to_contain_text("the last line <script>alert(1)</script>")
    page.get_by_role("link", name="Story").click()
    expect(page.get_by_role("row").nth(1)).to_contain_text("submitted by")


def test_names_of_metrics_are_text_and_html_files_never_run(runs: list[str], page: Page) -> None:
    page.get_by_role("link", name=runs[0]).click()
    expect(page.get_by_role("heading", name="<b>bold</b>")).to_be_visible()
    page.get_by_role("link", name="Files").click()
    page.get_by_role("button", name="outputs/report.html", exact=True).click()
    expect(page.get_by_text("document.title = 'owned'")).to_be_visible()
    assert page.title() == "Footplate"


def test_a_running_run_is_live_and_can_be_canceled(project: Path, page: Page) -> None:
    command("run", "train.py", "--rate", "0.1", "--wait")
    run = str(json.loads(command("runs", "show", "latest", "--json"))["id"])
    page.get_by_role("link", name=run).click()
    expect(page.get_by_text("Running for")).to_be_visible(timeout=PATIENCE)
    summary = page.get_by_role("row").filter(has=page.get_by_role("rowheader", name="loss"))
    expect(summary).to_contain_text("0.5", timeout=PATIENCE)  # logged after the page was opened
    page.get_by_role("button", name="Cancel").click()
    expect(page.get_by_text("Canceled after")).to_be_visible(timeout=PATIENCE)


def test_the_page_continues_when_the_server_is_back(runs: list[str], page: Page) -> None:
    command("server", "stop")
    away = page.get_by_role("status").filter(has_text="The server does not answer")
    expect(away).to_be_visible(timeout=PATIENCE)
    new = submit("--rate", "0.3")  # starts the server again
    expect(away).to_have_count(0, timeout=PATIENCE)
    expect(page.get_by_role("link", name=new)).to_be_visible(timeout=PATIENCE)


def test_a_phone_shows_state_and_last_metric_without_sideways_scroll(
    runs: list[str], browser: Browser, sign_in_link: Callable[[], str], picture: Callable[[Page, str], None]
) -> None:
    phone = browser.new_context(viewport={"width": 390, "height": 844}, color_scheme="dark")
    page = phone.new_page()
    page.goto(sign_in_link())
    page.get_by_role("link", name=runs[1]).click()
    expect(page.get_by_text("Completed after")).to_be_visible()
    expect(page.get_by_role("rowheader", name="loss")).to_be_visible()
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    picture(page, "run-phone-dark")
    phone.close()


def test_signing_out_ends_the_session(project: Path, page: Page) -> None:
    address = urlsplit(page.url)
    page.get_by_role("button", name="Sign out").click()
    expect(page.get_by_role("heading", name="Sign in")).to_be_visible()
    page.goto(f"{address.scheme}://{address.netloc}/")
    expect(page.get_by_role("heading", name="Sign in")).to_be_visible()


def test_pages_have_no_serious_barriers(runs: list[str], page: Page) -> None:
    """Axe finds no serious or critical violation, in light and dark."""
    source = (ROOT / "ui" / "node_modules" / "axe-core" / "axe.min.js").read_text(encoding="utf-8")
    for scheme in ("light", "dark"):
        page.emulate_media(color_scheme=scheme)  # type: ignore[arg-type]
        for address, part in ((page.url.partition("?")[0], "table"), (f"{runs_address(page)}/{runs[2]}", "h1")):
            page.goto(address)
            expect(page.locator(part).first).to_be_visible()
            page.evaluate(source)
            found = page.evaluate("axe.run().then((result) => result.violations)")
            serious = [each for each in found if each["impact"] in ("serious", "critical")]
            assert not serious, json.dumps(
                [(each["id"], [node["html"] for node in each["nodes"]]) for each in serious], indent=1
            )
        page.goto(runs_address(page))


def runs_address(page: Page) -> str:
    return page.url.partition("/runs")[0] + "/runs"
