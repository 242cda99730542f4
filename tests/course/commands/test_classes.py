"""``lab collect`` and ``lab grade-all`` as an instructor runs them, killed and interrupted too."""

import csv
import json
import os
import signal
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

pytest.importorskip("sqlalchemy", reason='needs the extra "course"')

from stand_ins.demo_class import DATE, DEMO, HERE, LAB, DemoClass
from stand_ins.isolation import processes_that_see, require_sandbox
from stand_ins.programs import Programs

from grader.course.database.store import Store
from grader.course.git import git

RIGHT = (DEMO / "solutions" / LAB / "echo.py").read_text()
STUB = (DEMO / "labs" / LAB / "echo.py").read_text()
BEGUN = f"{STUB}\n\n# to be done\n"


def hostile(name: str) -> bytes:
    return (HERE / "exploits" / f"{name}.py").read_bytes()


@pytest.fixture
def stages(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A temporary folder of our own, so that whatever is left behind is ours."""
    folder = tmp_path / "stages"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", None)
    monkeypatch.setenv("TMPDIR", str(folder))
    yield folder
    monkeypatch.undo()
    tempfile.tempdir = None


def points(of: DemoClass) -> dict[str, float]:
    with Store.open(of.database) as store:
        attempts = store.attempts(LAB)
    assert [attempt.exit_code for attempt in attempts if attempt.exit_code == 3] == []
    return {attempt.student: attempt.points for attempt in attempts}


def test_one_bad_submission_stops_nobody(tmp_path: Path, programs: Programs) -> None:
    require_sandbox()
    work = {
        "right": RIGHT,
        "begun": BEGUN,
        "bytes": b"\xff\xfe not python",
        "deep": "x = " + "(" * 5000 + ")" * 5000,
        "segfault": hostile("forge/segfault"),
        "exits": hostile("forge/exit_at_import"),
    }
    demo = DemoClass(tmp_path, programs, work)

    assert demo.run("collect", LAB)[0] == 0
    code, out, err = demo.run("grade-all", LAB, "--jobs", "2")

    assert code == 0, err
    assert out.startswith(f"{LAB}, run 1: 6 graded, in ")
    found = points(demo)
    assert found["right"] == 95
    assert {student for student, score in found.items() if score > 50} == {"right"}
    assert set(found) == set(work)
    assert "[6/6] " in err


def test_all_that_a_course_writes_is_its_owners_alone(tmp_path: Path, programs: Programs) -> None:
    require_sandbox()
    demo = DemoClass(tmp_path, programs, {"ada": RIGHT, "bob": BEGUN})
    given = {*demo.folder.rglob("*")}
    place = tmp_path / "out"
    place.mkdir()

    before = os.umask(0o022)
    try:
        assert demo.run("collect", LAB)[0] == 0
        assert demo.run("grade-all", LAB, "--jobs", "2")[0] == 0
        assert demo.run("gradebook", "--html", str(place / "pages"))[0] == 0
        assert demo.run("gradebook", "--csv", "long", "-o", str(place / "marks.csv"))[0] == 0
        assert demo.run("backup", str(place / "course.backup"))[0] == 0
        again = ("--course", "again/course.toml")
        assert demo.run("restore", str(place / "course.backup"), *again)[0] == 0
    finally:
        os.umask(before)

    made = [path for folder in (demo.folder, place) for path in folder.rglob("*")]
    open_to_others = {path for path in made if path.stat().st_mode & 0o077} - given
    assert not open_to_others
    assert {"marks.csv", "index.html", "course.db", "echo.py"} <= {path.name for path in made}


def test_what_is_only_tried_leaves_no_trace(tmp_path: Path, programs: Programs) -> None:
    require_sandbox()
    demo = DemoClass(tmp_path, programs, {"ada": RIGHT, "bob": "def broken(:\n"})
    demo.run("collect", LAB)

    code, out, _ = demo.run("grade-all", LAB, "--dry-run")

    assert code == 0
    assert [line.partition(":")[0] for line in out.splitlines()] == [
        *("would grade ada", "would grade bob"),
        LAB,
    ]
    assert out.endswith("2 would be graded; nothing was recorded\n")
    code, out, _ = demo.run("grade-all", LAB, "--student", "ada", "--unrecorded")
    assert code == 0
    (first, last) = out.splitlines()
    assert first.startswith("ada, ")
    assert "95 of " in first
    assert "pseudocode 0/5" in first
    assert last == f"{LAB}: 1 graded; nothing was recorded, and no mark is another"
    with Store.open(demo.database) as store:
        assert (store.attempts(), store.runs(LAB)) == ([], [])


def test_what_failed_a_test_is_regraded_on_trial_alone(tmp_path: Path, programs: Programs) -> None:
    require_sandbox()
    wrong = (DEMO / "solutions" / LAB / "wrong" / "no_check.py").read_text()
    demo = DemoClass(tmp_path, programs, {"ada": RIGHT, "bob": RIGHT + wrong})
    demo.run("collect", LAB)
    demo.run("grade-all", LAB)
    with Store.open(demo.database) as store:
        # Both have left the prompts alone.
        (failing, *_) = set(failed_tests(store, "bob")) - set(failed_tests(store, "ada"))
    trial = ("--on-trial", "mended", "--author", "A. Teacher")

    code, out, err = demo.run("grade-all", LAB, "--failed", failing.partition("[")[0], *trial)

    assert code == 0, err
    assert f"{LAB}, run 2: 1 graded" in out
    assert "lab gradebook --trial 2 shows" in out
    before = points(demo)
    code, out, _ = demo.run("gradebook", "--trial", "2")
    assert code == 0
    assert out.splitlines() == [
        "run 2 of 1 students, on trial for mended:",
        "by run 2 no mark changes; nothing was recorded",
    ]
    code, _, err = demo.run("grade-all", LAB, *trial)
    assert (code, err.splitlines()[-2]) == (
        2,
        f"error: run 2 of {LAB} is on trial and not decided yet",
    )
    said = ("--author", "A. Teacher", "--reason", "as before")
    assert demo.run("gradebook", "publish", "2", *said)[0] == 0
    assert points(demo) == before
    code, _, err = demo.run("gradebook", "discard", "2", *said)
    assert (code, err.splitlines()[0]) == (
        2,
        "error: run 2 cannot be discarded: it was published already",
    )
    code, _, err = demo.run("grade-all", LAB, "--failed", "test_of_nobody")
    assert (code, err.splitlines()[0]) == (
        2,
        f"error: no grading of {LAB} has a test 'test_of_nobody'",
    )
    code, out, _ = demo.run("grade-all", LAB, "--outdated")
    assert (code, out) == (0, f"{LAB}: there is no such work, so nothing was graded\n")


def failed_tests(store: Store, student: str) -> list[str]:
    (attempt,) = store.attempts(LAB, student)
    tests: list[dict[str, str]] = attempt.report["tests"]  # type: ignore[assignment]
    return [test["id"] for test in tests if test["verdict"] == "failed"]


def test_missing_ones_are_told_and_the_others_graded(tmp_path: Path, programs: Programs) -> None:
    require_sandbox()
    demo = DemoClass(tmp_path, programs, {"ada": RIGHT})
    with open(demo.folder / "roster.csv", "a") as roster:
        roster.write("bob,Bob\n")

    code, out, err = demo.run("collect", LAB)
    assert code == 1
    assert out.splitlines() == [
        "missing bob (Bob): there is no branch student/bob",
        f"{LAB}: 1 frozen, 1 nothing to collect",
    ]
    assert err.count("/2] ") == 2

    code, out, _ = demo.run("grade-all", LAB)
    assert code == 0
    assert out.splitlines()[0] == "nothing to grade bob: there is no branch student/bob"
    assert points(demo) == {"ada": 95}


def test_a_team_hands_in_once_and_each_of_it_has_the_mark(
    tmp_path: Path, programs: Programs
) -> None:
    require_sandbox()
    teams = f'[teams]\n{LAB[:2]} = [["ada", "bob", "cyd"]]\n'
    demo = DemoClass(tmp_path, programs, {"ada": STUB, "bob": RIGHT, "dan": STUB}, teams)
    with open(demo.folder / "roster.csv", "a") as roster:
        roster.write("cyd,Cyd\n")

    collected = demo.run("collect", LAB)
    again = demo.run("collect", LAB)
    graded = demo.run("grade-all", LAB)
    long = demo.run("gradebook", "--csv", "long")

    told = ["team ada (Name of ada): by bob", "team cyd (Cyd): by bob"]
    assert collected[1].splitlines() == [
        told[0],
        "missing dan (Name of dan): only the untouched stub is there",
        told[1],
        f"{LAB}: 1 frozen, 1 nothing to collect, 2 by their teams",
    ]
    assert again[1].splitlines()[2:] == [
        told[1],
        f"{LAB}: 1 kept as frozen earlier, 1 nothing to collect, 2 by their teams",
    ]
    assert [line.partition(":")[0] for line in graded[1].splitlines()] == [
        *("nothing to grade dan", f"{LAB}, run 1")
    ]
    with Store.open(demo.database) as store:
        assert [remark.student for remark in store.remarks()] == ["dan"]
    marks = {row["student"]: row for row in csv.DictReader(long[1].splitlines())}
    assert [marks[each]["points"] for each in ("ada", "bob", "cyd", "dan")] == [
        "95",
        "95",
        "95",
        "",
    ]
    assert "handed in by bob, for their team" in marks["cyd"]["why"]
    assert "for their team" not in marks["bob"]["why"]


def test_what_is_only_tried_of_a_collection_leaves_no_trace(
    tmp_path: Path, programs: Programs
) -> None:
    demo = DemoClass(tmp_path, programs, {"ada": RIGHT, "bob": STUB})

    code, out, _ = demo.run("collect", LAB, "--dry-run")

    assert code == 1
    assert out.splitlines() == [
        "missing bob (Name of bob): only the untouched stub is there",
        f"{LAB}: 1 frozen, 1 nothing to collect; nothing was recorded",
    ]
    assert not (demo.folder / "collected").exists()
    with Store.open(demo.database) as store:
        assert (store.students(), store.frozen(LAB), store.remarks()) == ([], [], [])


def test_what_is_to_be_looked_at_is_kept_until_a_collection_says_otherwise(
    tmp_path: Path, programs: Programs
) -> None:
    demo = DemoClass(tmp_path, programs, {"ada7": STUB, "bob": RIGHT})
    demo.remote.commit("student/Ada007", {f"{LAB}/echo.py": RIGHT}, DATE)
    only, like = "only the untouched stub is there", "branch student/Ada007 looks like ada7's"

    first = demo.run("collect", LAB)
    again = demo.run("collect", LAB)
    shown = demo.run("gradebook", "--student", "ada7")
    demo.remote.commit("student/ada7", {f"{LAB}/echo.py": RIGHT}, DATE)
    git("update-ref", "-d", "refs/heads/student/Ada007", folder=demo.remote.folder)
    last = demo.run("collect", LAB)

    told = f"missing ada7 (Name of ada7): {only}; {like}"
    assert first[:2] == (1, f"{told}\n{LAB}: 1 frozen, 1 nothing to collect\n")
    assert again[1].splitlines()[0] == told
    assert f"nothing was graded: {only}\n    look at: {like}\n" in shown[1]
    assert last[1] == f"{LAB}: 1 frozen, 1 kept as frozen earlier\n"
    with Store.open(demo.database) as store:
        assert store.remarks() == []
        assert [item.problem for item in store.frozen(LAB)] == ["", ""]


def test_a_remark_on_frozen_work_stays_while_nobody_asks_again(
    tmp_path: Path, programs: Programs
) -> None:
    demo = DemoClass(tmp_path, programs, {"ada": RIGHT})
    demo.remote.commit("ada-fixes", {f"{LAB}/echo.py": STUB + "x = 1\n"}, DATE.replace(hour=13))
    told = "newer work on echo.py lies on ada-fixes"

    assert f"look at ada (Name of ada): {told}\n" in demo.run("collect", LAB)[1]
    assert "look at" not in demo.run("collect", LAB)[1]
    assert f"look at: {told}\n" in demo.run("gradebook", "--student", "ada")[1]
    git("update-ref", "-d", "refs/heads/ada-fixes", folder=demo.remote.folder)
    assert "look at" not in demo.run("collect", LAB, "--refresh")[1]
    assert "look at" not in demo.run("gradebook", "--student", "ada")[1]


def test_branches_that_are_nobodys_are_listed_up_to_a_number(
    tmp_path: Path, programs: Programs
) -> None:
    demo = DemoClass(tmp_path, programs, {"ada": RIGHT})
    commit = demo.remote.tip("student/ada")
    names = ["student/a\u202egnp.exe", "student/ADA", *(f"student/x{n:02}" for n in range(22))]
    lines = "".join(f"update refs/heads/{name} {commit}\n" for name in names)
    git("update-ref", "--stdin", folder=demo.remote.folder, stdin=lines.encode())

    code, out, _ = demo.run("collect", LAB)

    assert code == 0
    said = out.splitlines()
    assert said[0] == "look at ada (Name of ada): branch student/ADA looks like ada's"
    assert said[1] == "nobody's student/a\\u202egnp.exe: its id is not on the roster"
    assert said[20] == "nobody's student/x18: its id is not on the roster"
    assert said[21:] == ["nobody's: 3 more branches of the remote", f"{LAB}: 1 frozen"]


def test_roster_that_is_wrong_collects_nothing_and_tells_each_row(
    tmp_path: Path, programs: Programs
) -> None:
    demo = DemoClass(tmp_path, programs, {"ada": RIGHT})
    (demo.folder / "roster.csv").write_text("id,name\nada,Ada\nada,Eve\n../x,Bob\n")

    code, out, err = demo.run("collect", LAB)

    assert (code, out) == (2, "")
    assert err.splitlines()[0] == "error: roster.csv, row 3: the id 'ada' is that of row 2"
    assert err.splitlines()[1].startswith("error: roster.csv, row 4: the id '../x' cannot name")
    assert err.splitlines()[2:] == [
        "error: 2 rows of roster.csv cannot be used",
        "hint: nothing was collected: correct them and run this again",
    ]


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("collect", LAB, "--late"), "error: the course has no late days"),
        (("collect", "55"), "error: there is no lab '55'"),
        (("collect", LAB, "--course", "none.toml"), "error: there is no none.toml"),
        (("collect", LAB, "--from", "none.csv"), "error: the roster none.csv cannot be read"),
        (("grade-all", LAB), f"error: nothing of {LAB} was collected"),
        (("grade-all", LAB, "--device", "tpu"), "error: there is no device 'tpu'"),
    ],
)
def test_wrong_order_is_one_line(
    tmp_path: Path, programs: Programs, arguments: tuple[str, ...], told: str
) -> None:
    code, out, err = DemoClass(tmp_path, programs, {"ada": RIGHT}).run(*arguments)

    assert (code, out) == (2, "")
    assert err.startswith(told)
    assert len(err.splitlines()) <= 2


def test_kill_at_any_moment_is_made_good_by_resume(
    tmp_path: Path, programs: Programs, stages: Path
) -> None:
    require_sandbox()
    work = {f"s{i}": RIGHT if i % 2 else BEGUN for i in range(6)}
    demo = DemoClass(tmp_path, programs, work)
    assert demo.run("collect", LAB)[0] == 0

    for lines in (2, 1):
        with demo.start("grade-all", LAB, "--jobs", "2", "--resume") as process:
            assert process.stderr is not None
            for _ in range(lines):
                assert "/" in process.stderr.readline()
            process.kill()
    assert gone(stages)
    with Store.open(demo.database) as store:
        before = {attempt.student: attempt.graded for attempt in store.attempts(LAB)}
    assert 3 <= len(before) < 6
    code, out, err = demo.run("grade-all", LAB, "--jobs", "2", "--resume")

    assert code == 0, err
    assert f"{6 - len(before)} graded, {len(before)} were before" in out
    with Store.open(demo.database) as store:
        attempts, runs = store.attempts(LAB), store.runs(LAB)
    assert Counter(attempt.student for attempt in attempts) == Counter(list(work))
    assert [run.id for run in runs] == ["1"]
    assert {a.student: a.graded for a in attempts if a.student in before} == before
    assert {a.student: a.points for a in attempts} == {
        student: 95 if code == RIGHT else 0 for student, code in work.items()
    }


def gone(stages: Path) -> bool:
    """Wait until nothing of a killed command is left that could still grade."""
    deadline = time.monotonic() + 15
    while (left := processes_that_see(stages)) and time.monotonic() < deadline:
        time.sleep(0.1)
    return not left


def test_interrupt_says_what_is_kept(tmp_path: Path, programs: Programs, stages: Path) -> None:
    require_sandbox()
    demo = DemoClass(tmp_path, programs, {"ada": RIGHT, "bob": RIGHT, "cat": RIGHT})
    assert demo.run("collect", LAB)[0] == 0

    with demo.start("grade-all", LAB, "--jobs", "1") as process:
        assert process.stderr is not None
        assert process.stderr.readline().startswith("[1/3]")
        os.kill(process.pid, signal.SIGINT)
        rest = process.stderr.read()

    assert process.returncode == 130
    assert "interrupted: 1 are graded and kept; --resume goes on with the others" in rest
    assert gone(stages)


def test_deadline_decides_and_a_note_says_by_what(tmp_path: Path, programs: Programs) -> None:
    due = DATE.replace(hour=13)
    more = f"[deadlines]\n90 = {due:%Y-%m-%dT%H:%M:%SZ}\n"
    demo = DemoClass(tmp_path, programs, {"ada": RIGHT}, more)
    branch = "student/ada"
    late = {f"{LAB}/echo.py": STUB}
    demo.remote.commit(branch, late, DATE.replace(hour=14), onto=f"refs/heads/{branch}^0")

    code, _, err = demo.run("collect", LAB)

    assert code == 0
    assert "note: frozen after the deadline by the dates in the commits" in err
    with Store.open(demo.database) as store:
        (frozen,) = store.frozen(LAB)
    assert (demo.folder / frozen.path / "echo.py").read_text() == RIGHT


def test_who_leaves_the_roster_and_an_extension_of_nobody_are_told(
    tmp_path: Path, programs: Programs
) -> None:
    day = f"{DATE:%Y-%m-%dT%H:%M:%SZ}"
    more = f"[deadlines]\n90 = {day}\n[extensions.Ada]\n90 = {day}\n"
    demo = DemoClass(tmp_path, programs, {"ada": RIGHT, "bob": RIGHT}, more)

    assert (
        "note: [extensions] of lab 90 name who is not on the roster: Ada\n"
        in demo.run("collect", LAB)[2]
    )
    (demo.folder / "one.csv").write_text("id,name\nada,Ada\n")
    _, _, err = demo.run("collect", LAB, "--from", "one.csv")

    told = "no longer on the roster, so in no grading or mark list from now on"
    assert f"note: {told}: bob\n" in err


def test_lab_without_a_deadline_is_told_to_be_frozen(tmp_path: Path, programs: Programs) -> None:
    _, out, err = DemoClass(tmp_path, programs, {"ada": RIGHT}).run("collect", LAB)

    assert out == f"{LAB}: 1 frozen\n"
    assert "note: the lab has no deadline in course.toml, so this is frozen as it is now" in err


def test_course_that_was_moved_is_graded_from_where_it_is(
    tmp_path: Path, programs: Programs
) -> None:
    require_sandbox()
    demo = DemoClass(tmp_path, programs, {"ada": RIGHT})
    assert demo.run("collect", LAB)[0] == 0

    demo.folder = demo.folder.rename(tmp_path / "moved")

    assert demo.run("grade-all", LAB)[0] == 0
    assert points(demo) == {"ada": 95}


def test_provenance_is_in_the_report(tmp_path: Path, programs: Programs) -> None:
    require_sandbox()
    demo = DemoClass(tmp_path, programs, {"ada": RIGHT})
    demo.run("collect", LAB)

    assert demo.run("grade-all", LAB, "--seed", "9")[0] == 0

    with Store.open(demo.database) as store:
        ((attempt,), (frozen,)) = store.attempts(LAB), store.frozen(LAB)
    found = json.loads(json.dumps(dict(attempt.report)))["provenance"]
    assert found["commit"] == frozen.commit
    assert (found["seed"], found["sandbox"], found["device"]) == (9, "bwrap", "cpu")
    assert found["engine"] == "local"
    assert {"lab_version", "host", "torch", "inferlab", "submission_sha256"} <= found.keys()
