"""Answers to a lab's questions in a grading: read by anyone, judged where a course gives points."""

import shutil
from dataclasses import replace
from pathlib import Path

import pytest
from stand_ins.asking import PROGRAM, ask
from stand_ins.expectation import HERE
from stand_ins.isolation import require_sandbox

from grader.course.grading.jobs import Job, grade_job, lab_version
from grader.course.policy import Feedback
from grader.judge.grade import grade
from grader.judge.setup.request import Request
from grader.labs.documents.untouched import holds_nothing
from grader.labs.lab import Lab, load_lab
from grader.labs.results import Report, Verdict
from grader.questions.definitions import read_questions
from grader.questions.drawn import draw_all
from grader.questions.graded import answers_of, points_of
from grader.questions.key import read_key
from grader.questions.page import written
from grader.report.facts.notices import notices
from grader.service.core.feedback import shown_to_student

RIGHT = {"beam_scores": "rows * beams * vocabulary", "kept": PROGRAM}
WRONG = {"commutes": "none of them", "logits_shape": "(1, 2)"}


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Lab:
    root = tmp_path_factory.mktemp("asking") / "course"
    shutil.copytree(HERE / "demo", root)
    return ask(load_lab(root / "labs" / "90_echo"))


@pytest.fixture(autouse=True)
def sandboxed() -> None:
    require_sandbox()


def page(lab: Lab, student: str, answers: dict[str, str]) -> bytes:
    """Write a page as it is drawn for a student, with some answers typed."""
    asked = draw_all(lab.name, read_questions(lab.folder), student)
    text = written(lab.number, student, [(item, item) for item in asked])
    for id, answer in answers.items():
        head, _, rest = text.partition(f"## {id}\n")
        before, _, after = rest.partition("Answer:")
        text = f"{head}## {id}\n{before}Answer:\n\n{answer}\n{after}"
    return text.encode()


def right(lab: Lab, student: str) -> dict[str, str]:
    """Return right answers as the student of a draw types them."""
    key = read_key(lab)
    assert key is not None
    found = dict(RIGHT)
    for asked in draw_all(lab.name, read_questions(lab.folder), student):
        if asked.question.id not in found:
            said = key.functions[asked.question.id](**asked.values)
            letters = {text: "abcd"[at] for at, text in enumerate(asked.options)}
            kind = asked.question.kind.value
            found[asked.question.id] = (
                letters[said]
                if kind == "choice"
                else ", ".join(letters[each] for each in said)
                if asked.options
                else str(said)
            )
    return found


def graded(lab: Lab, folder: Path, content: bytes | None, **more: object) -> Report:
    shutil.copy(lab.solutions / lab.code_name, folder)
    shutil.copy(lab.solutions / "PSEUDOCODE.md", folder)
    if content is not None:
        (folder / "QUESTIONS.md").write_bytes(content)
    return grade(Request(lab, folder, "cpu", 1, "required", **more))  # pyright: ignore[reportArgumentType]


def test_right_answers_earn_the_points_that_the_course_gives(lab: Lab, tmp_path: Path) -> None:
    report = graded(lab, tmp_path, page(lab, "ada", right(lab, "ada")), questions=10.0)

    assert (report.score, report.graded, report.total) == (110, 110, 110)
    assert report.tasks[-1].score == 10
    assert report.exit_code == 0
    assert report.extras["questions"] == {"asked": 7, "answered": 7, "student": "ada"}


def test_points_go_by_the_share_that_is_right(lab: Lab, tmp_path: Path) -> None:
    answers = right(lab, "ada") | WRONG | {"min_p_leaves": "some tokens", "kept": ""}

    report = graded(lab, tmp_path, page(lab, "ada", answers), questions=14.0)

    told = {
        test.id: (test.verdict, test.message) for test in report.tests if test.task == "questions"
    }
    assert report.tasks[-1].score == 6
    assert told["commutes"] == (Verdict.FAILED, "wrong")
    assert told["min_p_leaves"][1].startswith("cannot be read: must be a number alone")
    assert told["kept"] == (Verdict.FAILED, "not answered")
    assert report.extras["questions"]["answered"] == 6


def test_without_points_the_form_alone_is_read(lab: Lab, tmp_path: Path) -> None:
    content = page(lab, "ada", WRONG | {"min_p_leaves": "some tokens"})

    report = graded(lab, tmp_path, content)

    assert (report.score, report.total) == (100, 100)
    assert not [test for test in report.tests if test.suite == "questions"]
    assert {*report.extras["questions"]["unreadable"]} == {"min_p_leaves"}
    text = "\n".join(notice.text for notice in notices(report))
    assert "Questions: 3 of 7 are answered." in text
    assert "min_p_leaves cannot be read" in text


def test_public_tests_alone_judge_no_answer(lab: Lab, tmp_path: Path) -> None:
    content = page(lab, "ada", right(lab, "ada"))

    report = graded(lab, tmp_path, content, questions=10.0, suite="public")

    assert not report.tasks[-1].graded
    assert {t.verdict for t in report.tests if t.task == "questions"} == {Verdict.NOT_GRADED}


def test_a_class_is_graded_with_its_points_by_who_handed_in(lab: Lab, tmp_path: Path) -> None:
    files = {
        lab.code_name: (lab.solutions / lab.code_name).read_bytes(),
        "QUESTIONS.md": page(lab, "ada", right(lab, "ada")),
    }
    ada = Job("ada", "c1", str(lab.folder), lab_version(lab), files, "cpu", "required", 1)

    own = answers_of(lab, files["QUESTIONS.md"], read_key(lab), ["ada"])
    team = answers_of(lab, files["QUESTIONS.md"], read_key(lab), ["Bob", "ADA"])
    other = answers_of(lab, files["QUESTIONS.md"], read_key(lab), ["bob"])
    done = grade_job(replace(ada, questions=10.0))

    assert all(found.is_right for found in (*own.judged.values(), *team.judged.values()))
    lost = [id for id, found in other.judged.items() if not found.is_right]
    assert lost == ["min_p_leaves", "logits_shape"]
    assert "was drawn for ada" in other.problem
    assert done.report is not None
    assert done.report.tasks[-1].score == 10


def test_feedback_holds_back_which_answers_are_right(lab: Lab, tmp_path: Path) -> None:
    report = graded(lab, tmp_path, page(lab, "ada", WRONG), questions=10.0)

    seen = {
        level: [t for t in shown_to_student(report, level).tests if t.suite == "questions"]
        for level in Feedback
    }
    assert seen[Feedback.POINTS] == []
    assert {test.message for test in seen[Feedback.TASKS]} == {""}
    assert "wrong" in {test.message for test in seen[Feedback.MESSAGES]}


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b"", "does not say for whom"),
        (b"\xff\xfe", "is no UTF-8"),
        (b"drawn for: `ada`\n## kept\n## kept\n", "a second time"),
        (b"x" * (1 << 20), "larger than"),
    ],
)
def test_a_broken_page_costs_its_points_and_nothing_else(
    lab: Lab, content: bytes, says: str
) -> None:
    found = answers_of(lab, content, read_key(lab), ["ada"])

    assert says in found.problem
    assert found.answered == 0


def test_answers_alone_are_something_handed_in(lab: Lab) -> None:
    stub = {lab.code_name: lab.stub.read_bytes()}

    assert holds_nothing(lab, stub | {"QUESTIONS.md": page(lab, "ada", {})})
    assert not holds_nothing(lab, stub | {"QUESTIONS.md": page(lab, "ada", {"commutes": "b"})})


def test_what_answers_give_stands_in_course_toml(tmp_path: Path) -> None:
    assert points_of(tmp_path) == 0
    (tmp_path / "course.toml").write_text("[questions]\npoints = 12.5\n")
    assert points_of(tmp_path) == 12.5
