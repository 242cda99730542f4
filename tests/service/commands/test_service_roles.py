"""Pages and gradings as processes of their own: on PostgreSQL, on Ray, and on a disk that fills."""

import os
import shutil
import socket
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path

import httpx
import pytest

pytest.importorskip("sqlalchemy", reason="needs the extra course")

from stand_ins import nginx, postgres
from stand_ins.ray_nodes import RAY_IS_MISSING, cluster
from stand_ins.serving import DEMO, LAB, NUMBER, Server, free_port, issue_tokens, light_tree

from grader.client.logins import Login
from grader.client.service import Service, Unreachable
from grader.course.config import load_course
from grader.course.database.store import Store
from grader.errors import CannotGrade
from grader.service.adapters.database.database import DatabaseStore
from grader.service.domain.records import HandIn, State

NAMES = ("ada", "bob", "cyd", "dan")
GRADED_SECONDS = 240.0
ANSWER = DEMO / "solutions" / LAB


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return light_tree(tmp_path_factory.mktemp("light") / "tree")


@pytest.fixture
def on_postgres() -> Iterator[str]:
    if why := postgres.missing():
        pytest.skip(why)
    with postgres.server() as url:
        yield url


def course_in(folder: Path, database: str = "") -> Path:
    lines = "".join(f"{name},{name.title()}\n" for name in NAMES)
    (folder / "roster.csv").write_text(f"id,name\n{lines}")
    file = folder / "course.toml"
    place = f'database = "{database}"\n' if database else ""
    file.write_text(f'title = "Inference"\n{place}[deadlines]\n{NUMBER} = 2100-01-01T00:00:00Z\n')
    return file


def hand_in(url: str, token: str, more: bytes = b"") -> int:
    with Service(Login(url, token)) as service:
        return int(service.hand_in(NUMBER, answer(more), "terminal")["number"])


def answer(more: bytes = b"") -> dict[str, bytes]:
    files = {name: (ANSWER / name).read_bytes() for name in ("echo.py", "PSEUDOCODE.md")}
    return files | {"echo.py": files["echo.py"] + more}


def items_of(file: Path) -> dict[int, HandIn]:
    course = load_course(file)
    with Store.open(course.database, course.folder) as database:
        return {item.number: item for item in DatabaseStore(database).hand_ins()}


def gradings_of(file: Path) -> Counter[str]:
    course = load_course(file)
    with Store.open(course.database, course.folder) as database:
        return Counter(attempt.commit for attempt in database.attempts(LAB))


def until(file: Path, holds: Callable[[dict[int, HandIn]], bool]) -> dict[int, HandIn]:
    ends = time.monotonic() + GRADED_SECONDS
    while time.monotonic() < ends:
        items = items_of(file)
        if holds(items):
            return items
        time.sleep(0.3)
    raise AssertionError({number: item.state for number, item in items_of(file).items()})


def all_graded(items: dict[int, HandIn]) -> bool:
    return bool(items) and all(item.state is State.GRADED for item in items.values())


def test_hosts_for_pages_and_for_gradings_share_one_postgres_and_one_may_die(
    tree: Path, tmp_path: Path, on_postgres: str
) -> None:
    file = course_in(tmp_path, on_postgres)
    issued = issue_tokens(file)
    grades = ("--role", "grade", "--jobs", "1")
    pages = Server(file, tree, ("--role", "web"))
    first, second = Server(file, tree, grades), Server(file, tree, grades)
    with ExitStack() as stack:
        stack.enter_context(pages.running())
        numbers = [hand_in(pages.url, issued[name]) for name in NAMES]
        stack.callback(first.kill)
        first.start()
        until(file, lambda items: any(item.state is State.RUNNING for item in items.values()))
        first.kill()
        stack.callback(second.stop)
        second.start()
        items = until(file, all_graded)

    assert sorted(items) == sorted(numbers)
    assert gradings_of(file) == Counter({item.key: 1 for item in items.values()})


def test_pages_that_start_anew_keep_whoever_hands_in_waiting(tree: Path, tmp_path: Path) -> None:
    file = course_in(tmp_path)
    issued = issue_tokens(file)
    with socket.create_server(("127.0.0.1", 0), backlog=128) as door:
        server = Server(file, tree, ("--role", "web"), port=door.getsockname()[1], door=door)
        with server.running(), ThreadPoolExecutor(len(NAMES)) as pool:
            first = [hand_in(server.url, issued[name]) for name in NAMES]
            server.stop()  # as for an upgrade
            waiting = [pool.submit(hand_in, server.url, issued[name], b"\n") for name in NAMES]
            time.sleep(1.0)  # nobody answers, and nobody is refused
            ended = [future.done() for future in waiting]
            server.start()
            second = [future.result(60) for future in waiting]

    assert not any(ended)
    assert sorted(first + second) == list(range(1, 2 * len(NAMES) + 1))


@pytest.mark.parametrize("count", ["", "2"])
def test_only_one_socket_can_be_handed_over(
    tree: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str], count: str
) -> None:
    file = course_in(tmp_path)
    lab = f"{sys.executable} -m grader serve --role web --course {file}"
    line = ["sh", "-c", f"LISTEN_PID=$$ LISTEN_FDS={count} exec {lab}"]
    done = subprocess.run(line, cwd=tree, env=os.environ | {"PYTHONPATH": str(tree)})

    assert done.returncode == 2
    told = f"systemd must hand over one TCP socket that listens, not {count or 'none'}"
    assert told in capfd.readouterr().err


@pytest.mark.skipif(RAY_IS_MISSING, reason="needs the extra cluster")
def test_gradings_go_to_a_ray_nodes(tree: Path, tmp_path: Path) -> None:
    file = course_in(tmp_path)
    issued = issue_tokens(file)
    with cluster(2) as ray:
        server = Server(file, tree, ("--engine", "ray"), {"RAY_ADDRESS": ray.address})
        with server.running():
            numbers = [hand_in(server.url, issued[name]) for name in NAMES]
            items = until(file, all_graded)

    assert sorted(items) == sorted(numbers)
    assert gradings_of(file) == Counter({item.key: 1 for item in items.values()})


@pytest.mark.skipif(not nginx.is_here(), reason="needs nginx")
def test_behind_nginx_a_hand_in_is_followed_step_by_step(tree: Path, tmp_path: Path) -> None:
    file = course_in(tmp_path)
    policy = f'[service]\naddress = "https://{nginx.HOST}"\nproxies = ["127.0.0.1"]\n'
    file.write_text(file.read_text() + policy)
    token, port = issue_tokens(file)["ada"], free_port()
    server = Server(file, tree, ("--jobs", "1"))
    with server.running(nginx.HOST):
        line = nginx.line_of(tmp_path, port, server.port)
        with subprocess.Popen(line, stderr=subprocess.DEVNULL) as proxy, ExitStack() as stack:
            stack.callback(proxy.terminate)
            there = (nginx.ToNginx(tmp_path, port) for _ in range(2))
            service = Service(Login(f"https://{nginx.HOST}", token), next(there))
            stack.enter_context(service)
            until_answers(service)
            number = int(service.hand_in(NUMBER, answer(), "terminal")["number"])
            seen = [(event.kind, time.monotonic()) for event in service.events(number)]
            client = stack.enter_context(httpx.Client(transport=next(there)))
            metrics = client.get(f"https://{nginx.HOST}/metrics").status_code

    kinds = [kind for kind, _ in seen]
    assert {"task", "graded"} <= {*kinds}
    assert seen[-1][1] - seen[0][1] > 0.5  # as they happen, not all at the end
    assert metrics == 404


def until_answers(service: Service) -> None:
    ends = time.monotonic() + 30
    while time.monotonic() < ends:
        try:
            service.whoami()
        except Unreachable:
            time.sleep(0.1)
        else:
            return
    raise AssertionError("nginx does not answer")


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of 4 MiB."""
    if os.geteuid() != 0 or shutil.which("mount") is None:
        pytest.skip("needs root, to mount a small file system")
    folder = tmp_path / "small"
    folder.mkdir()
    line = ["mount", "-t", "tmpfs", "-o", "size=4m,mode=700", "tmpfs", str(folder)]
    if subprocess.run(line, capture_output=True, check=False).returncode:
        pytest.skip("nothing can be mounted here")
    yield folder
    subprocess.run(["umount", "-l", str(folder)], check=True)


def test_a_disk_that_fills_refuses_what_it_cannot_keep_and_loses_nothing(
    tree: Path, small_disk: Path
) -> None:
    file = course_in(small_disk)
    issued = issue_tokens(file)
    server = Server(file, tree, ("--jobs", "1"))
    hoard = small_disk / "hoard"
    with server.running():
        taken = [hand_in(server.url, issued["ada"])]
        until(file, all_graded)
        fill(hoard)

        refused = None
        for turn in range(40):
            padding = b"\n#" + b"x" * 200_000 + str(turn).encode()
            try:
                taken.append(hand_in(server.url, issued["bob"], padding))
            except CannotGrade as error:
                refused = error
                break
        assert refused is not None
        assert "nothing was changed" in refused.hint
        assert "No space left on device" in server.log.read_text()
        hoard.unlink()
        taken.append(hand_in(server.url, issued["cyd"]))
        items = until(file, lambda items: not any(item.is_open for item in items.values()))

    assert sorted(items) == sorted(taken)
    assert {item.state for item in items.values()} <= {State.GRADED, State.SUPERSEDED}
    ended = [item.key for item in items.values() if item.state is State.GRADED]
    assert gradings_of(file) == Counter(ended)


def fill(hoard: Path) -> None:
    """Leave 300 KiB of a file system."""
    room = os.statvfs(hoard.parent)
    hoard.write_bytes(bytes(max(room.f_bavail * room.f_frsize - 300_000, 0)))
