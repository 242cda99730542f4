"""Sessions that are forked: they grade as others do, and end when they should."""

import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from grader.errors import JudgeError
from grader.judge.grade import grade
from grader.judge.setup.request import Request
from grader.judge.setup.start import ForkServer, start_anew
from grader.labs.lab import load_lab

HERE = Path(__file__).resolve().parents[1]
ROOT = HERE.parent
LAB = load_lab(HERE / "demo" / "labs" / "90_echo")


@pytest.fixture(scope="module")
def server() -> Iterator[ForkServer]:
    made = ForkServer()
    yield made
    made.close()


def test_forked_session_grades_like_any_other(server: ForkServer) -> None:
    reports = [
        grade(Request(LAB, LAB.solutions, device="cpu", seed=5), start=start)
        for start in (start_anew, server, server)
    ]

    verdicts = [[(test.id, test.verdict) for test in report.tests] for report in reports]
    assert verdicts[0] == verdicts[1] == verdicts[2]
    assert [report.score for report in reports] == [100.0] * 3


def test_session_that_is_killed_says_no_more(server: ForkServer, tmp_path: Path) -> None:
    with server(str(tmp_path)) as session:
        session.kill()
        assert session.stdout is not None
        assert session.stdout.read() == b""
        session.kill()  # nobody, or another process by now


def test_session_dies_with_its_server(tmp_path: Path) -> None:
    server = ForkServer()
    with server(str(tmp_path)) as session:
        server.close()
        assert session.stdout is not None
        started = time.monotonic()
        assert session.stdout.read() == b""
        assert time.monotonic() - started < 10
    with pytest.raises(JudgeError, match="is gone"):
        server(str(tmp_path))


@pytest.mark.parametrize("parent", ["os.getppid()", "-1"])
def test_process_ends_at_once_if_its_parent_has_ended(parent: str) -> None:
    begin = "import os; from grader.judge.setup.start import die_with"
    code = f"{begin}; die_with({parent}); print('here')"
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, timeout=60
    )

    assert (done.returncode, done.stdout) == ((1, "") if parent == "-1" else (0, "here\n"))


def test_folder_that_is_gone_ends_that_session_alone(server: ForkServer, tmp_path: Path) -> None:
    with server(str(tmp_path / "nowhere")) as session:
        assert session.stdout is not None
        assert session.stdout.read() == b""
    assert grade(Request(LAB, LAB.solutions, device="cpu", seed=5), start=server).score == 100.0
