"""Metered launches in a terminal, as a picture and as a page."""

import io
import re
import xml.etree.ElementTree as ET
from dataclasses import replace

import pytest
from rich.console import Console
from stand_ins.metered import COPY, MATMUL, SOFTMAX, gauged
from stand_ins.sample_reports import HOSTILE

from grader.labs.metered import Metered, Traffic, Tuned
from grader.report.facts.quantities import amount, duration
from grader.report.launches.rooflines import Gauged, largest, render_rooflines
from grader.report.launches.roofpage import roof_page
from grader.report.launches.roofplot import roof_plot

SVG = "{http://www.w3.org/2000/svg}"
TUNED = Tuned("_matmul", 40, ("M", "N"), ("BLOCK=64, num_warps=4, num_stages=3",))


def shown(*made: Gauged, tuned: tuple[Tuned, ...] = ()) -> str:
    stream = io.StringIO()
    console = Console(file=stream, width=80, color_system=None, markup=False, emoji=False)
    console.print(render_rooflines(made, tuned))
    text = stream.getvalue()
    assert max(map(len, text.splitlines())) <= 80
    return text


def row(text: str, start: str) -> list[str]:
    return next(line for line in text.splitlines() if line.strip().startswith(start)).split()


def texts(svg: str) -> list[str]:
    return [item.text or "" for item in ET.fromstring(svg).iter(f"{SVG}text")]


def test_each_tensor_tells_how_often_it_was_asked_for() -> None:
    text = shown(gauged(SOFTMAX))

    assert "1 _softmax, line 12: launched 3 times\n" in text
    assert row(text, "x ") == "x 8 MB - - 4 MB 2 times".split()
    assert row(text, "out ") == "out - 4 MB - 4 MB once".split()
    assert row(text, "all ") == "all 8 MB 4 MB - 8 MB 1.5 times".split()
    assert "2 MFLOP (fp32), 1 M exp, 1 M div; 0.25 FLOP for each byte" in text


def test_each_card_has_a_row_with_what_bounds_the_launch() -> None:
    text = shown(gauged(SOFTMAX), gauged(MATMUL))

    first, second = (line for line in text.splitlines() if line.strip().startswith("H100"))
    # 8 MB and 12 MB over 3.35 TB/s, 2 MFLOP over 66.9 TFLOP/s, 2 M functions over 4.18 T a second.
    assert first.split() == "H100 2.39 µs 29.9 ns - 478 ns 2.39 µs memory 3.58 µs".split()
    assert "tensor cores" in second


def test_the_largest_launch_of_each_kernel_is_shown_by_its_line() -> None:
    small = replace(SOFTMAX, loaded=8, times=4)

    text = shown(gauged(MATMUL), gauged(small, "small"), gauged(SOFTMAX, "large"))

    assert "1 _softmax, line 12: launched 7 times in 2 ways, the largest:" in text
    assert "2 _matmul, line 40: launched once" in text
    assert "large; grid 1000" in text
    assert "small" not in text
    assert [one.launch for one in largest([gauged(small, "a"), gauged(SOFTMAX, "b")])] == ["b"]


def test_what_lies_outside_of_tensors_is_said() -> None:
    assert "outside of every tensor" in shown(gauged(replace(SOFTMAX, partial=True)))
    assert "outside of every tensor" not in shown(gauged(SOFTMAX))


def test_what_the_autotuner_may_choose_is_listed() -> None:
    many = replace(TUNED, configs=tuple(f"BLOCK={n}" for n in range(40)))

    text = shown(gauged(MATMUL), tuned=(TUNED, many))

    assert "_matmul, line 40: the autotuner chooses among 1, anew for each M, N" in text
    assert "  BLOCK=64, num_warps=4, num_stages=3" in text
    assert "… and 28 more" in text


def test_json_has_the_times_of_each_card_in_seconds() -> None:
    told = gauged(SOFTMAX).to_json()

    assert told["cards"]["H100"]["memory"] == pytest.approx(8e6 / 3.35e12)
    assert told["cards"]["H100"]["uncached"] == pytest.approx(12e6 / 3.35e12)
    assert told["cards"]["A100"]["bound"] == "memory"
    assert (told["requested"], told["least"], told["operations"]) == (12e6, 8e6, 2e6)


# The picture


def test_the_picture_has_a_roof_for_each_card_and_a_dot_for_each_launch_and_card() -> None:
    root = ET.fromstring(roof_plot([gauged(SOFTMAX), gauged(MATMUL)], "Lab 06"))

    assert len([*root.iter(f"{SVG}polyline")]) == 2 * 5  # roofs, and the key
    dots = [c for c in root.iter(f"{SVG}circle") if c.attrib["class"].startswith("d")]
    assert len(dots) == 2 * 5
    assert {"A100", "H100", "H200", "RTX 4090", "MI300X"} <= {item.text for item in root.iter()}


def test_the_dot_of_a_launch_that_memory_bounds_lies_on_the_slope() -> None:
    root = ET.fromstring(roof_plot([gauged(SOFTMAX)], "Lab 06"))
    slope = next(root.iter(f"{SVG}polyline")).attrib["points"].split()
    (x0, y0), (x1, y1) = (tuple(map(float, point.split(","))) for point in slope[:2])
    dot = next(c for c in root.iter(f"{SVG}circle") if c.attrib["class"] == "d0")
    x, y = float(dot.attrib["cx"]), float(dot.attrib["cy"])

    assert y == pytest.approx(y0 + (y1 - y0) * (x - x0) / (x1 - x0), abs=0.3)


def test_requests_move_a_launch_to_the_left() -> None:
    root = ET.fromstring(roof_plot([gauged(SOFTMAX)], "Lab 06"))

    hollow, full = (
        float(next(c for c in root.iter(f"{SVG}circle") if c.attrib["class"] == name).attrib["cx"])
        for name in ("hollow", "full")
    )
    assert hollow < full


def test_the_alternative_text_says_what_the_picture_shows() -> None:
    title = next(ET.fromstring(roof_plot([gauged(SOFTMAX)], "Lab 06")).iter(f"{SVG}title")).text

    assert title is not None
    assert title.startswith("Lab 06, beside the roofs of A100, H100, H200, RTX 4090, MI300X.")
    assert "1, _softmax: 2 MFLOP (fp32)" in title
    assert "bytes asked for, over those that must move: 1.5 times;" in title
    assert "bound by memory on A100, H100, H200, RTX 4090, MI300X" in title


def test_roofs_are_those_of_what_is_multiplied() -> None:
    assert "memory, then float32 units" in texts(roof_plot([gauged(SOFTMAX)], "a"))
    assert "memory, then tensor cores, bf16" in texts(roof_plot([gauged(MATMUL)], "a"))


def test_a_copy_stands_below_the_plot_alone() -> None:
    words = texts(roof_plot([gauged(COPY)], "a"))

    assert "no FLOPs" in words
    assert any(text.startswith("1 _copy") for text in words)


@pytest.mark.parametrize("flops", [1, 10**17])
def test_any_launch_lies_inside_the_picture(flops: int) -> None:
    root = ET.fromstring(roof_plot([gauged(replace(SOFTMAX, flops={"fp32": flops}))], "a"))

    for dot in root.iter(f"{SVG}circle"):
        assert 0 <= float(dot.attrib["cx"]) <= 800
        assert 0 <= float(dot.attrib["cy"]) <= float(root.attrib["height"])


# Text of a submission


def test_what_a_submission_wrote_is_escaped_everywhere() -> None:
    traffic = Traffic(HOSTILE, 1, 1, 0, 1, 1)
    made = gauged(replace(SOFTMAX, kernel=HOSTILE, tensors=(traffic,)), HOSTILE)
    tuned = Tuned(HOSTILE, 1, (HOSTILE,), (HOSTILE,))

    picture = roof_plot([made], "a")
    page = roof_page([made], [tuned], picture, "a")

    assert "\x1b" not in shown(made, tuned=(tuned,))
    ET.fromstring(picture)
    for text in (picture, page):
        assert not re.search(r"<script|<img|\x1b|\u202e", text)


def test_the_page_has_the_picture_and_both_tables() -> None:
    made = [gauged(SOFTMAX)]
    page = roof_page(made, [TUNED], roof_plot(made, "Lab 06"), "Lab 06")

    assert page.count("<svg") == 1
    assert page.count("<table") == 2
    assert "BLOCK=64, num_warps=4" in page
    assert "went there." in page
    assert "http://" not in page.replace("http://www.w3.org/2000/svg", "")


# Quantities


@pytest.mark.parametrize(
    ("value", "said"),
    [(0, "0 B"), (999, "999 B"), (1000, "1 kB"), (16_777_216, "16.8 MB"), (999_999, "1 MB")],
)
def test_bytes_have_three_digits_and_a_prefix(value: int, said: str) -> None:
    assert amount(value, "B") == said


@pytest.mark.parametrize(
    ("seconds", "said"),
    [(0.0, "0"), (1.5, "1.5 s"), (2e-3, "2 ms"), (157e-9, "157 ns"), (1e-13, "< 0.01 ns")],
)
def test_times_have_a_unit_of_their_own_size(seconds: float, said: str) -> None:
    assert duration(seconds) == said


def test_an_empty_launch_has_no_ratio_and_breaks_nothing() -> None:
    made = gauged(Metered("_none", 1, (0, 1, 1), 1, 0, 0, 0))

    assert "no arithmetic on floats" in shown(made)
    roof_plot([made], "a")
