"""Grading a class: nothing is lost, nothing is graded twice, nobody stops the others."""

import dataclasses
import json
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

pytest.importorskip("sqlalchemy", reason='needs the extra "course"')

from stand_ins.class_of import BROKEN, LAB, OK, SayingEngine, class_of, course_in, freeze

from grader.course.database.records import Attempt, Frozen, Student
from grader.course.database.spool import DiskFull, read_attempt
from grader.course.database.store import Store
from grader.course.grading.batch import Batch, Waiting, only_one, plan, run_batch, spool_of
from grader.course.grading.engines import Engine
from grader.course.grading.jobs import Job, lab_version
from grader.errors import CannotGrade, StoreError, UsageError
from grader.labs.results import Verdict

HERE = Path(__file__).parents[2]


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with Store.open(f"sqlite:///{tmp_path}/course.db", wait=0.2) as opened:
        yield opened


def run(batch: Batch, store: Store, engine: Engine) -> list[tuple[Attempt, str]]:
    """Grade what is left as the command does; return what it tells of each."""
    spool = spool_of(batch.course, store)
    spool.open()
    told: list[tuple[Attempt, str]] = []
    try:
        spool.take_in()
        run_batch(batch, plan(batch, store), engine, spool, lambda *attempt: told.append(attempt))
    finally:
        spool.close()
    return told


def graded(store: Store) -> list[tuple[str, str, str, int]]:
    return [(a.run, a.student, a.commit, a.exit_code) for a in store.attempts(LAB.name)]


# -- a run -------------------------------------------------------------------------------------


def test_each_attempt_says_how_it_was_graded(store: Store, tmp_path: Path) -> None:
    run(class_of(store, tmp_path, ["ada"]), store, SayingEngine())

    (attempt,) = store.attempts(LAB.name)
    provenance = attempt.report["provenance"]
    assert (attempt.points, attempt.possible, attempt.exit_code) == (100.0, 100.0, 0)
    assert attempt.submitted is not None
    assert attempt.submitted.year == 2026
    assert isinstance(provenance, dict)
    assert provenance["commit"] == attempt.commit == "ada1"
    assert provenance["lab_version"] == lab_version(LAB)
    assert (provenance["engine"], provenance["seed"]) == ("local", 7)
    assert provenance["host"]


def test_nobody_more_is_graded_at_a_time_than_the_engine_has_places(
    store: Store, tmp_path: Path
) -> None:
    engine = SayingEngine(places=3)  # it asserts so

    run(class_of(store, tmp_path, [f"s{i}" for i in range(8)]), store, engine)

    assert len(engine.seen) == 8


def test_without_resume_everybody_is_graded_anew(store: Store, tmp_path: Path) -> None:
    batch = class_of(store, tmp_path, ["ada", "bob"])
    for _ in range(2):
        run(batch, store, SayingEngine())

    assert [row[:2] for row in graded(store)] == [
        *(("1", "ada"), ("1", "bob")),
        *(("2", "ada"), ("2", "bob")),
    ]


def test_only_those_named_are_graded(store: Store, tmp_path: Path) -> None:
    batch = dataclasses.replace(class_of(store, tmp_path, ["ada", "bob"]), students=("bob",))

    run(batch, store, SayingEngine())

    assert [row[1] for row in graded(store)] == ["bob"]
    with pytest.raises(UsageError, match="no student 'eve' is on the roster"):
        plan(dataclasses.replace(batch, students=("eve",)), store)


def test_nothing_collected_is_a_usage_error(store: Store, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="nothing of 90_echo was collected"):
        plan(Batch(course_in(tmp_path), LAB), store)


def test_those_without_work_are_listed_with_the_reason(store: Store, tmp_path: Path) -> None:
    batch = class_of(store, tmp_path, ["ada", "bob", "cat"])
    names = [*"abcd"]
    store.put_students([Student(name, name, "", name) for name in names])
    freeze(store, tmp_path, "a", "a1")
    freeze(store, tmp_path, "c", "c1")
    (tmp_path / "collected" / "c" / "c1" / "echo.py").unlink()
    none = Frozen("b", LAB.name, "", None, store.frozen(LAB.name)[0].collected, "", "no branch b")
    store.add_frozen(none)

    found = plan(batch, store)

    assert [job.student for job in found.jobs] == ["a"]
    assert list(found.absent) == ["b", "c", "d"]
    assert found.absent["b"] == "no branch b"
    assert found.absent["c"].endswith("is gone: lab collect --refresh")
    assert found.absent["d"] == "was not collected yet"


def test_each_state_that_was_collected_is_an_attempt(store: Store, tmp_path: Path) -> None:
    batch = class_of(store, tmp_path, ["ada"])
    freeze(store, tmp_path, "ada", "late", "x = 2\n")
    store.add_frozen(store.collections(LAB.name)[-1])  # collected once more

    run(batch, store, SayingEngine())

    assert [row[1:3] for row in graded(store)] == [("ada", "ada1"), ("ada", "late")]
    assert not plan(dataclasses.replace(batch, resume=True), store).jobs


def test_a_run_goes_on_for_those_it_was_started_for(store: Store, tmp_path: Path) -> None:
    whole = class_of(store, tmp_path, ["ada", "bob", "cyd"])
    few = dataclasses.replace(whole, students=("bob", "ada"))
    run(whole, store, SayingEngine())
    run(few, store, SayingEngine())
    freeze(store, tmp_path, "cyd", "new")
    freeze(store, tmp_path, "ada", "new")

    run(dataclasses.replace(few, students=("ada", "bob"), resume=True), store, SayingEngine())
    run(dataclasses.replace(whole, resume=True), store, SayingEngine())

    rows = [row[:3] for row in graded(store)]
    assert rows[3:] == [
        *(("2", "ada", "ada1"), ("2", "bob", "bob1"), ("2", "ada", "new")),
        *(("1", "ada", "new"), ("1", "cyd", "new")),
    ]
    with pytest.raises(UsageError, match=r"run 2 was started with --student ada --student bob"):
        plan(dataclasses.replace(whole, students=("cyd",), resume=True), store)


# -- failures that are ours ----------------------------------------------------------------------


def test_failure_of_ours_is_repeated_after_the_others(store: Store, tmp_path: Path) -> None:
    def say(job: Job, count: int) -> Verdict | str:
        return "the sandbox broke" if job.student == "ada" and count < 3 else OK

    engine = SayingEngine(say, places=1)
    run(class_of(store, tmp_path, ["ada", "bob"]), store, engine)

    assert engine.seen == ["ada", "bob", "ada", "ada"]
    assert [row[1:] for row in graded(store)] == [("bob", "bob1", 0), ("ada", "ada1", 0)]


def test_what_is_repeated_has_the_machine_alone(store: Store, tmp_path: Path) -> None:
    def say(job: Job, count: int) -> Verdict | str:
        return OK if count > 1 or job.student == "bob" else "the machine was too busy"

    engine = SayingEngine(say, places=3)
    run(class_of(store, tmp_path, ["ada", "bob", "cat"]), store, engine)

    first, again = engine.beside[:3], engine.beside[3:]
    assert first == [("ada", 0), ("bob", 1), ("cat", 2)]
    assert sorted(again) == [("ada", 0), ("cat", 0)]


def test_failure_that_lasts_is_recorded_without_points(store: Store, tmp_path: Path) -> None:
    batch = dataclasses.replace(class_of(store, tmp_path, ["ada", "bob"]), retries=1)

    def say(job: Job, count: int) -> Verdict | str:
        if job.student == "ada":
            return "the sandbox broke"
        return BROKEN

    engine = SayingEngine(say)
    told = run(batch, store, engine)

    assert sorted(engine.seen) == ["ada", "ada", "bob", "bob"]
    assert [(row.student, why) for row, why in told] == [
        ("ada", "the sandbox broke"),
        ("bob", "test_a: no"),
    ]
    ada = store.attempts(LAB.name, student="ada")[0]
    assert (ada.points, ada.possible, ada.exit_code) == (0, 0, 3)
    assert ada.report["provenance"]["failure"] == "the sandbox broke"  # type: ignore[index]


def test_machine_that_fails_everybody_stops_the_run(store: Store, tmp_path: Path) -> None:
    batch = class_of(store, tmp_path, [f"s{i:02}" for i in range(40)])
    engine = SayingEngine(lambda job, count: OK if job.student < "s05" else "no memory")

    told = r"12 gradings in a row failed by our fault, the last one: no memory"
    with pytest.raises(CannotGrade, match=told):
        run(batch, store, engine)

    assert [row[1] for row in graded(store)] == [f"s{i:02}" for i in range(5)]
    assert len(engine.seen) < 20


def test_wrong_answer_is_not_repeated(store: Store, tmp_path: Path) -> None:
    engine = SayingEngine(lambda job, count: Verdict.CRASHED)

    run(class_of(store, tmp_path, ["ada"]), store, engine)

    assert engine.seen == ["ada"]


# -- resuming ------------------------------------------------------------------------------------


class Killed(BaseException):
    pass


def test_resuming_grades_the_rest_under_the_same_run(store: Store, tmp_path: Path) -> None:
    def die(job: Job, count: int) -> Verdict | str:
        if job.student == "cat":
            raise Killed
        return OK

    batch = class_of(store, tmp_path, ["ada", "bob", "cat", "dan"])
    with pytest.raises(Killed):
        run(batch, store, SayingEngine(die, places=1))
    assert [row[1] for row in graded(store)] == ["ada", "bob"]

    engine = SayingEngine()
    run(dataclasses.replace(batch, resume=True), store, engine)

    assert engine.seen == ["cat", "dan"]
    assert [row[:2] for row in graded(store)] == [
        ("1", name) for name in ("ada", "bob", "cat", "dan")
    ]


def test_resuming_repeats_what_failed_by_our_fault(store: Store, tmp_path: Path) -> None:
    batch = dataclasses.replace(class_of(store, tmp_path, ["ada", "bob"]), retries=0)
    run(batch, store, SayingEngine(lambda job, count: "no" if job.student == "ada" else OK))

    engine = SayingEngine()
    run(dataclasses.replace(batch, resume=True), store, engine)

    assert engine.seen == ["ada"]
    assert graded(store)[-1] == ("1", "ada", "ada1", 0)


def test_resuming_grades_a_commit_that_was_collected_since(store: Store, tmp_path: Path) -> None:
    batch = class_of(store, tmp_path, ["ada", "bob"])
    run(batch, store, SayingEngine())
    freeze(store, tmp_path, "bob", "bob2")

    engine = SayingEngine()
    run(dataclasses.replace(batch, resume=True), store, engine)

    assert engine.seen == ["bob"]
    assert graded(store)[-1] == ("1", "bob", "bob2", 0)


def test_resuming_after_the_lab_was_changed_says_how_many_were_before(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    batch = class_of(store, tmp_path, ["ada", "bob"])
    run(batch, store, SayingEngine())
    resumed = dataclasses.replace(batch, resume=True)

    assert plan(resumed, store).outdated == 0
    monkeypatch.setattr("grader.course.grading.batch.lab_version", lambda lab: "another")
    assert plan(resumed, store).outdated == 2


def test_resuming_what_is_complete_grades_nobody(store: Store, tmp_path: Path) -> None:
    batch = dataclasses.replace(class_of(store, tmp_path, ["ada"]), resume=True)
    run(batch, store, SayingEngine())  # nothing to resume: a first run

    engine = SayingEngine()
    run(batch, store, engine)

    assert engine.seen == []
    assert len(store.runs(LAB.name)) == 1


def test_one_lab_is_graded_by_one_process_at_a_time(tmp_path: Path) -> None:
    course = course_in(tmp_path)
    with only_one(course, LAB):
        with pytest.raises(UsageError, match="90_echo of this course is being graded already"):
            with only_one(course, LAB):
                pass
        with only_one(course, dataclasses.replace(LAB, name="91_other")):
            pass
        with only_one(course, LAB, "collected"):
            pass
    with only_one(course, LAB):
        pass


# -- a database or a disk that takes nothing -------------------------------------------------------


def test_locked_database_loses_nothing(store: Store, tmp_path: Path) -> None:
    batch = class_of(store, tmp_path, ["ada", "bob"])
    spool = spool_of(batch.course, store)
    spool.open()
    todo = plan(batch, store)
    other = sqlite3.connect(tmp_path / "course.db")
    other.execute("BEGIN IMMEDIATE")

    with pytest.raises(Waiting, match=r"course.db is locked .*; 2 results wait in ") as error:
        run_batch(batch, todo, SayingEngine(), spool, lambda *told: None)

    assert "the next run takes them in" in error.value.hint
    assert graded(store) == []
    spool.close()
    other.close()
    engine = SayingEngine()
    run(dataclasses.replace(batch, resume=True), store, engine)
    assert engine.seen == []
    assert [row[1] for row in graded(store)] == ["ada", "bob"]
    assert spool.waiting() == []


def test_result_comes_back_from_its_file_as_it_was(store: Store, tmp_path: Path) -> None:
    batch = class_of(store, tmp_path, ["ada"])
    told = run(batch, store, SayingEngine())
    spool = spool_of(batch.course, store)

    file = spool._write(told[0][0])

    assert read_attempt(file) == told[0][0]


def test_result_that_was_taken_in_twice_is_there_once(store: Store, tmp_path: Path) -> None:
    """As after a kill between the database's row and the removal of the file."""
    batch = class_of(store, tmp_path, ["ada"])
    ((attempt, _),) = run(batch, store, SayingEngine())
    spool = spool_of(batch.course, store)
    spool._write(attempt)

    assert spool.take_in() == 1

    assert len(graded(store)) == 1
    assert spool.waiting() == []


def test_damaged_result_is_one_line_that_names_its_file(store: Store, tmp_path: Path) -> None:
    spool = spool_of(course_in(tmp_path), store)
    spool.folder.mkdir(parents=True)
    for text in ("{", json.dumps({"student": "ada"}), "[" * 200_000):
        (spool.folder / "x.json").write_text(text)
        with pytest.raises(StoreError, match=r"the result .*x.json cannot be read"):
            spool.take_in()


FULL = """
import dataclasses, pathlib, sys
sys.path[:0] = {path!r}
from stand_ins.class_of import SayingEngine, class_of
from grader.course.grading.batch import plan, run_batch, spool_of
from grader.course.database.store import Store
from grader.errors import InferlabError
folder = pathlib.Path({folder!r})
def fill(job, count):
    if job.student == "bob":
        with open(folder / "ballast", "wb", buffering=0) as file:
            try:
                while True:
                    file.write(b"x" * 4096)
            except OSError:
                pass
    return SayingEngine()._say(job, count)
with Store.open(f"sqlite:///{{folder}}/course.db") as store:
    batch = class_of(store, folder, ["ada", "bob", "cat"])
    spool = spool_of(batch.course, store)
    spool.open()
    heard = []
    try:
        hear = lambda attempt, _: heard.append(attempt.student)
        run_batch(batch, plan(batch, store), SayingEngine(fill, 1), spool, hear)
    except InferlabError as error:
        print(type(error).__name__, error.message)
    print(len(spool.waiting()), "wait", heard)
    (folder / "ballast").unlink()
    spool.open()
    spool.take_in()
    engine = SayingEngine(places=1)
    batch = dataclasses.replace(batch, resume=True)
    run_batch(batch, plan(batch, store), engine, spool, lambda *a: None)
    print(engine.seen, [a.student for a in store.attempts()])
"""


def test_full_disk_stops_the_run_and_loses_nothing(tmp_path: Path) -> None:
    folder = tmp_path / "small"
    folder.mkdir()
    mount = f"mount -t tmpfs -o size=24m tmpfs {folder} && exec "
    inside = ["unshare", "--user", "--map-root-user", "--mount", "sh", "-c"]
    if subprocess.run([*inside, f"{mount} true"], capture_output=True, check=False).returncode:
        pytest.skip("no small file system can be mounted here")
    path = [str(HERE), *filter(None, sys.path)]
    program = tmp_path / "program.py"
    program.write_text(FULL.format(path=path, folder=str(folder)))

    line = [*inside, f"{mount} {sys.executable} {program}"]
    done = subprocess.run(line, capture_output=True, text=True, check=False)

    assert done.stdout.splitlines() == [
        f"DiskFull the disk of {folder}/.inferlab/spool is full; every result so far is kept",
        "1 wait ['ada', 'bob']",
        "['cat'] ['ada', 'bob', 'cat']",
    ], done.stderr


def test_result_that_only_the_database_can_take_is_in_it(store: Store, tmp_path: Path) -> None:
    batch = class_of(store, tmp_path, ["ada"])
    ((attempt, _),) = run(batch, store, SayingEngine())
    spool = spool_of(course_in(tmp_path / "nowhere"), store)

    with pytest.raises(DiskFull, match=r"results cannot be kept in .*spool: No such file"):
        spool.keep(dataclasses.replace(attempt, commit="ada2"))
    assert [row[2] for row in graded(store)] == ["ada1", "ada2"]

    other = sqlite3.connect(tmp_path / "course.db")
    other.execute("BEGIN IMMEDIATE")
    with pytest.raises(DiskFull, match=r"that of ada is lost \(.*course.db is locked"):
        spool.keep(dataclasses.replace(attempt, commit="ada3"))
    other.close()


def test_folder_that_cannot_be_written_to_stops_before_anything_is_graded(
    store: Store, tmp_path: Path
) -> None:
    (tmp_path / ".inferlab").write_text("a file")

    with pytest.raises(DiskFull, match=r"results cannot be kept in .*spool: Not a directory"):
        spool_of(course_in(tmp_path), store).open()
    assert issubclass(DiskFull, CannotGrade)
    with pytest.raises(CannotGrade, match=r"nothing can be written to .*\.inferlab: File exists"):
        with only_one(course_in(tmp_path), LAB):
            pass
