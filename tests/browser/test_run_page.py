"""The page of a run: charts, logs, the moment, files, code, notes and actions, on one server with real runs."""

from __future__ import annotations

import io
import json
import re
import subprocess
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from playwright.sync_api import Locator, Page, expect

from browser.conftest import CLI, PATIENCE, ROOT
from footplate.api import ApiClient
from footplate.client import connect

pytestmark = pytest.mark.shared_home

TRAIN = """
import json, os, struct, sys, time, wave
from azureml.core import Run
run = Run.get_context()
rank = int(os.environ.get("RANK", "0"))
print("\\033[31mred\\033[0m \\033]8;;https://evil.example/\\033\\\\a link\\033]8;;\\033\\\\ <b>bold</b>")
for step in range(60):
    run.log("train/loss", 1 / (step + 1) + rank, step=step)
    print(f"rank {rank} step {step}", flush=True)
    if "--slow" in sys.argv:
        time.sleep(0.05)
for name in range(2000 if "--many" in sys.argv else 3):
    run.log(f"group{name % 20}/metric{name}", name)
if "--long" in sys.argv:
    print("\\n".join(f"line {i}" for i in range(200_000)))
    print("Traceback (most recent call last):\\nValueError: in the middle")
    print("\\n".join(f"late {i}" for i in range(100_000)))
if "--million" in sys.argv:
    for step in range(1_000_000):
        run.log("wave", (step * 7919) % 1000 / 7 if step != 654_321 else 1e6, step=step)
if rank == 0:
    os.makedirs("outputs", exist_ok=True)
    open("outputs/table.csv", "w").write('name,note\\na,"x, y"\\n')
    open("outputs/result.json", "w").write(json.dumps({"accuracy": 0.91, "nested": {"deep": [1, None]}}))
    open("outputs/notes.md", "w").write("# Heading\\n\\n<img src=x onerror=alert(1)>**strong**")
    cell = {"cell_type": "code", "execution_count": 1, "source": "print(1)", "outputs": [
        {"output_type": "stream", "text": ["from the notebook"]},
        {"output_type": "display_data", "data": {"text/html": "<script>alert(1)</script>", "text/plain": "plain"}}]}
    open("outputs/analysis.ipynb", "w").write(json.dumps({"cells": [cell]}))
    with wave.open("outputs/tone.wav", "wb") as tone:
        tone.setparams((1, 2, 8000, 0, "NONE", ""))
        tone.writeframes(struct.pack("<h", 0) * 800)
    import pyarrow, pyarrow.parquet
    pyarrow.parquet.write_table(pyarrow.table({"id": list(range(250))}), "outputs/scores.parquet")
if "--fail" in sys.argv and rank == 1:
    raise RuntimeError("no more memory")
if "--wait" in sys.argv:
    time.sleep(600)
"""


def command(*arguments: str) -> str:
    """Run a command; a run that fails is no error of the command."""
    done = subprocess.run([*CLI, *arguments], capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0 or "submitted" in done.stderr, done.stderr
    return done.stdout


class Studio(NamedTuple):
    """The ids of the runs, by their names."""

    many: str
    ranks: str
    million: str


@pytest.fixture(scope="module")
def studio(_home_of_module: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Studio]:
    folder = tmp_path_factory.mktemp("project")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("FOOTPLATE_HOME", str(_home_of_module))
        patch.chdir(folder)
        (folder / "train.py").write_text(TRAIN)
        command("init", "--name", "studio")
        for arguments in (
            ("--name", "many", "train.py", "--many", "--long"),
            (
                "--name",
                "ranks",
                "--distribution",
                "torch",
                "--backend",
                "gloo",
                "--processes",
                "2",
                "train.py",
                "--slow",
                "--fail",
            ),
            ("--name", "million", "train.py", "--million"),
        ):
            command("run", "--wait", "--no-stream", *arguments)
        listed = json.loads(command("runs", "list", "--json"))
        yield Studio(**{run["display_name"]: run["id"] for run in listed})


@pytest.fixture
def opened(studio: Studio, page: Page) -> Callable[..., Page]:
    """Open a part of the page of a run."""
    base = page.url.partition("/runs")[0] + "/runs"

    def open_part(run: str, tab: str = "overview", **search: Any) -> Page:
        query = "&".join(f"{name}={json.dumps(value)}" for name, value in search.items())
        page.goto(f"{base}/{run}?tab={tab}&{query}")
        expect(page.get_by_role("navigation", name="Parts of the run")).to_be_visible()
        return page

    return open_part


def chart(page: Page, name: str) -> Locator:
    return page.get_by_role("region", name=name, exact=True)


def drag(page: Page, target: Locator, start: float, end: float) -> None:
    target.scroll_into_view_if_needed()
    box = target.bounding_box()
    assert box is not None
    plot = (box["x"] + 56, box["width"] - 80)
    height = box["y"] + box["height"] / 2
    page.mouse.move(plot[0] + plot[1] * start, height)
    page.mouse.down()
    page.mouse.move(plot[0] + plot[1] * (start + end) / 2, height)
    page.mouse.move(plot[0] + plot[1] * end, height)
    page.mouse.up()


def test_thousands_of_charts_are_few_elements(studio: Studio, opened: Callable[..., Page]) -> None:
    page = opened(studio.many, "charts")
    expect(page.get_by_text("2,001 charts")).to_be_visible()
    expect(page.get_by_role("img", name="train/loss over step")).to_be_visible()
    assert page.get_by_role("img").count() < 40
    page.get_by_label("Filter charts by name").fill("metric1999")
    expect(page.get_by_text("1 of 2,001 charts")).to_be_visible()
    expect(chart(page, "group19/metric1999")).to_be_visible()
    chart(page, "group19/metric1999").get_by_role("button", name="Pin").click()
    page.get_by_label("Filter charts by name").fill("")
    expect(page.get_by_role("button", name="Pinned 1")).to_be_visible()
    page.get_by_role("button", name="train 1").click()
    expect(chart(page, "train/loss")).to_have_count(0)
    page.reload()  # the view is in the address
    expect(page.get_by_role("button", name="Pinned 1")).to_be_visible()
    expect(page.get_by_role("button", name="train 1")).to_have_attribute("aria-expanded", "false")


def test_a_chart_zooms_and_is_saved(studio: Studio, opened: Callable[..., Page]) -> None:
    page = opened(studio.ranks, "charts", find="train/loss")
    loss = chart(page, "train/loss").get_by_role("img")
    expect(loss).to_be_visible()
    with page.expect_response(lambda answer: "low=" in answer.url):
        drag(page, loss, 0.3, 0.6)
    expect(page.get_by_role("group", name="Zoom")).to_be_visible()
    low, high = (float(re.findall(rf"{name}=([\d.]+)", page.url)[0]) for name in ("low", "high"))
    assert 10 < low < 25 < high < 45
    page.get_by_role("button", name="Later").click()
    page.wait_for_function("low => Number(new URLSearchParams(location.search).get('low')) > low", arg=low)
    page.get_by_role("button", name="Show all").click()
    expect(page.get_by_role("group", name="Zoom")).to_have_count(0)
    with page.expect_download() as picture:
        page.get_by_role("button", name="Download train/loss as PNG").click()
    assert Path(picture.value.path()).read_bytes().startswith(b"\x89PNG")
    with page.expect_download() as table:
        page.get_by_role("button", name="Download train/loss as CSV").click()
    rows = Path(table.value.path()).read_text().splitlines()
    assert rows[0] == "step,time,value"
    assert len(rows) == 1 + 2 * 60


def test_a_chart_is_smoothed_and_split_by_rank_by_the_server(studio: Studio, opened: Callable[..., Page]) -> None:
    page = opened(studio.ranks, "charts", find="train/loss")
    expect(chart(page, "train/loss").get_by_role("img")).to_be_visible()
    with page.expect_response(lambda answer: "by_rank=true" in answer.url) as split:
        page.get_by_role("checkbox", name="per rank").check()
    assert [(curve["rank"], curve["total"]) for curve in split.value.json()["curves"]] == [(0, 60), (1, 60)]
    with page.expect_response(lambda answer: "smooth=0.9" in answer.url) as smoothed:
        page.get_by_label("smoothing").fill("0.9")
    curve = smoothed.value.json()["curves"][0]
    assert curve["value"][-1] > 1 / 60  # an average is above the last value of a falling curve
    assert "ranks=true" in page.url and "smoothing=0.9" in page.url


def test_a_million_points_are_those_of_the_journal(studio: Studio, opened: Callable[..., Page]) -> None:
    [logged] = ApiClient(connect()).metrics.read(studio.million, name="wave")[studio.million]
    values = [value for _, _, value in logged.points]
    assert len(values) == 1_000_000

    def shown(address: str, act: Callable[[], object]) -> dict[str, Any]:
        with opened_page.expect_response(lambda answer: "name=wave" in answer.url and address in answer.url) as answer:
            act()
        grid: dict[str, Any] = answer.value.json()
        return grid

    opened_page = opened(studio.ranks)
    grid = shown("axis=step", lambda: opened(studio.million, "charts", find="wave"))
    [curve] = grid["curves"]
    buckets, width = curve["buckets"], int(grid["width"])
    assert sum(buckets["count"]) == 1_000_000
    assert max(buckets["max"]) == 1e6  # the one spike
    for at, *shown_values in zip(*(buckets[name] for name in ("x", "first", "min", "max", "last")), strict=True):
        part = values[int(at) : int(at) + width]
        assert shown_values == [part[0], min(part), max(part), part[-1]]
    plot = chart(opened_page, "wave").get_by_role("img", name="1,000,000 points")
    expect(plot).to_be_visible()
    raw = shown("low=654300", lambda: opened(studio.million, "charts", find="wave", low=654_300, high=654_400))
    steps = raw["curves"][0]["x"]
    assert steps == [float(step) for step in range(int(steps[0]), int(steps[-1]) + 1)]
    assert steps[0] in (654_299, 654_300) and steps[-1] in (654_400, 654_401)  # neighbours continue the line
    assert raw["curves"][0]["value"] == values[int(steps[0]) : int(steps[-1]) + 1]


def test_files_are_shown_as_what_they_are(studio: Studio, opened: Callable[..., Page]) -> None:
    page = opened(studio.many, "files")

    def preview(name: str) -> Locator:
        page.get_by_role("button", name=f"outputs/{name}", exact=True).click()
        return page.get_by_role("region", name=f"outputs/{name}", exact=True)

    expect(preview("table.csv").get_by_role("cell", name="x, y")).to_be_visible()
    expect(preview("result.json").get_by_text("0.91")).to_be_visible()
    expect(preview("scores.parquet").get_by_text("1 to 100 of 250 rows")).to_be_visible()
    page.get_by_role("button", name="Later rows").click()
    expect(page.get_by_role("cell", name="199", exact=True)).to_be_visible()
    notebook = preview("analysis.ipynb")
    expect(notebook.get_by_text("from the notebook")).to_be_visible()
    expect(notebook.get_by_text("plain")).to_be_visible()
    markdown = preview("notes.md")
    expect(markdown.get_by_role("heading", name="Heading")).to_be_visible()
    expect(markdown.locator("img")).to_have_count(0)
    expect(preview("tone.wav").locator("audio")).to_have_attribute("src", re.compile("^blob:"))
    with page.expect_download() as archive:
        page.get_by_role("button", name="Outputs as zip").click()
    with zipfile.ZipFile(io.BytesIO(Path(archive.value.path()).read_bytes())) as packed:
        assert packed.read("outputs/table.csv") == b'name,note\na,"x, y"\n'


def test_code_environment_and_data_have_parts(studio: Studio, opened: Callable[..., Page]) -> None:
    page = opened(studio.many, "code")
    page.get_by_role("button", name="train.py", exact=True).click()
    expect(page.get_by_role("region", name="train.py")).to_contain_text("Run.get_context()")
    page = opened(studio.many, "environment", other=studio.ranks)
    expect(page.get_by_role("region", name="Packages")).to_contain_text("interpreter")
    expect(page.get_by_role("region", name="Differences")).to_contain_text("the same lock")
    page = opened(studio.many, "data")
    expect(page.get_by_text("uses no data")).to_be_visible()


def test_notes_are_markdown_that_cannot_run(studio: Studio, opened: Callable[..., Page]) -> None:
    page = opened(studio.ranks)
    notes = page.get_by_role("region", name="Notes")
    notes.get_by_role("button", name="Edit").click()
    text = "**big** [bad](javascript:alert(1)) [good](https://example.com) <img src=x onerror=alert(1)><form><input>"
    notes.get_by_label("Notes in Markdown").fill(text)
    notes.get_by_role("button", name="Save").click()
    expect(notes.locator("strong")).to_have_text("big")
    expect(notes.get_by_role("link")).to_have_count(1)
    expect(notes.get_by_role("link", name="good")).to_have_attribute("rel", "noopener noreferrer")
    expect(notes.locator("img, form, input")).to_have_count(0)


def test_tags_are_added_and_removed(studio: Studio, opened: Callable[..., Page]) -> None:
    page = opened(studio.ranks)
    tags = page.get_by_role("region", name="Tags")
    tags.get_by_label("New tag").fill("model=resnet")
    tags.get_by_role("button", name="Add").click()
    expect(tags.get_by_text("model=resnet")).to_be_visible()
    tags.get_by_role("button", name="Remove the tag model").click()
    expect(tags.get_by_role("listitem")).to_have_count(0)


def test_a_model_is_registered_from_a_folder(studio: Studio, opened: Callable[..., Page]) -> None:
    page = opened(studio.many)
    page.get_by_role("button", name="Register model").click()
    dialog = page.get_by_role("dialog", name="Register a model")
    dialog.get_by_label("Name of the model").fill("digits")
    dialog.get_by_role("button", name="Register").click()
    expect(dialog.get_by_role("status")).to_contain_text("digits:1 is registered")
    dialog.get_by_role("button", name="Close").click()
    expect(dialog).to_have_count(0)


def test_a_run_is_submitted_again_with_other_arguments(studio: Studio, opened: Callable[..., Page]) -> None:
    page = opened(studio.million)
    page.get_by_role("button", name="Rerun").click()
    dialog = page.get_by_role("dialog", name="Run it again")
    dialog.get_by_label("Arguments of train.py").fill("--wait 'two words'")
    dialog.get_by_role("button", name="Submit").click()
    expect(page.get_by_text("Running for")).to_be_visible(timeout=PATIENCE)
    expect(page.get_by_role("region", name="Run", exact=True)).to_contain_text("train.py --wait 'two words'")
    expect(page.get_by_role("img", name="train/loss over step")).to_be_visible(timeout=PATIENCE)
    page.get_by_role("button", name="Stacks").click()
    expect(page.get_by_role("dialog", name="Stacks")).to_contain_text("train.py", timeout=PATIENCE)
    page.get_by_role("button", name="Close").click()
    page.get_by_role("button", name="Cancel").click()
    expect(page.get_by_text("Canceled after")).to_be_visible(timeout=PATIENCE)


def test_a_log_is_searched_and_linked_as_a_whole(studio: Studio, opened: Callable[..., Page]) -> None:
    page = opened(studio.many, "logs")
    log = page.get_by_role("log")
    expect(log).to_contain_text("late 99999")  # the end first
    expect(page.get_by_text("300,063 lines")).to_be_visible()
    assert log.locator("[data-line]").count() <= 3000
    page.get_by_role("button", name="First error").click()
    expect(log.locator(".chosen")).to_contain_text("Traceback (most recent call last)")
    assert "line=200062" in page.url
    page.get_by_label("Search the log").fill("line 12345[67]$")
    page.get_by_role("checkbox", name="regex").check()
    matches = page.get_by_role("region", name="Matches")
    expect(matches.get_by_role("status")).to_contain_text("2 matches")
    matches.get_by_role("button", name="line 123457").click()
    expect(log.locator(".chosen")).to_contain_text("line 123457")
    expect(log.locator(".chosen")).to_be_in_viewport()
    page.get_by_role("slider", name="Position in the log").fill("0")
    expect(log.get_by_text("a link", exact=False)).to_be_visible()
    expect(log.get_by_role("link")).to_have_count(0)
    expect(log.get_by_text("red", exact=True)).to_have_class("ansi-1")
    page.get_by_role("button", name="Follow").click()
    expect(log.get_by_text("late 99999")).to_be_in_viewport()
    page.get_by_label("Search the log").fill("(")
    expect(page.get_by_role("alert")).to_be_visible()


def test_a_click_on_a_curve_shows_that_moment(studio: Studio, opened: Callable[..., Page]) -> None:
    page = opened(studio.ranks, "charts", find="train/loss")
    plot = chart(page, "train/loss").get_by_role("img")
    expect(plot).to_be_visible()
    plot.click()
    moment = page.get_by_role("region", name="Moment")
    lines = moment.get_by_role("list", name="Log lines around")
    expect(lines).to_contain_text("rank 0 step")
    expect(lines).to_contain_text("rank 1 step")
    expect(moment.get_by_role("table", name="Hardware")).to_contain_text("CPU")
    expect(moment.get_by_role("list", name="Events around")).to_contain_text("the script runs")
    before = page.url
    moment.get_by_role("button", name="Later moment").click()
    page.wait_for_function("before => location.href !== before", arg=before)
    lines.get_by_role("link").first.click()
    expect(page.get_by_role("log").locator(".chosen")).to_be_in_viewport()


def test_every_part_is_accessible_and_fits_a_phone(
    studio: Studio, opened: Callable[..., Page], picture: Callable[[Page, str], None]
) -> None:
    axe = (ROOT / "ui" / "node_modules" / "axe-core" / "axe.min.js").read_text(encoding="utf-8")
    parts = {
        "overview": "Why it failed", "charts": "4 charts", "logs": "rank 0 step 59", "hardware": "Node 0",
        "files": "table.csv", "code": "train.py", "environment": "(interpreter)", "story": "submitted by",
    }  # fmt: skip
    for tab, text in parts.items():
        page = opened(studio.ranks, tab)
        for scheme, width in (("light", 1440), ("dark", 390)):
            page.emulate_media(color_scheme=scheme)  # type: ignore[arg-type]
            page.set_viewport_size({"width": width, "height": 900})
            expect(page.get_by_text(text).first).to_be_visible()
            picture(page, f"run-{tab}-{scheme}")
            assert page.evaluate("document.documentElement.scrollWidth") <= width, tab
        page.evaluate(axe)
        found = page.evaluate("axe.run().then((result) => result.violations)")
        serious = [each for each in found if each["impact"] in ("serious", "critical")]
        assert not serious, (tab, [(each["id"], [node["html"] for node in each["nodes"]]) for each in serious])
