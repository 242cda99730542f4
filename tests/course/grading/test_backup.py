"""A course goes into one file and comes back whole, or not at all."""

import os
import tarfile
from pathlib import Path

import pytest

pytest.importorskip("sqlalchemy", reason='needs the extra "course"')

from stand_ins.class_of import LAB, SayingEngine, class_of
from stand_ins.classroom import override

from grader.course.config import Course, load_course
from grader.course.database import connection
from grader.course.database.records import Override, Remark
from grader.course.database.store import Store
from grader.course.grading.backups.backup import back_up
from grader.course.grading.backups.restore import restore
from grader.course.grading.batch import Batch, plan, run_batch, spool_of
from grader.errors import InferlabError, UsageError

TOML = 'title = "Demo"\n[deadlines]\n90 = 2026-10-01T12:00:00Z\n'


@pytest.fixture
def course(tmp_path: Path) -> Course:
    """Three students, of whom two were graded; one result waits in the spool."""
    folder = tmp_path / "course"
    folder.mkdir()
    (folder / "course.toml").write_text(TOML)
    (folder / "roster.csv").write_text("id,name\nada,Ada\n")
    found = load_course(folder / "course.toml")
    with opened(found) as store:
        batch = class_of(store, folder, ["ada", "bob", "cyd"])
        grade(batch, store)
        word = override("ada", 55.0)
        store.add_override(Override("ada", LAB.name, 55.0, word.author, word.reason, word.made))
        told = Remark("ada", LAB.name, "the branch was rewritten", word.made)
        store.add_frozen(remark=told)
        spool = found.folder / ".inferlab" / "spool"
        (spool / "waits.json").write_text('{"student": "cyd"}')
    return found


def opened(course: Course) -> Store:
    return Store.open(course.database, course.folder)


def grade(batch: Batch, store: Store) -> None:
    spool = spool_of(batch.course, store)
    spool.open()
    try:
        run_batch(batch, plan(batch, store), SayingEngine(), spool, lambda *_: None)
    finally:
        spool.close()


def everything(course: Course) -> list[object]:
    with opened(course) as store:
        attempts = [
            (
                *(getattr(a, name) for name in a.__dataclass_fields__ if name != "report"),
                {**a.report},
            )
            for a in store.attempts()
        ]
        rows = [store.students(), store.runs(), store.overrides(), store.frozen(LAB.name)]
        return [*rows, store.collections(LAB.name), store.remarks(), attempts]


def files(folder: Path) -> dict[str, bytes]:
    found = (file for file in folder.rglob("*") if file.is_file())
    return {str(f.relative_to(folder)): f.read_bytes() for f in found if f.name[:9] != "course.db"}


def test_a_course_that_is_restored_is_the_same(course: Course, tmp_path: Path) -> None:
    contents = back_up(course, course.folder / "course.toml", tmp_path / "week1.tar.gz")
    back, same = restore(tmp_path / "week1.tar.gz", tmp_path / "new" / "course.toml")

    assert everything(back) == everything(course)
    assert files(back.folder) == files(course.folder)
    assert same == contents
    assert dict(contents.rows) == {
        "students": 3,
        "runs": 1,
        "frozen": 3,
        "attempts": 3,
        "overrides": 1,
        "remarks": 1,
    }


def test_work_goes_on_where_it_was_restored(course: Course, tmp_path: Path) -> None:
    back_up(course, course.folder / "course.toml", tmp_path / "week1.tar.gz")
    back, _ = restore(tmp_path / "week1.tar.gz", tmp_path / "new" / "course.toml")

    (back.folder / ".inferlab" / "spool" / "waits.json").unlink()
    with opened(back) as store:
        assert not plan(Batch(back, LAB, resume=True), store).jobs
        grade(Batch(back, LAB), store)
        assert [run.id for run in store.runs()] == ["1", "2"]
        assert len(store.attempts(run="2")) == 3


def test_a_backup_is_the_owners_alone_and_replaces_nothing(course: Course, tmp_path: Path) -> None:
    file = tmp_path / "week1.tar.gz"
    back_up(course, course.folder / "course.toml", file)
    before = file.read_bytes()

    assert file.stat().st_mode & 0o077 == 0
    with pytest.raises(UsageError, match=r"week1\.tar\.gz exists already"):
        back_up(course, course.folder / "course.toml", file)
    assert file.read_bytes() == before
    assert [path.name for path in tmp_path.iterdir() if path.name.startswith(".")] == []


def test_a_restore_never_writes_over_a_course(course: Course, tmp_path: Path) -> None:
    file = tmp_path / "week1.tar.gz"
    back_up(course, course.folder / "course.toml", file)
    before, rows = files(course.folder), everything(course)

    with pytest.raises(UsageError, match="is there already"):
        restore(file, course.folder / "course.toml")
    other = tmp_path / "other"
    other.mkdir()
    (other / "course.toml").write_text(
        f'title = "T"\ndatabase = "sqlite:///{course.folder}/course.db"\n'
    )
    with pytest.raises(UsageError, match="holds a course already"):
        restore(file, other / "course.toml")

    assert (files(course.folder), everything(course)) == (before, rows)
    assert [*files(other)] == ["course.toml"]  # nothing of it stays


@pytest.mark.parametrize(
    "damage", ["cut", "byte", "member", "empty", "no manifest", "link", "way out"]
)
def test_a_damaged_backup_changes_nothing(course: Course, tmp_path: Path, damage: str) -> None:
    file = tmp_path / "week1.tar.gz"
    back_up(course, course.folder / "course.toml", file)
    spoil(file, damage)

    with pytest.raises(InferlabError, match="is no whole backup"):
        restore(file, tmp_path / "new" / "course.toml")

    assert [*(tmp_path / "new").iterdir()] == []
    assert not (tmp_path / "escaped").exists()


def spoil(file: Path, damage: str) -> None:
    data = file.read_bytes()
    if damage in ("cut", "byte", "empty"):
        middle = len(data) // 2
        changed = bytes([data[middle] ^ 0xFF])
        spoiled = {
            "cut": data[:middle],
            "empty": b"",
            "byte": data[:middle] + changed + data[middle + 1 :],
        }
        file.write_bytes(spoiled[damage])
        return
    with tarfile.open(file) as archive:
        members = {m.name: archive.extractfile(m).read() for m in archive}  # type: ignore[union-attr]
    folder = file.parent / "parts"
    folder.mkdir()
    with tarfile.open(file, "w:gz") as archive:
        for name, content in members.items():
            if (damage, name) in (("no manifest", "backup.json"), ("member", "rows.jsonl")):
                continue
            (folder / "part").write_bytes(content)
            archive.add(folder / "part", name)
        if damage == "link":
            os.symlink("/etc/passwd", folder / "link")
            archive.add(folder / "link", "course/collected/link")
        if damage == "way out":
            archive.add(folder / "part", "course/../../escaped")


def test_what_is_no_backup_is_one_line(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="there is no"):
        restore(tmp_path / "none", tmp_path / "new" / "course.toml")


def test_a_failure_in_the_database_takes_the_files_back(
    course: Course, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "week1.tar.gz"
    back_up(course, course.folder / "course.toml", file)
    monkeypatch.setattr("grader.course.database.dump.upgrade", _fail)

    with pytest.raises(RuntimeError):
        restore(file, tmp_path / "new" / "course.toml")
    assert files(tmp_path / "new") == {}

    monkeypatch.setattr("grader.course.database.dump.upgrade", connection.upgrade)
    back, _ = restore(file, tmp_path / "new" / "course.toml")
    assert everything(back) == everything(course)


def _fail(*_: object) -> None:
    raise RuntimeError("the disk is gone")
