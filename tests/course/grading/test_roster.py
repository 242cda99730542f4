"""The class list: what may stand in it, and that each mistake is told with its row."""

from pathlib import Path

import pytest

from grader.course.database.records import Student
from grader.course.grading.collecting.roster import Roster, read_roster
from grader.errors import UsageError


def read(folder: Path, text: str | bytes, remote: str = "https://host/class.git") -> Roster:
    file = folder / "class.csv"
    file.write_bytes(text.encode() if isinstance(text, str) else text)
    return read_roster(file, remote)


def test_columns_stand_in_any_order_and_what_is_open_comes_from_the_course(tmp_path: Path) -> None:
    text = (
        "Name,email,ID,branch,repository\nAda L,a@x,s1,,\nBob,b@x,s2,work,git@host:bob/labs.git\n"
    )

    roster = read(tmp_path, text)

    assert roster.problems == ()
    assert roster.students == (
        Student("s1", "Ada L", "", "student/s1"),
        Student("s2", "Bob", "git@host:bob/labs.git", "work"),
    )


@pytest.mark.parametrize(
    "data",
    [
        "id,name\ns1,Zoë\n".encode(),
        "\ufeffid,name\r\ns1,Zoë\r\n".encode(),
        "id;name\ns1;Zoë\n".encode(),
        "id\tname\ns1\tZoë\n".encode("utf-16"),
        b'id,name\r"s1"," Zo\xc3\xab "\r\r',
    ],
    ids=["plain", "BOM and CRLF", "semicolons", "UTF-16 with tabs", "old Mac line ends"],
)
def test_what_spreadsheets_write_is_read(tmp_path: Path, data: bytes) -> None:
    assert read(tmp_path, data).students == (Student("s1", "Zoë", "", "student/s1"),)


def test_line_break_in_a_name_is_a_space(tmp_path: Path) -> None:
    (ada,) = read(tmp_path, 'id,name\ns1,"Ada\n  L"\n').students

    assert ada.name == "Ada L"


@pytest.mark.parametrize(
    ("row", "told"),
    [
        ("s1,Bob", "row 3: the id 's1' is that of row 2"),
        ("S1,Bob", "row 3: the id 'S1' is that of row 2"),
        ("s2,Bob,,student/s1", "row 3: repository and branch are those of row 2"),
        (",Bob", "row 3: the id is missing"),
        ("s2,", "row 3: the name is missing"),
        ("../../etc,Bob", "row 3: the id '../../etc' cannot name a folder"),
        ("a/b,Bob", "row 3: the id 'a/b' cannot name a folder"),
        ("..,Bob", "row 3: the id '..' cannot name a folder"),
        (".hidden,Bob", "row 3: the id '.hidden' cannot name a folder"),
        ("-rf,Bob", "row 3: the id '-rf' cannot name a folder"),
        ("a\x1b[31m,Bob", r"row 3: the id 'a\\x1b[31m' cannot name a folder"),
        (f"{'a' * 65},Bob", "row 3: the id 'aaaaaaaa"),
        ("s2.git,Bob", "row 3: the id 's2.git' ends like a file of git's"),
        ("s2,Bob,--upload-pack=rm", "row 3: the repository '--upload-pack=rm' starts with a dash"),
        ("s2,Bob,ext::sh -c id", "row 3: the repository 'ext::sh -c id' names a program"),
        ("s2,Bob,,a..b", "row 3: 'a..b' cannot be the name of a branch"),
        ("s2,Bob,,x,y", "row 3: has 5 fields, the first row 4"),
    ],
)
def test_bad_row_is_told_with_its_number(tmp_path: Path, row: str, told: str) -> None:
    roster = read(tmp_path, f"id,name,repository,branch\ns1,Ada\n{row}\n\ns9,Eve\n")

    assert len(roster.problems) == 1
    assert roster.problems[0].startswith(told)
    assert [student.id for student in roster.students] == ["s1", "s9"]


def test_every_bad_row_is_told_at_once(tmp_path: Path) -> None:
    roster = read(tmp_path, "id,name\ns1,A\ns1,B\n/,C\ns2,D\n")

    assert [problem[:6] for problem in roster.problems] == ["row 3:", "row 4:"]


def test_other_encoding_is_told_with_row_and_byte(tmp_path: Path) -> None:
    roster = read(tmp_path, b"id,name\ns1,Ada\ns2,Zo\xeb\n")

    assert roster.problems == (
        "row 3: is not UTF-8 (byte 0xeb in column 6): save the file as CSV UTF-8",
    )


def test_row_behind_a_name_of_two_lines_keeps_its_number(tmp_path: Path) -> None:
    roster = read(tmp_path, b'id,name\ns1,"Ada\nL"\ns2,\xff\ns3,Bob\n')

    assert [student.id for student in roster.students] == ["s1", "s3"]
    assert roster.problems == (
        "row 3: is not UTF-8 (byte 0xff in column 4): save the file as CSV UTF-8",
    )


def test_zero_byte_is_told_with_its_row(tmp_path: Path) -> None:
    assert read(tmp_path, b"id,name\ns1,A\0da\n").problems[0].startswith("row 2: holds a zero byte")


def test_student_without_any_repository_is_told(tmp_path: Path) -> None:
    roster = read(tmp_path, "id,name\ns1,Ada\n", remote="")

    assert roster.problems == (
        'row 2: no repository is given, and course.toml names no "remote" for all',
    )


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", "row 1: there is no column id and no column name"),
        ("student,name\n1,A\n", "row 1: there is no column id"),
        ("id,name,id\n1,A,2\n", "row 1: two columns are called id"),
        ("id,name\n", "names no student"),
        ('id,name\ns1,"Ada\ns2,Bob\n', "row 2: unexpected end of data"),
    ],
)
def test_file_that_is_no_roster_is_one_line(tmp_path: Path, text: str, told: str) -> None:
    with pytest.raises(UsageError, match=told):
        read(tmp_path, text)


def test_missing_file_is_one_line(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"roster .*none.csv cannot be read: No such file"):
        read_roster(tmp_path / "none.csv")


# As Canvas writes it under Grades: two rows before the students, the test student at the end.
CANVAS = """\
Student,ID,SIS User ID,SIS Login ID,Section,Homework 1 (4711),Final Score
,,,,,Manual Posting,
    Points Possible,,,,,10.0,(read only)
"Lovelace, Ada",101,7001,ada,CS-101,8,80.0
"Turing, Alan",102,7002,{login},CS-101,,
"Student, Test",199,,0a1b2c,CS-101,,
"""


@pytest.mark.parametrize(
    ("login", "ids"), [("alan@uni", ["ada", "alan@uni"]), ("", ["7001", "7002"])]
)
def test_canvas_export_is_a_roster_as_it_is(tmp_path: Path, login: str, ids: list[str]) -> None:
    file = tmp_path / "grades.csv"
    file.write_bytes(b"\xef\xbb\xbf" + CANVAS.format(login=login).encode())

    roster = read_roster(file, "remote")

    assert roster.problems == ()
    assert [student.id for student in roster.students] == ids
    assert [student.name for student in roster.students] == ["Lovelace, Ada", "Turing, Alan"]
    assert roster.students[0].branch == f"student/{ids[0]}"
