"""Lists of students as Canvas, Moodle and people write them: recognised, and every mistake told."""

from pathlib import Path

import pytest

from grader.course.rosters.forms import Kind
from grader.course.rosters.people import People, Person, read_people
from grader.errors import UsageError

CANVAS = """\
Student,ID,SIS User ID,SIS Login ID,Section,Homework 1 (4711),Final Score
,,,,,Manual Posting,
    Points Possible,,,,,10.0,(read only)
"Lovelace, Ada",101,7001,ada,CS-101,8,80.0
"Turing, Alan",102,7002,alan@uni,CS-101 and CS-102,-1.5,
"Student, Test",199,,0a1b2c,CS-101,,
"""
MOODLE = """\
First name,Surname,ID number,Username,Email address,Groups
Ada,Lovelace,7001,ada,Ada@uni.example,"Mon, Tue"
Alan,Turing,7002,alan,alan@uni.example,
"""
ADA = Person("ada", "Ada Lovelace", "ada@uni.example", "7001", "ada", section="Mon, Tue")
ALAN = Person("alan", "Alan Turing", "alan@uni.example", "7002", "alan")


def read(folder: Path, text: str | bytes, id_from: str = "") -> People:
    file = folder / "export.csv"
    file.write_bytes(text.encode() if isinstance(text, str) else text)
    return read_people(file, id_from)


def test_canvas_gradebook_gives_its_students_and_no_others(tmp_path: Path) -> None:
    found = read(tmp_path, CANVAS)

    assert found.problems == ()
    assert found.persons == (
        Person("ada", "Lovelace, Ada", "", "7001", "ada", "101", "CS-101"),
        Person("alan@uni", "Turing, Alan", "", "7002", "alan@uni", "102", "CS-101 and CS-102"),
    )
    assert found.notes == (
        "export.csv: a Canvas gradebook export, UTF-8 with commas; 2 students, "
        "ids are their SIS Login ID",
    )


def test_canvas_list_of_users_leaves_deleted_ones_out(tmp_path: Path) -> None:
    found = read(
        tmp_path,
        "user_id,login_id,first_name,last_name,email,status\n"
        "7001,ada,Ada,Lovelace,ada@uni.example,active\n7009,bob,Bob,B,,deleted\n",
    )

    assert found.kind is Kind.USERS
    assert found.persons == (Person("ada", "Ada Lovelace", "ada@uni.example", "7001", "ada"),)
    assert found.notes[1].startswith("1 row is of people who are no students")


@pytest.mark.parametrize(
    ("data", "written"),
    [
        (MOODLE.encode(), "UTF-8 with commas"),
        (b"\xef\xbb\xbf" + MOODLE.replace("\n", "\r\n").encode(), "UTF-8 with commas"),
        (b"sep=,\n" + MOODLE.encode(), "UTF-8 with commas"),
        (MOODLE.replace('"Mon, Tue"', "Mon| Tue").replace(",", ";").encode(), "UTF-8 with"),
        (MOODLE.replace('"Mon, Tue"', "Mon| Tue").replace(",", "\t").encode("utf-16"), "UTF-16"),
        (MOODLE.encode("utf-16-le"), "UTF-16 with commas"),
        (MOODLE.encode("utf-16-be"), "UTF-16 with commas"),
    ],
    ids=["plain", "BOM", "sep", "semicolons", "UTF-16 with tabs", "little", "big"],
)
def test_moodle_export_is_read_however_it_is_written(
    tmp_path: Path, data: bytes, written: str
) -> None:
    found = read(tmp_path, data)

    assert found.kind is Kind.MOODLE
    assert [person.id for person in found.persons] == ["ada", "alan"]
    assert found.persons[1] == ALAN
    assert found.persons[0].section.replace("|", ",") == ADA.section
    assert written in found.notes[0]


@pytest.mark.parametrize(
    "header",
    [
        "Vorname;Nachname;ID-Nummer;Anmeldename;E-Mail-Adresse;Gruppen",
        "Prénom;Nom;Numéro d'identification;Nom d'utilisateur;Adresse de courriel;Groupes",
        "Nombre;Apellido(s);Número de ID;Nombre de usuario;Dirección de correo;Grupos",
    ],
)
def test_moodle_in_another_language_is_read_in_latin_1(tmp_path: Path, header: str) -> None:
    row = "Zoë;Müller;7001;zoe;zoe@uni.example;A"

    found = read(tmp_path, f"{header}\n{row}\n".encode("latin-1"))

    expected = Person("zoe", "Zoë Müller", "zoe@uni.example", "7001", "zoe", section="A")
    assert found.persons == (expected,)
    assert "Latin-1 with semicolons" in found.notes[0]


def test_teachers_of_a_moodle_course_are_no_students(tmp_path: Path) -> None:
    found = read(
        tmp_path,
        "First name,Last name,Email address,Roles\nAda,L,a@x.example,Student\n"
        "Grace,H,g@x.example,Teacher\n",
    )

    assert [person.id for person in found.persons] == ["a@x.example"]
    assert "1 row is of people who are no students" in found.notes[1]


def test_plain_columns_stand_in_any_order(tmp_path: Path) -> None:
    found = read(tmp_path, "branch,E-Mail,NAME,id\nwork,A@x.example,Ada,s1\n,,Bob,s2\n")

    assert found.kind is Kind.PLAIN
    assert found.persons == (
        Person("s1", "Ada", "a@x.example", branch="work"),
        Person("s2", "Bob"),
    )


@pytest.mark.parametrize(
    ("wanted", "ids"),
    [("number", ["7001", "7002"]), ("email", ["ada@uni.example", "alan@uni.example"])],
)
def test_the_id_is_what_one_asks_for(tmp_path: Path, wanted: str, ids: list[str]) -> None:
    assert [person.id for person in read(tmp_path, MOODLE, wanted).persons] == ids


def test_the_id_is_the_first_that_all_have(tmp_path: Path) -> None:
    found = read(tmp_path, MOODLE.replace("7002,alan,", "7002,,"))

    assert [person.id for person in found.persons] == ["7001", "7002"]
    assert "ids are their ID number" in found.notes[0]


@pytest.mark.parametrize(
    ("row", "told"),
    [
        ("Bob,B,7003,ada,b@x.example,", "the id 'ada' is that of row 2"),
        ("Bob,B,7003,ADA,b@x.example,", "the id 'ADA' is that of row 2"),
        ("Bob,B,7001,bob,b@x.example,", "the number '7001' is that of row 2"),
        ("Bob,B,7003,bob,ADA@uni.example,", "the e-mail address 'ada@uni.example' is that of"),
        ("Bob,B,7003,../etc,b@x.example,", "the id '../etc' cannot name a folder"),
        ("Bob,B,7003,con/sole,b@x.example,", "the id 'con/sole' cannot name a folder"),
        ("Bob,B,7003,bob,no address,", "'no address' is no plain e-mail address"),
        ("=cmd|' /C calc'!A0,B,7003,bob,b@x.example,", "looks like a formula"),
        ("+SUM(1),B,7003,bob,b@x.example,", "looks like a formula"),
        ("@x,B,7003,bob,b@x.example,", "looks like a formula"),
        ("-x,B,7003,bob,b@x.example,", "looks like a formula"),
        (",,7003,bob,b@x.example,", "the name is missing"),
        ("Bob,B,7003,bob,b@x.example,A,B", "has 7 cells, the first row 6"),
    ],
)
def test_row_that_cannot_be_used_is_told_with_its_number(
    tmp_path: Path, row: str, told: str
) -> None:
    found = read(tmp_path, f"{MOODLE}\n{row}\n")

    (problem,) = found.problems
    assert problem.startswith("row 5: ")
    assert told in problem
    assert [person.id for person in found.persons] == ["ada", "alan"]


def test_student_without_what_the_others_are_known_by_is_told(tmp_path: Path) -> None:
    found = read(tmp_path, MOODLE.replace("7002,alan,", "7002,,"), "login")

    assert found.problems == ("row 3: the id is missing",)


def test_grade_below_zero_and_grade_that_is_not_there_are_no_formulas(tmp_path: Path) -> None:
    found = read(tmp_path, "id,name,total,share\ns1,Ada,-1.5,-3 %\ns2,Bob,-,\n")

    assert found.problems == ()


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", "row 1: nobody's list of students begins with nothing"),
        ("a,b\n1,2\n", "row 1: nobody's list of students begins with a, b"),
        ("id,name,id\n1,A,2\n", "row 1: two columns are called id"),
        ("id,name\n", "names no student"),
        ('id,name\ns1,"Ada\n', "row 2: unexpected end of data"),
        ("First name,Surname\nAda,L\n", "a Moodle export tells nothing that could be an id"),
        (b"PK\x03\x04....", "is a spreadsheet or an archive, no CSV"),
        (b"\xff\xfei\0d\0,", "begins as UTF-16 and goes on as something else"),
        (b"id,name\ns1,A\0\n", "holds zero bytes"),
    ],
)
def test_file_that_is_no_list_of_students_is_one_line(
    tmp_path: Path, text: str | bytes, told: str
) -> None:
    with pytest.raises(UsageError, match=told):
        read(tmp_path, text)


def test_what_an_export_does_not_have_cannot_become_the_id(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="a Canvas gradebook export without email"):
        read(tmp_path, CANVAS, "email")


def test_missing_file_is_one_line(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"none\.csv cannot be read: No such file"):
        read_people(tmp_path / "none.csv")
