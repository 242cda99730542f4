"""A trace as picture and page: well-formed, told in words, escaped, cut where it is long."""

import re
from xml.etree import ElementTree

import pytest

from grader.trace.page import html_page
from grader.trace.record import HIDDEN, OUTSIDE, Fault, Launch, Step, Touchable, Trace
from grader.trace.sheet import WIDTH
from grader.trace.svg import draw
from grader.trace.words import alternative

SVG = "{http://www.w3.org/2000/svg}"
ODD = "</svg><script>alert(1)</script>"


def step(program: int, kind: str, lanes: tuple[int, ...], *, line: int = 12) -> Step:
    hidden, outside = lanes.count(HIDDEN), lanes.count(OUTSIDE)
    values = tuple("" if lane < 0 else f"v{lane}" for lane in lanes)
    return Step(
        (program,), line, line, kind, 0, (len(lanes),), lanes, hidden, outside, values
    )  # fmt: skip


def launch(*steps: Step, grid: int = 2, size: int = 6, kernel: str = "halve") -> Launch:
    x = Touchable("x", (size,), (1,), "float32")
    source = ("def halve(x, y):", "    pass", "    tl.load(x + at)", "    tl.store(x + at)")
    return Launch(kernel, 10, source, (grid,), (("BLOCK", "4"),), (x,), steps, 0)


USUAL = launch(
    step(0, "load", (0, 1, 2, 3)),
    step(0, "store", (0, 1, 2, 3), line=13),
    step(1, "load", (4, 5, HIDDEN, HIDDEN)),
    step(1, "store", (4, 5, HIDDEN, HIDDEN), line=13),
)


def parsed(svg: str) -> ElementTree.Element:
    return ElementTree.fromstring(svg)


def rects(svg: str) -> dict[str, ElementTree.Element]:
    return {box.get("id", ""): box for box in parsed(svg).iter(f"{SVG}rect") if box.get("id")}


def test_a_picture_says_its_text_and_loads_nothing() -> None:
    svg = draw(USUAL)

    title = parsed(svg).find(f"{SVG}title")
    assert title is not None
    assert title.text == alternative(USUAL)
    assert "Program 1: line 12 loads x[4:6] (2 elements, 4 lanes, 2 hidden" in alternative(USUAL)
    assert "prefers-color-scheme: dark" in svg
    assert re.findall(r'(?:href|src)="|url\((?!#)|@import', svg) == []
    assert draw(USUAL) == svg


def test_cells_have_the_colour_of_who_touches_them() -> None:
    found = rects(draw(launch(step(0, "load", (0, 1, 2)), step(1, "load", (2, 3)), size=5)))

    first, second = found["tp0"].get("fill"), found["tp1"].get("fill")
    assert first != second
    assert [found[f"tt0e{n}"].get("fill") for n in (0, 1, 3)] == [first, first, second]
    assert found["tt0e2"].get("class") == "many"
    assert found["tt0e4"].get("class") == "none"


def test_hidden_lanes_are_hatched_and_those_outside_framed() -> None:
    svg = draw(launch(step(0, "load", (0, OUTSIDE, HIDDEN, HIDDEN)), grid=1))

    assert svg.count('fill="url(#thidden)"') == 2
    assert svg.count('class="outside"') == 1
    assert "1 OUTSIDE of every tensor" in " ".join(" ".join(parsed(svg).itertext()).split())


def test_nothing_leaves_the_picture() -> None:
    wide = launch(*(step(p, "load", tuple(range(64))) for p in range(40)), grid=40, size=5000)
    svg = draw(wide, fault=Fault("ValueError", "long " * 80, 12, (3,)))

    for box in parsed(svg).iter(f"{SVG}rect"):
        assert float(box.get("x", 0)) + float(box.get("width", 0)) <= WIDTH
    # 6 pixels a letter are less than any of ours
    for text in parsed(svg).iter(f"{SVG}text"):
        assert float(text.get("x", 0)) + 6 * len(text.text or "") <= WIDTH + 40
    said = " ".join(parsed(svg).itertext())
    assert "4,978 more columns are not drawn" in said
    assert "37 more programs, between these" in said
    assert len(svg) < 60 << 10


@pytest.mark.parametrize("fault", [None, Fault("ValueError", ODD, 12, (1,))])
def test_what_a_file_says_is_escaped(fault: Fault | None) -> None:
    odd = launch(step(0, ODD, (0, 1)), kernel=ODD)
    odd = Launch(
        ODD, 10, (ODD,), (1,), ((ODD, ODD),), (Touchable(ODD, (6,), (1,), ODD),), odd.steps, 0
    )

    page, svg = html_page(Trace((odd,), 0, fault), ODD), draw(odd, fault=fault)

    assert "<script>alert" not in page
    assert "<script>alert" not in svg
    assert parsed(svg).tag == f"{SVG}svg"


def test_a_page_tells_each_access_and_names_what_a_script_marks() -> None:
    page = html_page(Trace((USUAL, USUAL), 0, None), "Lab 06")

    assert page.count('<li data-line="') == 8
    assert 'data-program="1" data-tensor="0" data-elements="4 5"' in page
    for name in ("k0p0", "k1t0e5", "k0l12", "k1l13"):
        assert page.count(f'id="{name}"') == 1
    assert "program 1, line 13: stores x[4:6]" in page
    assert ">v4<" in page
    assert page.count("<script>") == 1
    assert re.findall(r'(?:href|src)="', page) == []
    policy = re.search(r'Content-Security-Policy" content="([^"]+)"', page)
    assert policy
    assert policy[1].startswith("default-src 'none'")


def test_a_page_ends_at_the_error() -> None:
    fault = Fault("ValueError", "no such shape", 13, (1,))

    page = html_page(Trace((USUAL,), 0, fault), "Lab 06")

    assert '<li class="wrong" id="k0l13">' in page
    assert "Here it ends: line 13, program 1: ValueError: no such shape" in page
    assert "No kernel was launched" in html_page(Trace((), 0, fault), "Lab 06")


def test_a_page_of_many_accesses_is_cut() -> None:
    many = launch(*(step(0, "load", (0,)) for _ in range(350)))

    page = html_page(Trace((many,), 3, None), "Lab 06")

    assert page.count('<li data-line="') == 300
    assert "50 accesses more are not shown" in page
    assert "3 launches more were not followed" in page
