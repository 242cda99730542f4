"""`docs/triton.md`, which students read: its code runs, and prints what the page says."""

import html
import re
import runpy
from pathlib import Path

import pytest

from grader.__main__ import main
from grader.course.publishing.illustrate import page_changes

DOCS = Path(__file__).resolve().parents[2] / "docs"
PAGE = DOCS / "triton.md"
MARK = "<end of a block>"


def blocks() -> list[tuple[str, str]]:
    """Return the code of each block, and what the comments at its end say that it prints."""
    found = re.findall(r"^```python\n(.*?)^```$", PAGE.read_text("utf-8"), re.MULTILINE | re.DOTALL)
    parts = [re.fullmatch(r"(.*?)((?:^#[^\n]*\n)*)", text, re.M | re.S) for text in found]
    return [(part[1], re.sub("^# ?", "", part[2], flags=re.M)) for part in parts if part]


def test_each_block_prints_what_the_page_says(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    code, printed = zip(*blocks(), strict=True)
    script = tmp_path / "mine.py"
    script.write_text("".join(f"{part}\nprint({MARK!r})\n" for part in code))

    assert main(["python", "6", "--device", "cpu", str(script)]) == 0

    assert capfd.readouterr().out.split(f"{MARK}\n") == [*printed, ""]
    assert all(printed), "a block that prints nothing shows nothing"


def test_the_page_says_what_the_trace_shows() -> None:
    drawn = (DOCS / "pictures" / "trace.svg").read_text("utf-8")
    title = re.search("<title>(.*?)</title>", drawn)
    said = re.search(r"!\[((?:\\.|[^\]\\])+)\]\(pictures/trace.svg\)", PAGE.read_text("utf-8"))

    assert title
    assert said
    assert re.sub(r"\\(.)", r"\1", said[1]) == html.unescape(title[1])


def test_pictures_are_what_the_script_draws() -> None:
    pictures = runpy.run_path(str(DOCS / "pictures" / "draw.py"))["PICTURES"]

    assert {f"pictures/{name}" for name in pictures} == set(
        re.findall(r"!\[(?:\\.|[^\]\\])+\]\(([^)]+)\)", PAGE.read_text("utf-8"))
    )
    assert list(page_changes(DOCS.parent)) == []
