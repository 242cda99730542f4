"""``lab serve`` as a process: it answers, grades, ends by a signal, and loses nothing."""

import json
import os
import signal
import socket
import sqlite3
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest

from grader.__main__ import main
from grader.labs.lab import find_lab, find_root

COURSE = 'title = "Inference"\n[deadlines]\n3 = 2100-01-01T00:00:00Z\n'
LAB = find_lab("3", find_root())


@pytest.fixture
def course(tmp_path: Path) -> Path:
    (tmp_path / "roster.csv").write_text("id,name\nada,Ada\n")
    file = tmp_path / "course.toml"
    file.write_text(COURSE)
    return file


@pytest.fixture
def port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@pytest.fixture
def started(course: Path, port: int) -> Iterator["subprocess.Popen[bytes]"]:
    line = [sys.executable, "-m", "grader", "serve", "--course", str(course), "--port", str(port)]
    line += ["--jobs", "1", "--grace", "0", "--device", "cpu"]
    with (course.parent / "serve.log").open("wb") as log:
        process = subprocess.Popen(line, stdout=log, stderr=log, start_new_session=True)
    try:
        yield process
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def asked(
    port: int, path: str, token: str = "", body: bytes | None = None, kind: str = ""
) -> bytes:
    request = urllib.request.Request(f"http://127.0.0.1:{port}{path}", data=body)
    if token:
        request.add_header("Authorization", f"Bearer {token}")
    if kind:
        request.add_header("Content-Type", kind)
    with urllib.request.urlopen(request, timeout=30) as answer:
        return answer.read()


def is_up(port: int, seconds: float = 90.0) -> bool:
    ends = time.monotonic() + seconds
    while time.monotonic() < ends:
        try:
            return asked(port, "/healthz") is not None
        except OSError:
            time.sleep(0.2)
    return False


def multipart(name: str, content: bytes) -> tuple[bytes, str]:
    head = f'--b\r\nContent-Disposition: form-data; name="files"; filename="{name}"\r\n\r\n'
    return head.encode() + content + b"\r\n--b--\r\n", "multipart/form-data; boundary=b"


def state(course: Path, number: int) -> tuple[str, int]:
    with sqlite3.connect(course.with_name("course.db")) as connection:
        rows = "select lower(state), tries from hand_ins where id = ?"
        found = connection.execute(rows, (number,)).fetchone()
    return str(found[0]), int(found[1])


def test_a_signal_ends_it_and_what_ran_waits_again(
    course: Path,
    port: int,
    started: "subprocess.Popen[bytes]",
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert is_up(port)
    main(["token", "ada", "--course", str(course)])
    token = capsys.readouterr().out.strip()
    code = (LAB.solutions / LAB.code_name).read_bytes()
    body, kind = multipart(LAB.code_name, code)

    receipt = json.loads(asked(port, "/api/labs/3/hand-ins", token, body, kind))
    ends = time.monotonic() + 60
    while state(course, receipt["number"])[0] == "waiting" and time.monotonic() < ends:
        time.sleep(0.1)
    assert state(course, receipt["number"]) == ("running", 1)
    started.send_signal(signal.SIGTERM)

    assert started.wait(timeout=60) == 0
    assert state(course, receipt["number"]) == ("waiting", 0)


def test_a_course_that_cannot_be_read_is_a_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code = main(["serve", "--course", str(tmp_path / "none.toml")])

    assert code == 2
    assert "there is no" in capsys.readouterr().err


def test_a_port_that_is_taken_is_a_line(course: Path, port: int) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", port))
        taken.listen()
        line = [sys.executable, "-m", "grader", "serve", "--course", str(course)]
        line += ["--port", str(port), "--role", "web"]
        done = subprocess.run(line, capture_output=True, text=True, timeout=120, check=False)

    assert done.returncode == 2
    assert f"127.0.0.1:{port}" in done.stderr
    assert "Traceback" not in done.stderr
