"""Every form of a report, for plain and for hostile submissions."""

import io
import json
import os
import re
import stat
import xml.etree.ElementTree as ET
from html.parser import HTMLParser
from pathlib import Path

import pytest
from rich.console import Console

from grader.errors import UsageError
from grader.guide import Guide
from grader.report import Form, Output, check_writable, planned, render, write, write_file
from grader.report_terminal import make_console, render_terminal
from grader.results import Report, TaskResult, TestResult, Verdict
from grader.summary import is_stub, notices
from grader.text import encodable, number, visible, visible_line

HOSTILE = (
    "<script>alert(1)</script><img src=x onerror=alert(2)> [red]forged[/red] :smile: "
    "\x1b[2J\x1b]0;title\x07 \x00 \u202egnp.exe \u2066 \u200b \ud800 \udfff \ufffe \x85 \u2028"
    "\n```\n</pre></details><h1>100 of 100 points</h1>\n]]> & &lt; --> *bold* | @everyone"
    "\r\n\x9b31m"
)
GUIDE = Guide(
    title="A Llama from scratch",
    stub="labs/01_llama/llama.py",
    handout="labs/01_llama/README.md",
    functions={"norm": ("rms_norm",), "rope": ("apply_rope",)},
    next_lab=2,
)
FORMS = tuple(Form)
OUR_TAGS = set(
    "html head meta title style body main h1 h2 h3 p strong br small div table tr th td code meter"
    " section pre details summary ul li figure img figcaption dl dt dd".split()
)


def result(task: str, verdict: Verdict, message: str = "", output: str = "") -> TestResult:
    return TestResult(f"test_{task}[3-7]", task, "hidden", verdict, message, 0.25, output)


def report_of(*tests: TestResult, score: dict[str, float] | None = None, **rest: object) -> Report:
    """A report with the tasks norm, rope and speed (10, 20 and 70 points)."""
    earned = score or {}
    points = {"norm": 10.0, "rope": 20.0, "speed": 70.0}
    ungraded = {test.task for test in tests if not test.verdict.counts}
    tasks = tuple(
        TaskResult(task, task.title(), points[task], earned.get(task, 0.0), task not in ungraded)
        for task in points
    )
    rest.setdefault("provenance", {"sandbox": "bwrap", "started": "2026-03-01T10:00:00+01:00"})
    return Report(1, "llama", tasks, tests, **rest)  # type: ignore[arg-type]


def mixed(message: str = "rms_norm keeps the dtype", output: str = "") -> Report:
    return report_of(
        result("norm", Verdict.PASSED),
        result("rope", Verdict.FAILED, message, output),
        result("speed", Verdict.NOT_GRADED, "needs a GPU"),
        score={"norm": 10.0},
    )


def hostile_everywhere() -> Report:
    """Student text in every field that could ever carry some, identifiers included."""
    tests = (
        TestResult(HOSTILE, HOSTILE, HOSTILE, Verdict.FAILED, HOSTILE, 0.1, HOSTILE),
        TestResult("big", HOSTILE, "public", Verdict.ERROR, "x" * 1_000_000, 0.1, "y" * 1_000_000),
    )
    figures = [{"title": HOSTILE, "svg": f"<svg>{HOSTILE}</svg>"}, {"title": 3}, "nonsense"]
    return Report(
        lab=1,
        topic=HOSTILE,
        tasks=(TaskResult(HOSTILE, HOSTILE, 100.0, 0.0, True),),
        tests=tests,
        provenance={"sandbox": HOSTILE, "started": HOSTILE, HOSTILE: HOSTILE, "nan": float("nan")},
        extras={"figures": figures, "ratio": float("inf"), "nested": {HOSTILE: [HOSTILE, {1, 2}]}},
    )


def on_terminal(report: Report, guide: Guide | None = GUIDE, width: int = 100) -> str:
    stream = io.StringIO()
    console = Console(
        file=stream, width=width, force_terminal=True, markup=True, color_system="truecolor"
    )
    console.print(render_terminal(report, guide))
    return stream.getvalue()


def plain(report: Report, guide: Guide | None = GUIDE, width: int = 100) -> str:
    return re.sub(r"\x1b\[[0-9;]*m", "", on_terminal(report, guide, width))


class Page(HTMLParser):
    """Collects what a browser would see in a page."""

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str]] = []
        self.text = ""
        self.unclosed: list[str] = []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += [(name, value or "") for name, value in attrs]
        if tag not in ("meta", "br", "img"):
            self.unclosed.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.unclosed.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data


# What is shown of text that a submission wrote


def test_nothing_that_acts_survives_visible() -> None:
    shown = visible(HOSTILE)

    assert all(char.isprintable() or char in "\n\t" for char in shown)
    assert r"\x1b[2J" in shown
    assert r"\u202e" in shown
    assert r"\ud800" in shown
    shown.encode()  # no surrogate is left


def test_one_line_stays_one_line() -> None:
    assert visible_line("a\nb\r\u2028c") == r"a\nb\r\u2028c"
    assert len(visible_line("x" * 5000)) < 400


def test_long_text_is_cut_and_says_so() -> None:
    assert visible("x" * 1_000_000, 10) == "xxxxxxxxxx\n… 999,990 more characters"


def test_ordinary_text_is_left_alone() -> None:
    text = "größer als 3 → ≤ 4\n\tnaïve 漢字 𝛑"
    assert visible(text) == text


@pytest.mark.parametrize(
    ("value", "written"), [(30.0, "30"), (71.5, "71.5"), (1 / 3, "0.33"), (1234567.0, "1234567")]
)
def test_points_are_written_as_a_person_would(value: float, written: str) -> None:
    assert number(value) == written


# Terminal


def test_terminal_has_one_line_per_task_and_one_next_step() -> None:
    lines = [line.strip() for line in plain(mixed()).splitlines()]

    assert "norm   Norm   ██████████  10 / 10  1 passed" in lines
    assert "rope   Rope   ░░░░░░░░░░   0 / 20  1 failed" in lines
    assert "speed  Speed  not graded   - / 70  1 not graded" in lines
    assert "10 of 30 points graded here (100 in all)" in lines
    assert "note: speed: 70 points not graded here: needs a GPU." in lines
    assert "rms_norm keeps the dtype" in lines
    assert "hint: make hint LAB=1 TASK=rope" in lines
    goal = "next: fix apply_rope (task rope) in labs/01_llama/llama.py, then make grade LAB=1"
    assert [line for line in lines if line.startswith("next:")] == [goal]


def test_a_full_bar_means_full_points() -> None:
    nearly = report_of(result("norm", Verdict.FAILED), score={"norm": 9.99})
    assert "█████████░  9.99 / 10" in plain(nearly)


def test_only_the_first_failure_of_a_task_is_explained() -> None:
    tests = [result("rope", Verdict.SKIPPED, "gate failed")]
    tests += [result("rope", Verdict.FAILED, f"reason {n}") for n in range(3)]

    text = plain(report_of(*tests))

    assert "reason 0" in text
    assert "reason 1" not in text
    assert "gate failed" not in text


def test_markup_and_control_characters_are_drawn_not_obeyed() -> None:
    raw = on_terminal(mixed(HOSTILE, output=HOSTILE))

    assert "[red]forged[/red] :smile:" in raw
    rest = re.sub(r"\x1b\[[0-9;]*m|\n", "", raw)
    assert rest.isprintable()


def test_a_stub_is_welcomed_with_its_first_step() -> None:
    tests = [result(t, Verdict.ERROR, f"NotImplementedError: {t}") for t in ("norm", "rope")]
    tests += [result("speed", Verdict.SKIPPED, "norm has to pass first")]
    report = report_of(*tests)

    text = plain(report)

    assert is_stub(report)
    assert "that is where everyone starts" in text
    assert "1. read   labs/01_llama/README.md" in text
    assert "2. open   labs/01_llama/llama.py" in text
    assert "3. write  rms_norm (task norm) for 10 points" in text
    assert "Stuck? make hint LAB=1 TASK=norm" in text
    assert "NotImplementedError" not in text


def test_a_wrong_first_attempt_is_no_stub() -> None:
    report = report_of(
        result("norm", Verdict.FAILED, "eps stands under the root"),
        result("rope", Verdict.ERROR, "NotImplementedError: rope: apply_rope"),
    )

    text = plain(report)

    assert not is_stub(report)
    assert "eps stands under the root" in text
    assert "not started: rope" in text


def test_success_points_to_the_next_lab() -> None:
    tests = [result(task, Verdict.PASSED) for task in ("norm", "rope", "speed")]
    done = report_of(*tests, score={"norm": 10.0, "rope": 20.0, "speed": 70.0})

    assert "100 of 100 points" in plain(done)
    assert "go on with make grade LAB=2" in plain(done)
    assert "LAB=2" not in plain(done, guide=None)


def test_no_color_leaves_no_escape_sequence(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.setenv("FORCE_COLOR", "1")
    stream = io.StringIO()

    make_console(stream).print(render_terminal(mixed(), GUIDE))

    assert "\x1b" not in stream.getvalue()
    assert "norm" in stream.getvalue()


def test_terminal_survives_a_very_narrow_window() -> None:
    assert "rope" in plain(mixed(HOSTILE), width=20)


# Notices


def test_not_isolated_says_how_to_install_bubblewrap() -> None:
    report = report_of(
        provenance={"sandbox": "none", "not_isolated": "bubblewrap is not installed"}
    )
    for form in (Form.HTML, Form.MARKDOWN, Form.GRADESCOPE):
        assert "Not isolated" in render(report, form).decode()
    assert "apt install bubblewrap" in plain(report)
    assert "bubblewrap is not installed" in plain(report)


def test_a_report_without_a_sandbox_entry_counts_as_not_isolated() -> None:
    assert [n.text.split(":")[0] for n in notices(report_of(provenance={}))] == ["Not isolated"]


def test_partial_and_infra_are_marked_in_every_form() -> None:
    report = report_of(result("norm", Verdict.INFRA, "the judge died"), partial=True)

    assert report.exit_code == 3
    for form in (Form.HTML, Form.MARKDOWN, Form.GRADESCOPE):
        text = render(report, form).decode()
        assert "Partial report" in text
        assert "infra" in text
    assert "Partial report" in plain(report)
    assert json.loads(render(report, Form.JSON))["partial"] is True
    properties = ET.fromstring(render(report, Form.JUNIT)).findall(".//property")
    assert {"name": "partial", "value": "true"} in [p.attrib for p in properties]


# Hostile text through every form


@pytest.mark.parametrize("form", FORMS)
def test_no_form_breaks_on_hostile_text(form: Form) -> None:
    data = render(hostile_everywhere(), form)

    text = data.decode("utf-8")
    assert text
    assert "\x1b" not in text
    assert "\u202e" not in text
    assert "\x00" not in text


def test_no_tag_of_the_student_reaches_the_page() -> None:
    text = render(hostile_everywhere(), Form.HTML).decode()

    page = Page(text)

    assert set(page.tags) <= OUR_TAGS
    assert page.tags.count("h1") == 1
    assert page.tags.count("img") == 1  # the figure
    assert page.unclosed == []
    assert "<script>alert(1)</script>" in page.text  # shown, as text
    assert {name for name, _ in page.attributes if name.startswith("on")} == set()


def test_the_page_needs_nothing_from_outside() -> None:
    page = Page(render(hostile_everywhere(), Form.HTML).decode())

    links = [value for name, value in page.attributes if name in ("src", "href", "action")]
    assert all(link.startswith("data:image/svg+xml;base64,") for link in links)
    assert len(links) == 1  # the one figure that is a figure
    assert "url(" not in page.text
    assert ("http-equiv", "Content-Security-Policy") in page.attributes
    assert ("name", "viewport") in page.attributes


def test_a_page_stays_small_whatever_the_submission_prints() -> None:
    assert len(render(hostile_everywhere(), Form.HTML)) < 200_000


def test_markdown_keeps_student_text_inside_its_fence() -> None:
    text = render(mixed(HOSTILE), Form.MARKDOWN).decode()

    fences = [line for line in text.splitlines() if re.match(r"`{3,}", line)]
    assert fences == ["````text", "```", "````"]
    outside = text.split("````text")[0] + text.split("\n````\n")[-1]
    assert "forged" not in outside


def test_markdown_identifiers_cannot_format_or_link() -> None:
    text = render(hostile_everywhere(), Form.MARKDOWN).decode()

    outside = re.sub(r"(?s)\n(`{3,})text\n.*?\n\1\n", "\n", text)
    assert "<script" not in outside
    assert "@everyone" not in outside.replace(r"\@", "")
    assert "*bold*" not in outside.replace(r"\*", "")


def test_json_is_strict_and_keeps_the_whole_message() -> None:
    report = hostile_everywhere()

    def refuse(constant: str) -> None:
        raise AssertionError(constant)

    data = json.loads(render(report, Form.JSON), parse_constant=refuse)

    assert list(data)[:7] == ["schema", "lab", "topic", "score", "graded", "total", "tasks"]
    assert data["tests"][1]["message"] == "x" * 1_000_000
    assert data["tests"][0]["message"] == encodable(HOSTILE)
    assert data["provenance"]["nan"] is None
    json.dumps(data, ensure_ascii=False).encode()  # no surrogate is left


# JUnit and Gradescope

SUITE_ATTRIBUTES = "name package id hostname timestamp tests failures errors skipped time".split()


@pytest.mark.parametrize("report", [mixed(), hostile_everywhere()], ids=["plain", "hostile"])
def test_junit_has_the_elements_of_the_schema(report: Report) -> None:
    root = ET.fromstring(render(report, Form.JUNIT))

    assert root.tag == "testsuites"
    for suite in root:
        assert list(suite.attrib) == SUITE_ATTRIBUTES
        assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d", suite.attrib["timestamp"])
        kinds = [child.tag for child in suite]
        assert kinds[0] == "properties"
        assert kinds[-2:] == ["system-out", "system-err"]
        assert set(kinds[1:-2]) <= {"testcase"}
        for case in suite.iter("testcase"):
            assert set(case.attrib) == {"name", "classname", "time"}
            assert len(case) <= 1


def test_junit_tells_failures_errors_and_skips_apart() -> None:
    report = report_of(*(result("norm", verdict, "because") for verdict in Verdict))

    suite = ET.fromstring(render(report, Form.JUNIT))[0]

    found = [case[0].tag if len(case) else "" for case in suite.iter("testcase")]
    assert found == ["", "failure", *["error"] * 4, "skipped", "skipped", "error"]
    counts = [suite.attrib[name] for name in ("tests", "failures", "errors", "skipped")]
    assert counts == ["9", "1", "5", "2"]
    assert suite.attrib["timestamp"] == "2026-03-01T09:00:00"  # UTC
    assert suite.attrib["time"] == "2.250"


def test_gradescope_leaves_out_of_the_maximum_what_was_not_graded() -> None:
    data = json.loads(render(mixed(), Form.GRADESCOPE))

    assert data["score"] == 10.0
    assert [test["max_score"] for test in data["tests"]] == [10.0, 20.0, 0]
    assert [test.get("status") for test in data["tests"]] == ["passed", "failed", None]
    assert {test["output_format"] for test in data["tests"]} == {"text"}
    assert {test["visibility"] for test in data["tests"]} == {"visible"}
    assert "rms_norm keeps the dtype" in data["tests"][1]["output"]
    assert "needs a GPU" in data["tests"][2]["output"]
    assert data["extra_data"]["graded"] == 30.0
    assert data["extra_data"]["provenance"]["sandbox"] == "bwrap"
    assert isinstance(data["execution_time"], int)


# Writing


def test_writing_replaces_a_file_whole_and_leaves_nothing_beside_it(tmp_path: Path) -> None:
    target = tmp_path / "report.json"
    target.write_text("old")

    write(mixed(), (Output(Form.JSON, str(target)), Output(Form.HTML, str(tmp_path / "r.html"))))

    assert json.loads(target.read_text())["score"] == 10.0
    assert sorted(path.name for path in tmp_path.iterdir()) == ["r.html", "report.json"]


def test_a_new_report_has_the_permissions_of_any_new_file(tmp_path: Path) -> None:
    write_file(tmp_path / "report", b"x")
    (tmp_path / "other").write_bytes(b"x")

    modes = {stat.S_IMODE((tmp_path / name).stat().st_mode) for name in ("report", "other")}
    assert len(modes) == 1


def test_a_link_is_written_through_and_a_device_is_not_replaced(tmp_path: Path) -> None:
    (tmp_path / "target").write_bytes(b"old")
    (tmp_path / "link").symlink_to("target")
    fifo = tmp_path / "pipe"
    os.mkfifo(fifo)
    reader = os.open(fifo, os.O_RDONLY | os.O_NONBLOCK)

    write_file(tmp_path / "link", b"new")
    write_file(fifo, b"through")

    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "target").read_bytes() == b"new"
    assert os.read(reader, 100) == b"through"
    assert stat.S_ISFIFO(fifo.stat().st_mode)
    os.close(reader)


def test_a_failed_write_leaves_the_old_report(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    target = tmp_path / "report"
    target.write_bytes(b"old")

    def full(self: Path, target: Path) -> Path:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "replace", full)
    with pytest.raises(UsageError, match="No space left on device"):
        write_file(target, b"new")
    assert [path.read_bytes() for path in tmp_path.iterdir()] == [b"old"]


@pytest.mark.parametrize(
    ("target", "reason"),
    [
        ("", "cannot write to ''"),
        ("a\0b", "cannot write to"),
        (".", "it is a folder"),
        ("/nonexistent/folder/report.json", "no folder"),
        ("/proc/report.json", "cannot write"),
    ],
)
def test_what_cannot_be_written_is_known_before(target: str, reason: str) -> None:
    with pytest.raises(UsageError, match=re.escape(reason)):
        check_writable(target)


def test_two_outputs_in_one_place_are_refused(tmp_path: Path) -> None:
    place = str(tmp_path / "report")
    with pytest.raises(UsageError, match="both write to"):
        planned({Form.JSON: place, Form.HTML: f"{tmp_path}/./report"})
    with pytest.raises(UsageError, match="both write to -"):
        planned({Form.JSON: "-", Form.MARKDOWN: "-"})


def test_standard_output_gets_the_report_and_nothing_else(
    capsys: pytest.CaptureFixture[str],
) -> None:
    write(hostile_everywhere(), (Output(Form.JSON, "-"),))

    assert json.loads(capsys.readouterr().out)["schema"] == 1
