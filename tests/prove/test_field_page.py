"""docs/field.md: how many ports there are, and that the page names each with its reports."""

from pathlib import Path

import pytest
import run_field
from run_field import PAGE, Port, name_of, tables

from bench.page import BEGIN, END
from grader.labs.lab import Lab, all_labs

LABS = all_labs(Path(__file__).resolve().parents[2])
A_LAB, IN_ALL = 7, 120  # ports that there are at least

ISSUE = "https://github.com/a/b/issues/12"
PORTS = [
    Port("06_x", "sizes", "One | two.", (ISSUE,), True, "test_a", True),
    Port("06_x", "levels", "Three.", ("https://example.org/x",), True, "", True),
    Port("07_y", "sizes", "Four.", ("https://github.com/a/b/pull/3",), False, "", False),
]


@pytest.mark.parametrize("lab", LABS, ids=lambda lab: lab.name)
def test_the_page_names_each_port_of_a_lab_with_its_reports(lab: Lab) -> None:
    page = PAGE.read_text(encoding="utf-8")
    rows = [line for line in page.splitlines() if line.startswith(f"| {lab.name[:2]} |")]
    found = run_field.ports(lab)

    assert len(found) >= A_LAB
    assert len(rows) == len(found)
    for port in found:
        (row,) = [row for row in rows if f"| {run_field.cell(port.says)} |" in row]
        assert all(f"]({address})" in row for address in port.reports)


def test_there_are_enough_ports_and_no_report_is_told_twice_in_a_lab() -> None:
    found = [port for lab in LABS for port in run_field.ports(lab)]

    assert len(found) >= IN_ALL
    assert len({(port.lab, port.says) for port in found}) == len(found)


def test_every_port_on_the_page_is_seen_by_a_test() -> None:
    page = PAGE.read_text(encoding="utf-8")

    assert page.count(BEGIN) == page.count(END) == 1
    assert "| **none** |" not in page


def test_tables_are_by_kind_and_count_by_lab() -> None:
    assert tables(PORTS).splitlines() == [
        "## Sizes",
        "",
        "None, one, and one more than a block: the small and the odd.",
        "",
        "| lab | what went wrong | report | hidden test | public |",
        "| --- | --- | --- | --- | --- |",
        "| 06 | One \\| two. | [b 12](https://github.com/a/b/issues/12) | `test_a` | yes |",
        "| 07 | Four. | [b 3](https://github.com/a/b/pull/3) | **none** | no |",
        "",
        "## Levels",
        "",
        "Values whose size a formula or a dtype does not stand.",
        "",
        "| lab | what went wrong | report | hidden test | public |",
        "| --- | --- | --- | --- | --- |",
        "| 06 | Three. | [example.org](https://example.org/x) | public ones alone | yes |",
        "",
        "## Counts",
        "",
        "| lab | ports | killed | caught publicly |",
        "| --- | ---: | ---: | ---: |",
        "| 06_x | 2 | 2 | 2 |",
        "| 07_y | 1 | 0 | 0 |",
        "| all | 3 | 2 | 2 |",
    ]


def test_a_report_is_called_by_its_repository_and_number() -> None:
    assert name_of("https://github.com/a/b-c/issues/12#issuecomment-7") == "b-c 12"
    assert name_of("https://example.org/some/page") == "example.org"
