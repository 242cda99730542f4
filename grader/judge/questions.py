"""Answers to a lab's questions in a grading: how many there are, and for points, which are right.

Nothing of them is run, so they need no worker.
"""

from dataclasses import replace

from grader.judge.listener import Listener
from grader.judge.setup.request import Request
from grader.labs.documents.submission import Submission
from grader.labs.lab import Lab
from grader.questions.graded import TASK, answers_of, expected, not_graded, task
from grader.questions.key import read_key


def scored_lab(request: Request) -> Lab:
    """Return the lab as it is scored: where the course asks for it, with a task of the answers."""
    lab = request.lab
    if not (lab.asks and request.questions):
        return lab
    return replace(lab, tasks=(*lab.tasks, task(request.questions)))


def judge_questions(request: Request, submission: Submission, hear: Listener) -> None:
    """Read the answers that were handed in; judge them where they count and are all graded."""
    lab = request.lab
    if not lab.asks or (request.tasks and TASK not in request.tasks):
        return
    key = read_key(lab) if request.questions and request.suite == "all" else None
    found = answers_of(lab, submission.answers, key, request.students)
    hear.progress.extras["questions"] = found.extras()
    if not request.questions:
        return
    hear.progress.expected += expected(lab)
    for result in found.tests() if key is not None else not_graded(lab):
        hear.result(result)
