"""A real JupyterLab, driven as a student does: open, fill a task, check it, see the verdict."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from stand_ins.filled import answer_parts, copied
from stand_ins.lab_browser import LabPage, browser_program, jupyterlab

from grader import ROOT
from grader.labs.lab import find_lab
from grader.notebook.build import code_source
from grader.notebook.files import notebook_file, write_notebook

SHOTS = os.environ.get("INFERLAB_SCREENSHOTS", "")  # a folder that keeps what was seen


@pytest.fixture
def opened(tmp_path: Path) -> Iterator[LabPage]:
    api = pytest.importorskip("playwright.sync_api", reason="needs the package playwright")
    pytest.importorskip("jupyterlab", reason="needs the extra [notebook]")
    program = browser_program()
    if program is None:
        pytest.skip("no Chromium is installed (Debian: apt install chromium)")
    lab = find_lab("1", copied(ROOT, tmp_path / "course", hidden=False))
    write_notebook(lab, lambda _: "")
    path = notebook_file(lab).relative_to(lab.root)
    with jupyterlab(lab.root, tmp_path) as address, api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=["--no-sandbox"])
        page = browser.new_page(viewport={"width": 1280, "height": 1000})
        yield LabPage(page, address.format(path))
        browser.close()


def shot(opened: LabPage, name: str, cell: str = "") -> None:
    if SHOTS:
        of = opened.cell(cell) if cell else opened.page
        of.screenshot(path=str(Path(SHOTS) / f"{name}.png"))


def test_task_is_filled_checked_and_seen_to_pass(opened: LabPage) -> None:
    answers = answer_parts(find_lab("1", ROOT))
    shot(opened, "opened")
    opened.run("%load_ext")
    opened.run("%%task imports")

    opened.run("%check norm")
    shot(opened, "unwritten")
    before = opened.output("%check norm")
    opened.write("%%task imports", code_source("imports", answers["imports"]))
    opened.run("%%task imports")
    wrong = answers["norm"].replace("+ eps)", "+ 2 * eps)")
    assert wrong != answers["norm"]
    opened.write("%%task norm", code_source("norm", wrong))
    opened.run("%%task norm")
    opened.run("%check norm")
    shot(opened, "wrong", "%check norm")
    between = opened.output("%check norm")
    opened.write("%%task norm", code_source("norm", answers["norm"]))
    opened.run("%%task norm")
    seconds = opened.run("%check norm")
    shot(opened, "right")
    after = opened.output("%check norm")

    assert "✗ not yet · norm: 0 of 10 points" in before
    assert "nothing is written yet" in before
    assert "✗ not yet · norm: 8.33 of 10 points" in between
    assert "✗ contract 3: eps is added to the mean square, under the root" in between
    assert "✗✗✗ 0.208514\n0.25" in between
    assert "✓ passed · norm: 10 of 10 points" in after
    assert seconds < 120
