"""``lab questions``: write the page of a lab's questions, as they are drawn for one student.

What was typed into it stays, whatever happens: it is read whole before it is written.
"""

import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from grader.cli.handing.by_git import WHO
from grader.client.logins import current
from grader.client.service import Service
from grader.errors import InferlabError, UsageError
from grader.files import write_file
from grader.labs.documents.regular import MAX_BYTES, read_regular
from grader.labs.lab import ANSWERED, Lab, find_lab, find_root
from grader.labs.published import is_plain
from grader.labs.translations.published import ENGLISH_HANDOUT
from grader.languages.language import Language, say, speak
from grader.questions.definitions import in_chinese, read_questions
from grader.questions.drawn import draw_all, normal_id
from grader.questions.graded import unreadable
from grader.questions.page import Page, read_page, unknown, written
from grader.report.facts.next_step import typed
from grader.text import visible_line


@dataclass(frozen=True, slots=True)
class Wish:
    """A page as asked for; without a ``student`` whoever the page or this clone says."""

    lab: str
    student: str = ""
    lang: Language | None = None


def write_page(wish: Wish) -> int:
    """Write a lab's page, or add to it what is new, and say what is answered."""
    lab = find_lab(wish.lab, find_root())
    if wish.lang is None and (lab.folder / ENGLISH_HANDOUT).is_file():
        speak(Language.CHINESE)  # the course is published in it
    questions = read_questions(lab.folder)
    if not questions:
        raise UsageError(f"lab {lab.number} asks no questions here", "its handout has others")
    file = lab.folder / ANSWERED
    before = _before(file, [item.id for item in questions])
    student = _student(lab, wish.student, before)
    english = draw_all(lab.name, questions, student)
    chinese = draw_all(lab.name, in_chinese(lab.folder, questions), student)
    text = written(lab.number, student, [*zip(english, chinese, strict=True)], before)
    answers = before.answers if before else {}
    if before is None or file.read_bytes() != text.encode():
        write_file(file, text.encode())
    count = sum(1 for answer in answers.values() if answer.strip())
    shown = visible_line(student)
    print(say(f"{typed(file)}: {len(questions)} questions for {shown}, {count} answered"))
    for id, why in unreadable(english, answers).items():
        print(f"  {say(f'{id} cannot be read: {why}')}")
    for id in unknown(before, [item.id for item in questions]) if before else []:
        told = f"{id} is no question of this lab any more; what you typed stays at the end"
        print(f"  {say(told)}")
    return 0


def _before(file: Path, ids: list[str]) -> Page | None:
    content = read_regular(None, str(file), typed(file), MAX_BYTES)
    return None if content is None or not content.strip() else read_page(content, ids)


def _student(lab: Lab, wanted: str, before: Page | None) -> str:
    """Return whose questions these are: of the page, else as asked, kept here, or typed."""
    if before is not None:
        if wanted and normal_id(wanted) != normal_id(before.student):
            told = f"{ANSWERED} was drawn for {visible_line(before.student)}"
            raise UsageError(told, f"move it away first to draw for {visible_line(wanted)}")
        return before.student
    student = wanted.strip() or _git(lab, "config", WHO) or _of_service() or _asked(lab)
    if not is_plain(student) or "`" in student:
        raise UsageError(f"{visible_line(student)!r} is no id of a student", "try again")
    return student


def _of_service() -> str:
    """Return the id by which the service knows who is logged in; "" where nobody is."""
    try:
        login = current()
        if login is None:
            return ""
        with Service(login) as service:
            who = service.whoami()
    except InferlabError:
        return ""
    return str(who.get("name", "")) if who.get("role") == "student" else ""


def _asked(lab: Lab) -> str:
    """Ask for the student's id, and keep it in this clone."""
    if not sys.stdin.isatty():
        hint = f"lab questions {lab.number} --student ID, or git config {WHO} ID"
        raise UsageError("numbers are drawn by your id in the course, which is not known", hint)
    print(say("Numbers are drawn by your id in the course."))
    student = input(say("Your id: ")).strip()
    if is_plain(student):
        _git(lab, "config", WHO, student)
    return student


def _git(lab: Lab, *arguments: str) -> str:
    """Return what git says, stripped; "" where it fails, or is not there."""
    try:
        line = ["git", *arguments]
        done = subprocess.run(line, cwd=lab.root, capture_output=True, text=True, check=False)
    except FileNotFoundError:
        return ""
    return done.stdout.strip() if done.returncode == 0 else ""
