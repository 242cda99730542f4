"""What was compiled in one worker is there in the next, whatever a submission makes of it."""

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from stand_ins.confined import setting_for
from stand_ins.isolation import require_sandbox

from grader.errors import StudentError
from grader.proxy.conversation.clock import Clock
from grader.proxy.conversation.conversation import Conversation
from grader.proxy.instruments import handed_on
from grader.proxy.instruments.handed_on import HandedOn
from grader.sandbox.process import WorkerProcess
from grader.sandbox.setting import Setting

WRITE = """
import os
from pathlib import Path
for variable, name, content in {files!r}:
    path = Path(os.environ[variable], name)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
"""
READ = """
import os
from pathlib import Path
out = {
    f"{variable[:5]} {path.relative_to(os.environ[variable])}": path.read_text()
    for variable in ("TRITON_CACHE_DIR", "TORCHINDUCTOR_CACHE_DIR")
    for path in Path(os.environ[variable]).rglob("*")
    if path.is_file()
}
"""
TRITON, INDUCTOR = "TRITON_CACHE_DIR", "TORCHINDUCTOR_CACHE_DIR"


@pytest.fixture(scope="module")
def setting() -> Iterator[Setting]:
    require_sandbox()
    with setting_for("bwrap") as made:
        yield made


class Ground:
    """A worker that runs any code."""

    def __init__(self, setting: Setting) -> None:
        self.worker = WorkerProcess(setting)
        self.worker.wait_ready()
        self.talk = Conversation(self.worker, "cpu", Clock(60.0), "")
        self.talk.request({"op": "load", "file": f"{setting.seen('submission')}/echo.py"})

    def run(self, code: str) -> Any:
        return self.talk.call(["function", "run"], (code,), {})

    def write(self, *files: tuple[str, str, bytes]) -> None:
        self.run(WRITE.format(files=files))


@pytest.fixture
def first(setting: Setting) -> Iterator[Ground]:
    ground = Ground(setting)
    yield ground
    ground.worker.kill()


@pytest.fixture
def second(setting: Setting) -> Iterator[Ground]:
    ground = Ground(setting)
    yield ground
    ground.worker.kill()


def test_files_of_both_compilers_are_in_the_next_worker(first: Ground, second: Ground) -> None:
    compiled = HandedOn()
    first.write((TRITON, "ab/x.cubin", b"one"), (INDUCTOR, "fx/y/z", b"two"))

    compiled.take(first.talk)
    compiled.begin()
    compiled.give(second.talk)

    assert second.run(READ) == {"TRITO ab/x.cubin": "one", "TORCH fx/y/z": "two"}


def test_what_a_worker_has_is_neither_taken_nor_given_again(
    first: Ground, monkeypatch: pytest.MonkeyPatch
) -> None:
    compiled = HandedOn()
    first.write((TRITON, "ab/x.cubin", b"one"))
    compiled.take(first.talk)
    first.write((TRITON, "ab/x.cubin", b"another"))
    asked: list[str] = []
    request = first.talk.request
    monkeypatch.setattr(
        first.talk, "request", lambda head, *rest: asked.append(head["op"]) or request(head, *rest)
    )

    compiled.take(first.talk)
    compiled.give(first.talk)

    assert asked == ["kernels"]
    assert first.run(READ) == {"TRITO ab/x.cubin": "another"}


def test_unfinished_files_stay_where_they_are(first: Ground, second: Ground) -> None:
    compiled = HandedOn()
    first.write((TRITON, "ab/tmp.pid_3/x", b"half"), (INDUCTOR, ".7.tmp", b"half"))

    compiled.take(first.talk)
    compiled.begin()
    compiled.give(second.talk)

    assert second.run(READ) == {}


@pytest.mark.parametrize(
    "told",
    [
        ("([name], [3], data)"),
        ("([name], [-4], data)"),
        ("([name, name], [4], data)"),
        ("([name], [4], data.double())"),
        ("([name], [4], data.view(2, 2))"),
        ("([7], [4], data)"),
        ("None"),
    ],
)
def test_worker_that_lies_gives_nothing(first: Ground, second: Ground, told: str) -> None:
    compiled = HandedOn()
    first.run(
        "import torch\nfrom grader.worker import compiled_files\n"
        "name, data = '0/x', torch.zeros(4, dtype=torch.uint8)\n"
        f"compiled_files.collect = lambda known: {told}"
    )

    compiled.take(first.talk)
    compiled.begin()
    compiled.give(second.talk)

    assert second.run(READ) == {}


def test_name_that_leads_elsewhere_stays_in_its_worker(first: Ground, second: Ground) -> None:
    compiled = HandedOn()
    first.run(
        "import torch\nfrom grader.worker import compiled_files\n"
        "names = ['0//tmp/elsewhere', '0/../../usr/x', '9/x', 'x', '']\n"
        "data = torch.zeros(5, dtype=torch.uint8)\n"
        "compiled_files.collect = lambda known: (names, [1] * 5, data)"
    )

    compiled.take(first.talk)
    compiled.begin()
    compiled.give(second.talk)

    assert second.run("out = 7") == 7
    with pytest.raises(StudentError, match="FileNotFoundError"):
        second.run("open('/usr/x')")


def test_no_more_is_kept_than_there_is_room_for(
    first: Ground, second: Ground, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(handed_on, "MOST_BYTES", 4)
    compiled = HandedOn()
    first.write((TRITON, "a", b"123"), (TRITON, "b", b"45"), (TRITON, "c", b"6"))

    compiled.take(first.talk)
    compiled.begin()
    compiled.give(second.talk)

    assert second.run(READ) == {"TRITO a": "123", "TRITO c": "6"}


def test_names_stay_within_one_message(first: Ground, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(handed_on, "MOST_FILES", 2)
    monkeypatch.setattr(handed_on, "MOST_NAMED", len('"0/bc"'))
    compiled = HandedOn()
    first.write(*((TRITON, name, b"1") for name in ("abcdef", "\u00e4", "b", "c", "d")))

    compiled.take(first.talk)

    assert [*compiled._files] == ["0/b", "0/c"]


def test_what_one_process_saves_another_learns(
    first: Ground, second: Ground, tmp_path: Path
) -> None:
    mine, yours = HandedOn(), HandedOn()
    first.write((TRITON, "ab/x.cubin", b"one"), (TRITON, "empty", b""))
    mine.take(first.talk)

    for name in ("7", "8"):  # the second holds nothing new
        mine.save(tmp_path / name)
        yours.load(tmp_path / name)
    yours.give(second.talk)

    assert second.run(READ) == {"TRITO ab/x.cubin": "one", "TRITO empty": ""}
    assert [*tmp_path.glob("*.part")] == []


def test_worker_that_ends_between_two_tests_is_no_end_of_the_session(
    first: Ground, second: Ground
) -> None:
    compiled = HandedOn()
    first.write((TRITON, "ab/x.cubin", b"one"))
    compiled.take(first.talk)
    compiled.begin()
    second.run("import os, threading; threading.Timer(0.2, os._exit, (1,)).start()")
    time.sleep(1.0)

    compiled.give(second.talk)
    compiled.take(second.talk)

    assert second.talk.over


def test_worker_that_is_gone_has_nothing(first: Ground) -> None:
    compiled = HandedOn()
    first.talk.end(None)

    compiled.take(first.talk)

    assert compiled._files == {}
