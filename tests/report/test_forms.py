"""Every file form of a report, for plain and for hostile submissions."""

import json
import re
import xml.etree.ElementTree as ET

import pytest
from stand_ins.sample_reports import HOSTILE, hostile_everywhere, mixed, report_of, result
from stand_ins.wellformed import OUR_TAGS, Page

from grader.labs.results import Report, Verdict
from grader.report.facts.notices import notices
from grader.report.formats.forms import Form, render
from grader.text import encodable

# Notices


def test_not_isolated_says_how_to_install_bubblewrap() -> None:
    report = report_of(
        provenance={"sandbox": "none", "not_isolated": "bubblewrap is not installed"}
    )
    for form in (Form.HTML, Form.MARKDOWN, Form.GRADESCOPE):
        assert "Not isolated" in render(report, form).decode()
    (notice,) = notices(report)
    assert "apt install bubblewrap" in notice.hint
    assert "bubblewrap is not installed" in notice.text


def test_public_tests_alone_are_no_grade() -> None:
    report = report_of(provenance={"sandbox": "bwrap", "suite": "public"})

    (notice,) = notices(report)

    assert notice.text.startswith("Only the public tests were run")


def test_a_report_without_a_sandbox_entry_counts_as_not_isolated() -> None:
    assert [n.text.split(":")[0] for n in notices(report_of(provenance={}))] == ["Not isolated"]


def test_partial_and_infra_are_marked_in_every_form() -> None:
    report = report_of(result("norm", Verdict.INFRA, "the judge died"), partial=True)

    assert report.exit_code == 3
    for form in (Form.HTML, Form.MARKDOWN, Form.GRADESCOPE):
        text = render(report, form).decode()
        assert "Partial report" in text
        assert "infra" in text
    assert json.loads(render(report, Form.JSON))["partial"] is True
    properties = ET.fromstring(render(report, Form.JUNIT)).findall(".//property")
    assert {"name": "partial", "value": "true"} in [p.attrib for p in properties]


@pytest.mark.parametrize("form", [Form.HTML, Form.MARKDOWN])
def test_what_was_not_started_is_named_not_explained(form: Form) -> None:
    report = report_of(
        result("norm", Verdict.ERROR, "NotImplementedError: norm: rms_norm"),
        result("rope", Verdict.FAILED, "the angle is wrong"),
        result("speed", Verdict.SKIPPED, "rope has to pass first"),
    )

    text = render(report, form).decode().split("All tests")[0].replace("\\", "")

    assert "not started: norm" in text
    assert "waiting for another task: speed" in text
    assert "the angle is wrong" in text
    assert "NotImplementedError" not in text


# Hostile text through every form


@pytest.mark.parametrize("form", tuple(Form))
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
