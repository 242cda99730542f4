"""Stubs of earlier publications are no work either, at a collection and at the service."""

from dataclasses import replace
from pathlib import Path

import pytest
from stand_ins.collecting import ADA, DUE, HOUR
from stand_ins.instructors import PERSON, append, commit, make_remote, make_repository, write
from stand_ins.remotes import Remote

from grader.course.commands import earlier
from grader.course.commands.earlier import with_earlier
from grader.course.config import Course
from grader.course.git import git
from grader.course.grading.collecting.collect import Collected, Collection, Outcome, collect_class
from grader.course.grading.collecting.fetch import Bounds
from grader.course.publishing.publish import Order, publish
from grader.errors import UsageError
from grader.labs.documents.untouched import holds_nothing, is_untouched
from grader.labs.lab import Lab, load_lab

STUB, PROMPTS = "labs/90_echo/echo.py", "labs/90_echo/PSEUDOCODE.md"
CHANGED = '\n\nMORE = "given out later"\n'


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return make_repository(tmp_path / "instructors")


@pytest.fixture
def students(tmp_path: Path) -> Path:
    return make_remote(tmp_path / "students.git")


def send(root: Path, students: Path, branch: str = "main") -> None:
    publish(root, Order(("90",), str(students), branch, "T"))


def twice(root: Path, students: Path, branch: str = "main") -> tuple[str, str]:
    """Publish a lab, change stub and prompts, publish again; return both as they were first."""
    first = (root / STUB).read_text(), (root / PROMPTS).read_text()
    send(root, students, branch)
    append(root, STUB, CHANGED)
    write(root, PROMPTS, first[1].replace("\n> ", "\n> Now: "))
    commit(root, "Change the stub")
    send(root, students, branch)
    return first


def knowing(root: Path, students: Path, **more: object) -> Lab:
    lab = load_lab(root / "labs" / "90_echo")
    folder = root.parent
    course = Course(folder, "T", folder / "roster.csv", publish_remote=str(students))
    return with_earlier([lab], replace(course, **more), root)[0]  # type: ignore[arg-type]


def handed(code: str, text: str) -> dict[str, bytes]:
    return {"echo.py": code.encode(), "PSEUDOCODE.md": text.encode()}


def test_the_stub_of_an_earlier_publication_is_untouched(root: Path, students: Path) -> None:
    stub, prompts = twice(root, students)

    lab = knowing(root, students)

    assert not is_untouched(load_lab(lab.folder), stub.encode())
    assert is_untouched(lab, stub.encode())
    assert is_untouched(lab, stub.replace("\n", "\r\n").encode())
    assert holds_nothing(lab, handed(stub, prompts))
    assert not is_untouched(lab, f"{stub}x = 1\n".encode())
    assert not holds_nothing(lab, handed(stub, f"{prompts}\nmultiply\n"))


def test_a_branch_of_its_own_has_its_own_history(root: Path, students: Path) -> None:
    stub, _ = twice(root, students, "lab/90")

    assert is_untouched(knowing(root, students, publish_branch="lab/{NN}"), stub.encode())
    assert not is_untouched(knowing(root, students, publish_branch="other"), stub.encode())


def test_what_was_committed_and_never_published_is_somebodys_work(
    root: Path, students: Path
) -> None:
    send(root, students)
    append(root, STUB, "\n# an idea\n")
    commit(root, "Try something")
    tried = (root / STUB).read_bytes()
    git("revert", "--no-edit", "HEAD", folder=root, env=PERSON)

    assert not is_untouched(knowing(root, students), tried)


def test_so_many_versions_are_read_and_no_more(
    root: Path, students: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stub, _ = twice(root, students)
    monkeypatch.setattr(earlier, "MOST_CHANGES", 1)

    assert not is_untouched(knowing(root, students), stub.encode())


def test_a_branch_that_somebody_changed_tells_nothing(root: Path, students: Path) -> None:
    send(root, students)
    pushed = Remote.__new__(Remote)
    pushed.folder = students
    pushed.commit("main", {STUB: "x = 1\n"}, DUE, onto=pushed.tip("main"))

    with pytest.raises(UsageError, match="was changed after published/main/1"):
        knowing(root, students)


def test_who_hands_it_in_is_missing(
    root: Path, students: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stub, prompts = twice(root, students)
    remote = Remote(tmp_path / "class.git")
    remote.commit("student/ada", {STUB: stub, PROMPTS: prompts}, DUE - HOUR)
    (tmp_path / "course").mkdir()
    monkeypatch.chdir(tmp_path / "course")
    course = Course(
        tmp_path / "course",
        "T",
        tmp_path / "roster.csv",
        remote=str(remote.folder),
        deadlines={90: DUE},
    )
    found: list[Collected] = []

    order = Collection(
        course, knowing(root, students), DUE + HOUR, False, False, Bounds(seconds=20)
    )
    collect_class(order, [ADA], [], 1, found.append)

    [item] = found
    assert item.outcome is Outcome.MISSING
    assert item.remark == "only the untouched stub is there"
