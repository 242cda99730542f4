"""Answers that are alike: copies are found however they are dressed, independent ones are not."""

import json
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

import pytest

pytest.importorskip("sqlalchemy", reason="needs the extra course")
pytest.importorskip("alembic", reason="needs the extra course")
pytest.importorskip("copydetect", reason="needs the extra course")

from copydetect import CodeFingerprint, compare_files
from stand_ins.classroom import LAB, NOON, frozen

from grader.cli import app
from grader.course.database.records import Likeness, Student
from grader.course.database.store import Store
from grader.course.likeness.answers import model_answers
from grader.course.likeness.fingerprints import NOISE, Table, numbered, print_of, together
from grader.course.likeness.lexing import Part, significant_parts
from grader.course.likeness.similarity import THRESHOLD, Comparison, compare_class
from grader.labs.lab import Lab, all_labs, find_lab

ROOT = Path(__file__).resolve().parents[3]
LLAMA = find_lab("1", ROOT)
VARIANTS = LLAMA.solutions / "variants"
Compare = Callable[..., Comparison]


def disguised(code: str) -> str:
    """The same code with other names, comments, strings and blank lines."""
    names = sorted(set(re.findall(r"\b[a-z]{3,}_[a-z_]+\b", code)))
    for number, name in enumerate(names):
        code = re.sub(rf"\b{name}\b", f"renamed_{number}_thing", code)
    code = re.sub(r"#.*", "# my own words", code)
    return re.sub(r'"""(?s:.*?)"""', '"""All mine."""', code).replace(
        "\n    return", "\n\n    return"
    )


@pytest.fixture
def compare(tmp_path: Path) -> Compare:
    """Compare answers, given by the student's id."""

    def call(**answers: str) -> Comparison:
        for name, code in answers.items():
            (tmp_path / name).mkdir()
            (tmp_path / name / "llama.py").write_text(code, encoding="utf-8")
        return compare_class(LLAMA, [frozen(name, name) for name in answers], tmp_path)

    return call


def pairs(found: Comparison) -> list[tuple[str, str]]:
    return [(item.student, item.other) for item in found.found]


@pytest.mark.parametrize("lab", all_labs(ROOT), ids=lambda lab: lab.name)
def test_the_stub_is_nobodys(lab: Lab, tmp_path: Path) -> None:
    for name in ("ada", "bob"):
        (tmp_path / name).mkdir()
        (tmp_path / name / lab.code_name).write_bytes(lab.stub.read_bytes())

    found = compare_class(lab, [frozen("ada", "ada"), frozen("bob", "bob")], tmp_path, 0.1)

    assert (found.found, found.students) == ([], 2)
    assert found.models == len([*(lab.solutions / "variants").glob("*.py")]) + 1


def test_answers_written_independently_are_not_alike(compare: Compare) -> None:
    answers = {path.stem: path.read_text() for path in VARIANTS.glob("*.py")}
    del answers["logarithms"]  # the plain one in other arithmetic

    found = compare(**answers)

    students = [pair for pair in found.found if pair.is_student]
    assert len(answers) >= 4
    assert students == []


def test_a_disguised_copy_is_found(compare: Compare) -> None:
    code = (VARIANTS / "einsum.py").read_text()
    other = (VARIANTS / "modules.py").read_text()

    found = compare(ada=code, bob=disguised(code), cyd=other)

    between = [item for item in found.found if item.is_student]
    assert [(item.student, item.other) for item in between] == [("ada", "bob")]
    assert between[0].highest > 0.9


def test_a_copy_of_a_model_answer_is_found(compare: Compare) -> None:
    found = compare(ada=disguised((LLAMA.solutions / "llama.py").read_text()))

    assert pairs(found)[0] == ("ada", "01_llama/llama.py")
    assert not found.found[0].is_student
    assert found.found[0].share > 0.9


def test_a_copy_with_as_much_of_its_own_shows_in_one_share(compare: Compare) -> None:
    code, more = ((VARIANTS / name).read_text() for name in ("einsum.py", "modules.py"))

    found = [item for item in compare(ada=code, bob=code + more).found if item.is_student]

    assert found[0].share > 0.95
    assert found[0].other_share < 0.75


def test_a_stub_with_one_short_function_is_no_copy(compare: Compare) -> None:
    body = (
        "\n\ndef rms_norm(x, w, eps):\n    return x * (x.pow(2).mean(-1, True) + eps).rsqrt() * w\n"
    )
    code = LLAMA.stub.read_text() + body

    assert pairs(compare(ada=code, bob=code)) == []


def test_what_is_no_python_is_compared_as_it_can_be(compare: Compare, tmp_path: Path) -> None:
    found = compare(ada="", bob="def (((" * 4000, cyd="\x00\ud7ff" * 500)
    (tmp_path / "ada" / "llama.py").write_bytes(b"\xff\xfe" * 5000)
    again = compare_class(LLAMA, [frozen("ada", "ada")], tmp_path)

    assert (found.students, again.students) == (3, 1)


def test_who_cannot_be_compared_is_named(tmp_path: Path) -> None:
    (tmp_path / "big").mkdir()
    (tmp_path / "big" / "llama.py").write_text("x = 1\n" * 100_000)
    (tmp_path / "link").mkdir()
    (tmp_path / "link" / "llama.py").symlink_to(LLAMA.stub)
    handed_in = [frozen("big", "big"), frozen("link", "link"), frozen("gone", problem="no branch")]

    found = compare_class(LLAMA, handed_in, tmp_path)

    assert found.left_out == [
        "big: llama.py is larger than 256 KiB",
        "link: no llama.py",
        "gone: no branch",
    ]


@pytest.mark.parametrize("inner", ["", "01_llama", "labs/01_llama"])
def test_an_answer_is_found_where_a_student_has_it(tmp_path: Path, inner: str) -> None:
    folder = tmp_path / "ada" / inner
    folder.mkdir(parents=True)
    (folder / "llama.py").write_text((LLAMA.solutions / "llama.py").read_text())

    found = compare_class(LLAMA, [frozen("ada", "ada")], tmp_path)

    assert pairs(found)[0] == ("ada", "01_llama/llama.py")


def test_a_remark_beside_an_answer_keeps_nobody_from_being_compared(tmp_path: Path) -> None:
    (tmp_path / "llama.py").write_text((LLAMA.solutions / "llama.py").read_text())

    found = compare_class(LLAMA, [frozen("ada", ".", "no PSEUDOCODE.md")], tmp_path)

    assert (found.students, found.left_out) == (1, [])
    assert pairs(found)[0] == ("ada", "01_llama/llama.py")


def test_the_shares_are_those_of_copydetect(tmp_path: Path) -> None:
    files = [tmp_path / "einsum.py", tmp_path / "modules.py"]
    for file in files:
        file.write_text((VARIANTS / file.name).read_text().replace("self", "this"))
    bare = [CodeFingerprint(str(file), NOISE, 1, language="python") for file in files]

    tokens, shares, _ = compare_files(*bare)
    parts = significant_parts([file.read_text() for file in files])
    ours = [print_of(part.text, together([])) for part in parts if isinstance(part, Part)]
    short, size = numbered(ours)
    [(first, second)] = Table(size).shared(short[0], short[1:])

    assert first == tokens > 0
    assert [first / ours[0].tokens, second / ours[1].tokens] == [
        pytest.approx(share) for share in shares
    ]


def test_two_comparisons_of_the_same_answers_agree() -> None:
    code = (
        "import sys; from pathlib import Path\n"
        "from stand_ins.classroom import frozen\n"
        "from grader.course.likeness.similarity import compare_class\n"
        "from grader.labs.lab import find_lab, find_root\n"
        "lab = find_lab('1', find_root())\n"
        "files = sorted((lab.solutions / 'variants').glob('*.py'))\n"
        "for file in files:\n"
        "    folder = Path(sys.argv[1], file.stem); folder.mkdir(exist_ok=True)\n"
        "    (folder / 'llama.py').write_bytes(file.read_bytes())\n"
        "handed_in = [frozen(file.stem, file.stem) for file in files]\n"
        "print(compare_class(lab, handed_in, Path(sys.argv[1]), 0.1).found)"
    )
    path = os.pathsep.join([str(ROOT), str(ROOT / "tests"), os.environ.get("PYTHONPATH", "")])

    def run(seed: str, folder: str) -> str:
        given = {**os.environ, "PYTHONPATH": path, "PYTHONHASHSEED": seed}
        command = [sys.executable, "-c", code, folder]
        return subprocess.run(command, env=given, check=True, capture_output=True, text=True).stdout

    with tempfile.TemporaryDirectory() as folder:
        assert run("1", folder) == run("2", folder) != "[]\n"


def test_the_model_answers_are_the_solution_and_its_variants() -> None:
    names = [answer.name for answer in model_answers(LLAMA)]

    assert names[0] == "01_llama/llama.py"
    assert all(name.startswith("01_llama/variants/") for name in names[1:])


def test_the_command_lists_keeps_and_writes_what_is_alike(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "course.toml").write_text('title = "Inference"\n')
    monkeypatch.chdir(tmp_path)
    code = (VARIANTS / "einsum.py").read_text()
    with Store.open("sqlite:///course.db", tmp_path) as store:
        store.put_students([Student(name, name.title(), "", "b") for name in ("ada", "bob", "cyd")])
        store.start_run(LAB, NOON)
        for name, text in (("ada", code), ("bob", disguised(code))):
            (tmp_path / name).mkdir()
            (tmp_path / name / "llama.py").write_text(text)
            store.add_frozen(frozen(name, name))
        store.add_frozen(frozen("cyd", problem="branch student/cyd is missing"))

    assert app.main(["similarity", "1", "--pairs", "--json", "alike.json"]) == 1
    said = capsys.readouterr()
    assert "2 students and 7 model answers compared; pairs that share 60% or more: " in said.out
    assert re.search(r"^ada +bob +\d+% +\d+% +\d+ *$", said.out, re.MULTILINE)
    assert said.err == "not compared: cyd: branch student/cyd is missing\n"
    data = json.loads((tmp_path / "alike.json").read_text())
    with Store.open("sqlite:///course.db", tmp_path) as store:
        assert [Likeness(**pair) for pair in data["pairs"]] == store.likenesses(LAB)
    assert data["threshold"] == THRESHOLD
    assert app.main(["similarity", "2"]) == 2
    assert "nothing of 02_batching was collected" in capsys.readouterr().err


def test_the_command_writes_clusters_notes_and_pages(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "course.toml").write_text('title = "Inference"\n')
    monkeypatch.chdir(tmp_path)
    code = (VARIANTS / "einsum.py").read_text()
    with Store.open("sqlite:///course.db", tmp_path) as store:
        store.put_students([Student(name, name.title(), "", "b") for name in ("ada", "bob")])
        for name, text in (("ada", code), ("bob", disguised(code))):
            (tmp_path / name).mkdir()
            (tmp_path / name / "llama.py").write_text(text)
            store.add_frozen(frozen(name, name))
    note = ["--state", "to be talked about", "--author", "A. T.", "--text", "same <order>"]
    assert app.main(["similarity-note", "1", "ada", "bob", *note]) == 2
    assert app.main(["similarity", "1"]) == 1
    assert "1. 2 students (open)" in capsys.readouterr().out

    assert app.main(["similarity-note", "1", "ada", "bob", *note]) == 0
    assert app.main(["similarity-note", "1", "ada", "eve", *note]) == 2
    assert app.main(["similarity", "1", "--csv", "alike.csv", "--html", "pages"]) == 1

    said = capsys.readouterr().out
    assert "1. 2 students (to be talked about)" in said
    assert "A. T., " in said
    rows = (tmp_path / "alike.csv").read_text(encoding="utf-8-sig").splitlines()
    assert rows[0].startswith("cluster,name,is,students")
    assert [row.split(",")[1:3] for row in rows[1:3]] == [["ada", "student"], ["bob", "student"]]
    index = (tmp_path / "pages" / "index.html").read_text()
    assert "same &lt;order&gt;" in index
    [page] = [file for file in (tmp_path / "pages").iterdir() if file.name != "index.html"]
    assert f'href="{page.name}"' in index
    assert 'href="#b1"' in page.read_text()
