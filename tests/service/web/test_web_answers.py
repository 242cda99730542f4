"""Model answers on the web: nobody sees any before the last one can hand in no more."""

import re
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from stand_ins.web_class import LAB, NOW, filled_database, web_class

from grader import ROOT
from grader.course.database.records import Grant, GrantKind
from grader.labs.lab import load_lab
from grader.questions.definitions import read_questions
from grader.questions.drawn import Asked, draw_all
from grader.questions.judging import Standing, judge, right_answer
from grader.questions.key import Key, read_key
from grader.questions.question import Kind
from grader.service.domain.records import Role

REAL = load_lab(ROOT / "labs" / "03_sampling")
CLOSED = {"closed": [REAL]}
PAGE = "/labs/3/answers"
CHINESE = {"accept-language": "zh-CN"}


def key() -> Key:
    found = read_key(REAL)
    assert found is not None
    return found


def drawn(student: str) -> tuple[Asked, ...]:
    return draw_all(REAL.name, read_questions(REAL.folder), student)


def lesson(folder: Path, **more: Any) -> Any:
    (folder / "class").mkdir()
    return web_class(folder / "class", filled_database(folder), **more)


def shown(html: str) -> str:
    return " ".join(re.sub(r"<[^>]+>", " ", html).split())


def test_after_the_end_each_sees_what_was_right_for_them(tmp_path: Path) -> None:
    with lesson(tmp_path, **CLOSED) as class_:
        pages = {name: class_.browser(name).get(PAGE) for name in ("s17", "s18")}
        linked = class_.browser("s17").get("/labs/3").text
        chinese = class_.browser("s17").get(PAGE, headers=CHINESE).text

    assert f'href="{PAGE}"' in linked
    assert pages["s17"].text != pages["s18"].text
    for name, answer in pages.items():
        assert answer.status_code == 200
        told = shown(answer.text)
        assert "Why decoder-only?" in told  # of ANSWERS.md
        for asked in drawn(name):
            assert " ".join(key().why(asked.question.id).split())[:40] in told.replace("&gt;", ">")
    assert '<html lang="zh"' in chinese
    assert "参考答案" in chinese


@pytest.mark.parametrize(
    "folder", sorted((ROOT / "labs").glob("[0-9][0-9]_*")), ids=lambda f: f.name
)
def test_what_is_shown_as_right_is_judged_right(folder: Path) -> None:
    lab = load_lab(folder)
    found = read_key(lab)
    if found is None:
        pytest.skip("this lab asks nothing")
    for student in ("s17", "S18", "a/b?c#d"):
        for asked in draw_all(lab.name, read_questions(lab.folder), student):
            text = right_answer(asked, found)
            if asked.question.kind.has_options:
                letters = re.findall(r"^([a-z])\. ", text, re.MULTILINE)
                text = (" > " if asked.question.kind is Kind.ORDER else ", ").join(letters) or text

            assert judge(asked, text, found).standing is Standing.RIGHT, (asked.question.id, text)


def test_before_the_end_there_is_no_such_page_but_for_the_staff(tmp_path: Path) -> None:
    with lesson(tmp_path, more=[REAL]) as class_:  # without a deadline it never ends
        assert class_.browser("s17").get(PAGE).status_code == 404
        assert PAGE not in class_.browser("s17").get("/labs/3").text
        assert class_.browser("prof", Role.INSTRUCTOR).get(PAGE).status_code == 200


def test_one_student_who_still_has_time_keeps_them_from_all(tmp_path: Path) -> None:
    with lesson(tmp_path, **CLOSED) as class_:
        until = NOW + timedelta(days=1)
        word = Grant("s18", REAL.name, GrantKind.EXTENSION, until, True, "prof", "was ill", NOW)
        class_.books.add_grant(word)
        before = class_.browser("s17").get(PAGE).status_code
        class_.clock.go(days=2)

        assert (before, class_.browser("s17").get(PAGE).status_code) == (404, 200)


def test_a_course_may_keep_them(tmp_path: Path) -> None:
    with lesson(tmp_path, **CLOSED, hide_answers=True) as class_:
        assert class_.browser("s17").get(PAGE).status_code == 404


def test_a_lab_without_any_has_no_page(tmp_path: Path) -> None:
    with lesson(tmp_path, deadline=NOW - timedelta(days=9)) as class_:
        assert (
            class_.browser("prof", Role.INSTRUCTOR).get(f"/labs/{LAB}/answers").status_code == 404
        )
