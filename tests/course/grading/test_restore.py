"""A backup that somebody made up brings nothing that a backup does not hold, and costs little."""

import base64
import gzip
import hashlib
import io
import json
import os
import resource
import tarfile
import zlib
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("sqlalchemy", reason='needs the extra "course"')

from stand_ins import handed_in
from stand_ins.class_of import LAB, class_of
from stand_ins.classroom import attempt

from grader.course.config import load_course
from grader.course.database.store import Store
from grader.course.grading.backups.backup import FILES, MANIFEST, ROWS, back_up
from grader.course.grading.backups.restore import restore
from grader.errors import InferlabError, StoreError
from grader.service.adapters.database.database import DatabaseStore

TOML = b'title = "Demo"\n'
Members = dict[str, bytes]
MIB = 1 << 20


@pytest.fixture
def members(tmp_path: Path) -> Members:
    """What the backup of a small course holds."""
    folder = tmp_path / "course"
    folder.mkdir()
    (folder / "course.toml").write_bytes(TOML)
    (folder / "roster.csv").write_text("id,name\nada,Ada\n")
    course = load_course(folder / "course.toml")
    with Store.open(course.database, course.folder) as store:
        class_of(store, folder, ["ada"])
        run = store.start_run(LAB.name, datetime(2026, 10, 1, tzinfo=UTC))
        store.add_attempt(attempt("ada", 5.0, lab=LAB.name, run=run))
        service = DatabaseStore(store)
        handed_in.hand_in(service, "ada", LAB.name)
        service.add_token("hash", "ada", "student", datetime(2026, 10, 1, tzinfo=UTC))
    back_up(course, folder / "course.toml", tmp_path / "week1.tar.gz")
    with tarfile.open(tmp_path / "week1.tar.gz") as archive:
        return {member.name: archive.extractfile(member).read() for member in archive}  # type: ignore[union-attr]


@pytest.fixture
def bring(tmp_path: Path) -> Callable[..., Path]:
    """Restore made-up members, under a manifest that agrees with them, and return the folder."""

    def call(found: Members, **changes: object) -> Path:
        (tmp_path / "made_up.tar.gz").write_bytes(packed(found, changes))
        restore(tmp_path / "made_up.tar.gz", tmp_path / "new" / "course.toml")
        return tmp_path / "new"

    return call


def packed(found: Members, changes: Mapping[str, Any]) -> bytes:
    data = {name: content for name, content in found.items() if name != MANIFEST}
    manifest: dict[str, Any] = json.loads(found[MANIFEST])
    manifest["files"] = {name: hashlib.sha256(text).hexdigest() for name, text in data.items()}
    data[MANIFEST] = json.dumps({**manifest, **changes}).encode()
    file = io.BytesIO()
    with tarfile.open(fileobj=file, mode="w:gz") as archive:
        for name, content in data.items():
            entry = tarfile.TarInfo(name)
            entry.size = len(content)
            archive.addfile(entry, io.BytesIO(content))
    return file.getvalue()


def with_row(found: Members, table: str, column: str, value: object) -> Members:
    lines = [json.loads(line) for line in found[ROWS].splitlines()]
    for line in lines:
        if line["table"] == table:
            line["row"][column] = value
    return found | {ROWS: b"".join(json.dumps(line).encode() + b"\n" for line in lines)}


def is_empty(folder: Path) -> bool:
    return [*folder.iterdir()] == []


def test_what_comes_back_is_the_owners_alone(members: Members, bring: Callable[..., Path]) -> None:
    before = os.umask(0o022)
    try:
        folder = bring(members)
    finally:
        os.umask(before)

    modes = {path.stat().st_mode & 0o077 for path in [folder, *folder.rglob("*")]}
    assert (folder / "course.db").is_file()
    assert modes == {0}


@pytest.mark.parametrize(
    "name",
    [
        *(".git/hooks/pre-commit", "sitecustomize.py", "conftest.py", "Makefile", ".envrc"),
        *("grader/course/extra.py", "course.db", ".inferlab/graded-01_llama.lock"),
        *(".inferlab/spool/x.py", ".inferlab/spool/deep/x.json", "other.csv", "collected"),
    ],
)
def test_a_file_that_no_backup_has_does_not_come(
    name: str, members: Members, bring: Callable[..., Path], tmp_path: Path
) -> None:
    without = {key: text for key, text in members.items() if "collected" not in key}

    with pytest.raises(InferlabError, match="which no backup does"):
        bring((without if name == "collected" else members) | {FILES + name: b"import os\n"})

    assert is_empty(tmp_path / "new")


@pytest.mark.parametrize("name", ["sitecustomize.py", ".bashrc", "../out.csv", "/tmp/out.csv"])
def test_a_roster_is_a_table_in_the_course(
    name: str, members: Members, bring: Callable[..., Path], tmp_path: Path
) -> None:
    toml = TOML + f'roster = "{name}"\n'.encode()
    odd = {f"{FILES}course.toml": toml, f"{FILES}{name}": b"id,name\nada,Ada\n"}

    with pytest.raises(InferlabError, match=r"which no backup does|is no whole backup"):
        bring(members | odd)

    assert is_empty(tmp_path / "new")


@pytest.mark.parametrize("name", ["course/./x", "course//x", "course/", "course/a/../../x", "x"])
def test_a_name_that_is_not_plain_does_not_come(
    name: str, members: Members, bring: Callable[..., Path], tmp_path: Path
) -> None:
    with pytest.raises(InferlabError, match="is no whole backup"):
        bring(members | {name: b"x"})

    assert is_empty(tmp_path / "new")


@pytest.mark.parametrize(
    ("table", "column", "value"),
    [
        ("attempts", "exit_code", 10**30),
        ("attempts", "graded", {"moment": "nonsense"}),
        ("attempts", "report", {"bytes": "AAA"}),
        ("students", "name", "\ud800"),
        ("students", "name", [[]]),
        ("frozen", "path", "../../solutions/01_llama"),
        ("frozen", "path", "/etc"),
        ("frozen", "path", "hand-ins/../../solutions/01_llama"),
        ("hand_ins", "path", "hand-ins/../../solutions/01_llama"),
        ("hand_ins", "path", "collected/90_echo"),
        ("hand_ins", "path", ""),
        ("hand_ins", "lab", "../../labs"),
        ("hand_ins", "state", "lost"),
        ("tokens", "role", "root"),
        ("runs", "lab", "../../labs"),
        ("attempts", "lab", "no lab"),
    ],
)
def test_a_row_that_says_what_none_of_ours_does_is_a_line(
    table: str,
    column: str,
    value: object,
    members: Members,
    bring: Callable[..., Path],
    tmp_path: Path,
) -> None:
    with pytest.raises(InferlabError):
        bring(with_row(members, table, column, value))

    assert is_empty(tmp_path / "new")


def test_an_id_that_a_terminal_acts_on_does_not_come(
    members: Members, bring: Callable[..., Path], tmp_path: Path
) -> None:
    """Ids are printed as they are, since no roster takes such a one."""
    odd = members[ROWS].replace(b'"id": "ada"', b'"id": "\\u001b[2J"')
    odd = odd.replace(b'"student": "ada"', b'"student": "\\u001b[2J"')

    with pytest.raises(InferlabError, match="whose ids no roster takes"):
        bring(members | {ROWS: odd})

    assert is_empty(tmp_path / "new")


@pytest.mark.parametrize("text", [b"[" * 200_000, b"\xff", b"[1]", b'{"table": "x", "row": {}}'])
def test_a_line_that_is_no_row_is_a_line(
    text: bytes, members: Members, bring: Callable[..., Path], tmp_path: Path
) -> None:
    with pytest.raises(StoreError, match=r"cannot be read|does not know"):
        bring(members | {ROWS: text + b"\n"})

    assert is_empty(tmp_path / "new")


@pytest.mark.parametrize(
    "changes",
    [
        *({"revision": name} for name in ("none", "base", "head", "0001:head", "", 5, None, ["x"])),
        {"rows": 5},
        {"files": 5},
        {"title": 5},
        {"made": "9999-12-31T23:59:59-14:00"},
        {"title": [[]] * 1000},
    ],
)
def test_a_manifest_that_says_what_none_of_ours_does_is_a_line(
    changes: dict[str, object], members: Members, bring: Callable[..., Path], tmp_path: Path
) -> None:
    with pytest.raises(InferlabError, match=r"no whole backup|is not known here"):
        bring(members, **changes)

    assert is_empty(tmp_path / "new")


@pytest.mark.parametrize("url", ["{0}/out.db", "file:{0}/out.db?mode=rwc&uri=true", ":memory:"])
def test_a_database_elsewhere_is_not_made(
    url: str, members: Members, bring: Callable[..., Path], tmp_path: Path
) -> None:
    toml = TOML + f'database = "sqlite:///{url.format(tmp_path)}"\n'.encode()

    with pytest.raises(InferlabError, match="has its database outside of"):
        bring(members | {f"{FILES}course.toml": toml})

    assert is_empty(tmp_path / "new")
    assert not (tmp_path / "out.db").exists()


def head(name: str, size: int, kind: bytes = tarfile.REGTYPE) -> bytes:
    entry = tarfile.TarInfo(name)
    entry.size, entry.type = size, kind
    return entry.tobuf(tarfile.GNU_FORMAT)


LONG = head("././@LongLink", 5, tarfile.GNUTYPE_LONGNAME) + b"name".ljust(512, b"\0")
BOMBS = {
    "header": [head("x", 600 * MIB, tarfile.XHDTYPE), *[bytes(MIB)] * 600],
    "manifest": [head(MANIFEST, 300 * MIB), *[b"[" * MIB] * 300],
    "member": [head(ROWS, 300 * MIB), *[bytes(MIB)] * 300],
    "headers of headers": [LONG * 5000],
    "larger than the disk": [head(ROWS, 1 << 60), bytes(MIB)],
    "backwards": [head(ROWS, -512), head(ROWS, 0)],
    "twice": [head(ROWS, 0), head(ROWS, 0)],
    "files": [head(f"{FILES}collected/x", 0) * 300_000],
}


@pytest.mark.parametrize("name", BOMBS)
def test_what_stands_for_gigabytes_is_refused_in_little_memory(name: str, tmp_path: Path) -> None:
    file = tmp_path / "made_up.tar.gz"
    with gzip.open(file, "wb", compresslevel=1) as packing:
        for part in BOMBS[name]:
            packing.write(part)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss

    with pytest.raises(InferlabError, match=r"is no whole backup|holds too much"):
        restore(file, tmp_path / "new" / "course.toml")

    assert is_empty(tmp_path / "new")
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 64 << 10  # KiB


@pytest.mark.parametrize("data", [b"", b"no report", zlib.compress(b"[" * 100_000)])
def test_a_report_that_is_none_is_a_line_when_it_is_read(
    data: bytes, members: Members, bring: Callable[..., Path]
) -> None:
    odd = with_row(members, "attempts", "report", {"bytes": base64.b64encode(data).decode()})
    course = load_course(bring(odd) / "course.toml")

    with Store.open(course.database, course.folder) as store:
        [found] = store.attempts()
        with pytest.raises(StoreError, match="a report in the course database is damaged"):
            dict(found.report)
