"""The measured speed in every form of a report, and its plots."""

import base64
import itertools
import json
import re
import xml.etree.ElementTree as ET
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from stand_ins.sample_reports import GPU, HOSTILE, measured, mixed, report_of, speed_entry
from stand_ins.wellformed import OUR_TAGS, Page
from test_terminal import plain

from grader.labs.results import Report
from grader.report.facts.measured import speed_cases
from grader.report.facts.speed import gpu_line
from grader.report.formats.forms import Form, render
from grader.report.markup.chart import HEIGHT, LEFT, RIGHT, WIDTH, Scale, speed_figures, tick_step

SUSPICIOUS = "the measurement is not plausible: 81 µs a call, where this GPU takes 190 µs."
ACCUSES = re.compile(r"cheat|tamper|fraud|suspicious|dishonest|manipulat", re.IGNORECASE)
SVG = "{http://www.w3.org/2000/svg}"


def text_of(report: Report, form: Form) -> str:
    return render(report, form).decode()


def figures(report: Report) -> list[dict[str, str]]:
    return speed_figures(speed_cases(report))


def places(svg: str, tag: str) -> list[tuple[float, float]]:
    """Where the discs ("circle") or squares ("rect") of a plot are."""
    x, y = ("cx", "cy") if tag == "circle" else ("x", "y")
    return [
        (float(item.attrib[x]), float(item.attrib[y]))
        for item in ET.fromstring(svg).iter(SVG + tag)
    ]


def words(svg: str) -> dict[str, tuple[float, float]]:
    """Every text of a plot, and where it stands."""
    found = ET.fromstring(svg).iter(f"{SVG}text")
    return {item.text or "": (float(item.attrib["x"]), float(item.attrib["y"])) for item in found}


# What is said


def test_a_terminal_of_80_columns_shows_each_case_on_one_line() -> None:
    lines = [
        line.rstrip()
        for line in plain(measured(speed_entry("32768 x 4096")), width=80).splitlines()
    ]

    assert "  case                   ratio                  rate  roof  bound by" in lines
    assert "  forward, 32768 x 4096  1.31 (1.29-1.33)  3550 GB/s  84 %  memory bandwidth" in lines
    assert "Example GPU 80" in "".join(lines)


def test_files_show_the_case_with_its_times() -> None:
    report = measured(speed_entry("32768 x 4096"))
    cells = [
        "forward, 32768 x 4096", "1.31 (1.29 to 1.33)", "3550 GB/s", "84 %", "151 µs", "198 µs",
        "memory bandwidth, at 84 % of what this GPU copies",
    ]  # fmt: skip

    assert "| " + " | ".join(cells) + " |" in text_of(report, Form.MARKDOWN).replace("\\", "")
    assert "".join(f"<td>{cell}</td>" for cell in cells) in text_of(report, Form.HTML)


@pytest.mark.parametrize("form", [Form.HTML, Form.MARKDOWN])
def test_files_name_the_gpu_and_its_state(form: Form) -> None:
    text = text_of(measured(speed_entry("a")), form).replace("\\", "")

    assert (
        "Example GPU 80 · driver 580.95 · copies 4250 GB/s · multiplies 790 TFLOP/s · "
        "1755 of 1980 MHz · 41 °C · 304 W · 78.2 GB free"
    ) in text


def test_what_is_unknown_of_the_gpu_is_left_out() -> None:
    unknown: dict[str, Any] = dict.fromkeys(GPU)
    report = measured(gpu=unknown | {"name": "Example GPU", "others": 2, "sm_clock_mhz": 1500})

    assert gpu_line(report) == "Example GPU · 1500 MHz · shared with 2 other processes"


def test_a_case_that_is_not_plausible_counts_as_missed_and_blames_nobody() -> None:
    report = measured(speed_entry("8192 x 8192", suspicious=SUSPICIOUS), speed_entry("big"))
    told = f"forward, 8192 x 8192, its tiers count as missed: {SUSPICIOUS}"
    decides = "where points count, your instructor looks at it and decides"

    assert told in " ".join(plain(report, width=200).split())
    assert "forward, 8192 x 8192  not plausible" in plain(report)
    assert decides in " ".join(plain(report, width=200).split())
    for form in (Form.HTML, Form.MARKDOWN):
        text = text_of(report, form).replace("\\", "")
        assert told in text
        assert decides in text
        assert text.count("not plausible: counts as missed") == 1
    assert told in json.loads(text_of(report, Form.GRADESCOPE))["output"]
    assert decides in json.loads(text_of(report, Form.GRADESCOPE))["output"]
    shown = [plain(report), *(text_of(report, form) for form in (Form.MARKDOWN, Form.GRADESCOPE))]
    assert not any(ACCUSES.search(text) for text in shown)


def test_a_remark_on_several_cases_is_told_once() -> None:
    report = measured(*(speed_entry(case, notes=["the clock fell"]) for case in "ab"))

    for text in (plain(report), text_of(report, Form.HTML), text_of(report, Form.MARKDOWN)):
        assert text.count("the clock fell") == 1
        assert "forward, a; forward, b" in text


def test_missing_numbers_are_dashes() -> None:
    bare = {"case": "8192 x 8192", "ratio": None, "rate": float("nan"), "size": True, "notes": 3}

    text = text_of(measured(bare, gpu=None), Form.MARKDOWN)

    assert "| 8192 x 8192 | \\- | \\- | \\- | \\- | \\- | \\- |" in text
    assert figures(measured(bare)) == []


@pytest.mark.parametrize("extras", [{}, {"speed": []}, {"speed": "nonsense", "gpu": [3]}])
def test_nothing_is_shown_where_nothing_was_measured(extras: dict[str, Any]) -> None:
    report = report_of(*mixed().tests, extras=extras)

    assert "ratio" not in plain(report)
    assert "## Speed" not in text_of(report, Form.MARKDOWN)
    assert "<h2>Speed" not in text_of(report, Form.HTML)
    assert "nonsense" not in text_of(report, Form.HTML)


# Hostile text


def hostile() -> Report:
    keys = ("task", "group", "case", "function", "axis", "unit", "bound", "suspicious")
    return measured(
        speed_entry("a") | dict.fromkeys(keys, HOSTILE) | {"notes": [HOSTILE]},
        gpu=GPU | {"name": HOSTILE, "driver": HOSTILE},
    )


@pytest.mark.parametrize("form", tuple(Form))
def test_no_form_breaks_on_hostile_text(form: Form) -> None:
    text = text_of(hostile(), form)

    assert not set("\x1b\x00\u202e") & set(text)


def test_no_tag_reaches_the_page_or_a_plot() -> None:
    page = Page(text_of(hostile(), Form.HTML))

    assert set(page.tags) <= OUR_TAGS
    assert page.unclosed == []
    (source,) = [value for name, value in page.attributes if name == "src"]
    svg = ET.fromstring(base64.b64decode(source.partition("base64,")[2]))
    shapes = {"svg", "style", "text", "line", "polyline", "circle", "rect"}
    assert {item.tag.removeprefix(SVG) for item in svg.iter()} <= shapes


def test_hostile_text_draws_nothing_on_a_terminal_and_in_markdown() -> None:
    assert plain(hostile()).replace("\n", "").isprintable()
    text = text_of(hostile(), Form.MARKDOWN)
    assert "<script" not in text
    assert "@everyone" not in text.replace(r"\@", "")
    assert not re.search(r"^(```|<h1)", text, re.MULTILINE)


# Plots


def test_each_group_has_a_plot_of_three_labelled_lines() -> None:
    entries = [
        speed_entry(f"{n}", group, size=n) for group in ("forward", "backward") for n in (1, 2)
    ]

    found = figures(measured(*entries))

    assert [figure["title"] for figure in found] == [
        "forward: GB/s by size",
        "backward: GB/s by size",
    ]
    for figure in found:
        assert len(places(figure["svg"], "circle")) == len(places(figure["svg"], "rect")) == 2
        assert len(list(ET.fromstring(figure["svg"]).iter(f"{SVG}polyline"))) == 3
        assert {"yours", "baseline", "roofline", "GB/s", "size in MB"} <= set(words(figure["svg"]))


def test_the_axis_of_sizes_is_logarithmic_from_a_factor_of_four_on() -> None:
    def middle(*sizes: float) -> tuple[float, bool]:
        (figure,) = figures(measured(*(speed_entry(f"{s}", size=s) for s in sizes)))
        first, second, third = (x for x, _ in places(figure["svg"], "circle"))
        return (second - first) / (third - first), "size in MB, logarithmic" in words(figure["svg"])

    assert middle(100, 200, 400) == (pytest.approx(1 / 3, abs=0.01), False)
    assert middle(100, 1000, 10000) == (pytest.approx(1 / 2, abs=0.01), True)


def test_a_single_case_stands_in_the_middle_below_a_whole_roofline() -> None:
    (figure,) = figures(measured(speed_entry("8192 x 8192")))

    ((x, y),) = places(figure["svg"], "circle")
    (roof,) = ET.fromstring(figure["svg"]).iter(f"{SVG}polyline")
    start, end = (pair.split(",") for pair in roof.attrib["points"].split())
    assert LEFT + 60 < x < RIGHT - 60
    assert (float(start[0]), float(end[0])) == (LEFT, RIGHT)
    assert float(start[1]) == float(end[1]) < y


def test_cases_of_one_size_are_not_joined() -> None:
    (figure,) = figures(measured(speed_entry("a"), speed_entry("b", rate=900.0)))

    assert len(places(figure["svg"], "circle")) == 2
    assert list(ET.fromstring(figure["svg"]).iter(f"{SVG}polyline")) == []


def test_labels_of_lines_that_end_together_do_not_overlap() -> None:
    same = {"rate": 1.0, "baseline_rate": 1.0, "roofline": 1000.0}
    (figure,) = figures(measured(speed_entry("a", **same)))

    heights = sorted(words(figure["svg"])[name][1] for name in ("yours", "baseline", "roofline"))
    assert min(b - a for a, b in itertools.pairwise(heights)) >= 13.9


def test_a_point_that_is_not_plausible_is_hollow_and_the_caption_says_so() -> None:
    (figure,) = figures(measured(speed_entry("a"), speed_entry("b", suspicious=SUSPICIOUS)))

    discs = [item.attrib["class"] for item in ET.fromstring(figure["svg"]).iter(f"{SVG}circle")]
    assert discs == ["yours", "yours hollow"]
    assert "hollow point is not plausible and counts as missed" in figure["title"]


POSITIVE = st.floats(1e-6, 1e12)


@given(st.lists(st.tuples(POSITIVE, POSITIVE, POSITIVE, POSITIVE), min_size=1, max_size=8))
def test_everything_stays_inside_the_picture(values: list[tuple[float, ...]]) -> None:
    keys = ("size", "rate", "baseline_rate", "roofline")
    entries = [speed_entry("a") | dict(zip(keys, numbers, strict=True)) for numbers in values]

    (figure,) = figures(measured(*entries))

    drawn = [*places(figure["svg"], "circle"), *words(figure["svg"]).values()]
    assert all(0 <= x <= WIDTH and 0 <= y <= HEIGHT for x, y in drawn)


@given(POSITIVE)
def test_an_axis_has_few_ticks_that_reach_its_top(top: float) -> None:
    step = tick_step(top)

    assert step * 5 >= top * (1 - 1e-9)
    assert step * 1.99 <= top
    assert re.fullmatch(r"[125]e[+-]\d+", f"{step:.0e}")


def test_a_scale_of_one_value_is_its_middle() -> None:
    assert Scale(7.0, 7.0, 10.0, 20.0)(7.0) == 15.0
