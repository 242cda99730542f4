"""The corpus: earlier years and public solutions, named as what they are, never as students."""

from pathlib import Path

import pytest

pytest.importorskip("copydetect", reason="needs the extra course")

from stand_ins.classroom import frozen

from grader.course.config import load_course
from grader.course.likeness import answers
from grader.course.likeness.answers import Answer, Read, folders_of, key_of, read_answer
from grader.course.likeness.similarity import Comparison, compare_class
from grader.course.likeness.tokens import significant
from grader.errors import UsageError
from grader.labs.lab import Lab, all_labs, find_lab
from grader.labs.translations.files import translation

ROOT = Path(__file__).resolve().parents[3]
LLAMA = find_lab("1", ROOT)
VARIANTS = LLAMA.solutions / "variants"
EINSUM, MODULES = ((VARIANTS / name).read_text() for name in ("einsum.py", "modules.py"))
OWN = EINSUM.replace("einsum", "einsum_of_last_year")  # no model answer of ours


@pytest.fixture
def year(tmp_path: Path) -> Path:
    """A folder of an earlier year, as a course collects it."""
    folder = tmp_path / "2025"
    for inner in ("collected/01_llama/old17/c0ffee", "collected/02_batching/old17/c0ffee"):
        (folder / inner).mkdir(parents=True)
    (folder / "collected/01_llama/old17/c0ffee/llama.py").write_text(OWN)
    (folder / "collected/02_batching/old17/c0ffee/batching.py").write_text(MODULES)
    return folder


def compared(tmp_path: Path, *corpus: Path, **texts: str) -> Comparison:
    for name, text in texts.items():
        (tmp_path / name).mkdir()
        (tmp_path / name / "llama.py").write_text(text)
    return compare_class(LLAMA, [frozen(name, name) for name in texts], tmp_path, 0.6, corpus)


TRANSLATED = [
    lab for lab in all_labs(ROOT) if not lab.is_manual and translation(lab.stub).is_file()
]


@pytest.mark.parametrize("lab", TRANSLATED, ids=lambda lab: lab.name)
def test_a_chinese_stub_is_nobodys_work_as_the_english_is(lab: Lab) -> None:
    english, chinese = (file.read_text("utf-8") for file in (lab.stub, translation(lab.stub)))

    assert significant(chinese)[0] == significant(english)[0]


def test_a_stub_in_chinese_is_no_answer_of_the_corpus(tmp_path: Path) -> None:
    folder = tmp_path / "clone" / "labs" / LLAMA.name
    folder.mkdir(parents=True)
    for name in ("llama.py", "llama.zh.py", "test_llama.py"):
        (folder / name).write_text(OWN)

    found = answers.corpus_answers(LLAMA, tmp_path / "clone")

    assert [answer.file.name for answer in found] == ["llama.py"]


def test_a_copy_of_an_earlier_year_is_found_and_says_where_it_comes_from(
    tmp_path: Path, year: Path
) -> None:
    found = compared(tmp_path, year, ada=OWN)

    names = [item.other for item in found.found]
    assert "2025/collected/01_llama/old17/c0ffee/llama.py" in names
    assert not any(item.is_student for item in found.found)
    assert (found.students, len(found.clusters)) == (1, 1)
    assert "2025/collected/01_llama/old17/c0ffee/llama.py" in {
        source.name for source in found.clusters[0].sources
    }


def test_only_what_is_of_the_lab_is_taken(year: Path) -> None:
    (year / "public" / "01_llama").mkdir(parents=True)
    (year / "public" / "01_llama" / "somebody.py").write_text("x = 1\n")
    (year / "public" / "01_llama" / "test_llama.py").write_text("x = 2\n")
    (year / "public" / "other.py").write_text("x = 3\n")
    (year / "public" / "01_llama" / "link.py").symlink_to(year / "public" / "other.py")

    found = [answer.name for answer in answers.corpus_answers(LLAMA, year)]

    assert found == [
        "2025/collected/01_llama/old17/c0ffee/llama.py",
        "2025/public/01_llama/somebody.py",
    ]


def test_the_same_file_twice_is_one_answer_of_the_corpus(tmp_path: Path, year: Path) -> None:
    (year / "llama.py").write_text(OWN)

    found = compared(tmp_path, year, ada=OWN)

    assert sum(answer.name.startswith("2025/") for answer in found.answers) == 1


def test_a_corpus_beyond_a_number_of_files_is_cut_and_said_to_be(
    tmp_path: Path, year: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (year / "llama.py").write_text(OWN + "y = 1\n")
    monkeypatch.setattr(answers, "MOST_OF_CORPUS", 1)

    found = compared(tmp_path, year, ada=OWN)

    assert found.left_out == ["2025: 1 of its answers, beyond 1"]


def test_a_folder_that_is_not_there_is_told(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="there is no folder") as told:
        compared(tmp_path, tmp_path / "gone", ada=OWN)

    assert "corpus in course.toml" in told.value.hint


def test_course_toml_names_folders_from_where_it_lies(tmp_path: Path) -> None:
    file = tmp_path / "course.toml"
    file.write_text('title = "x"\n[likeness]\ncorpus = ["../2025", "public"]\n')

    course = load_course(file)

    assert folders_of(course, [tmp_path / "public", Path("/more")]) == [
        tmp_path.parent / "2025",
        tmp_path / "public",
        Path("/more"),
    ]


def test_a_key_tells_who_wrote_what(tmp_path: Path) -> None:
    assert len({key_of("ada", b"x"), key_of("bob", b"x"), key_of("ada", b"y")}) == 3
    assert key_of("ada", b"x") == key_of("ada", b"x")


@pytest.mark.parametrize(
    ("data", "told"),
    [
        ("x = 1\n".encode("utf-16"), "has bytes of zero"),
        (b"# coding: utf-7\nx = 1\n", "declares the encoding utf-7"),
        (b"#!/usr/bin/python\n# -*- coding: cp1252 -*-\n", "declares the encoding cp1252"),
    ],
)
def test_what_may_read_otherwise_is_told(tmp_path: Path, data: bytes, told: str) -> None:
    (tmp_path / "llama.py").write_bytes(data)

    found = read_answer(Answer("ada", True, tmp_path / "llama.py"))

    assert isinstance(found, Read)
    assert told in found.told[0]


def test_plain_text_is_told_nothing_of(tmp_path: Path) -> None:
    (tmp_path / "llama.py").write_text("# -*- coding: utf-8 -*-\nname = 'é'\n")

    found = read_answer(Answer("ada", True, tmp_path / "llama.py"))

    assert isinstance(found, Read)
    assert found.told == []


def test_teams_are_not_like_themselves(tmp_path: Path) -> None:
    for name in ("ada", "bob", "cyd"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "llama.py").write_text(OWN)
    handed_in = [frozen(name, name) for name in ("ada", "bob", "cyd")]

    found = compare_class(
        LLAMA, handed_in, tmp_path, team=lambda student: ("ada", "bob") if student != "cyd" else ()
    )

    between = [(item.student, item.other) for item in found.found if item.is_student]
    assert sorted(between) == [("ada", "cyd"), ("bob", "cyd")]
