"""A course's home at a real Gitea or Forgejo, named by INFERLAB_GITEA; the same at a stand-in."""

import os
import subprocess
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest

pytest.importorskip("sqlalchemy", reason='needs the extra "course"')

from stand_ins.forge import serving
from stand_ins.forges import GiteaForge
from stand_ins.gitea_server import PROGRAM, Server, running
from stand_ins.instructors import PERSON, make_repository

import grader.course.commands.author
import grader.course.commands.classes
from grader.cli.app import main


@contextmanager
def stand_in(folder: Path) -> Generator[Server]:
    with serving(GiteaForge(folder)) as forge:
        tokens = {name: forge.account(name) for name in ("teacher", "ada-l", "turing")}
        yield Server(forge.address, tokens)


@pytest.fixture(params=["stand-in", "real"])
def server(request: pytest.FixtureRequest, tmp_path: Path) -> Generator[Server]:
    program = os.environ.get(PROGRAM, "")
    if request.param == "real" and not program:
        pytest.skip(f"{PROGRAM} names no Gitea")
    where = tmp_path / "server"
    is_real = request.param == "real"
    made = running(program, where, "course", "ada-l", "turing") if is_real else stand_in(where)
    with made as answering:
        yield answering


def test_a_class_lives_there(
    server: Server,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    root = make_repository(tmp_path / "instructors")
    for module in (grader.course.commands.author, grader.course.commands.classes):
        monkeypatch.setattr(module, "find_root", lambda: root)
    here, home = tmp_path / "here", tmp_path / "home"
    here.mkdir(), home.mkdir()
    monkeypatch.chdir(here)
    monkeypatch.setenv("INFERLAB_HOST_TOKEN", server.tokens["teacher"])
    (here / "course.toml").write_text(
        'title = "Inference"\n[service]\naddress = "https://labs.example.org"\n'
        '[service.hooks]\ngitea = "0123456789abcdef-t"\n'
    )
    (here / "roster.csv").write_text("id,name,account\ns17,Ada,ada-l\ns18,Alan,turing\n")
    line = ["course", "init", "90", "--unproven", "--on", "gitea", "--org", "course"]
    line += ["--url", server.address]

    assert main([*line, "--dry-run"]) == 0
    assert main(line) == 0
    capsys.readouterr()
    assert main(line) == 0
    assert "2 students: 0 changed, 2 as before, 0 with an error" in capsys.readouterr().out

    def ask(path: str) -> object:
        headers = {"Authorization": f"token {server.tokens['teacher']}"}
        return httpx.get(f"{server.address}/api/v1{path}", headers=headers).json()

    repos = {repo["name"]: repo for repo in ask("/orgs/course/repos")}  # type: ignore[attr-defined]
    assert repos.keys() == {"labs", "labs-s17", "labs-s18"}
    assert all(repo["private"] for repo in repos.values())
    assert repos["labs-s17"]["default_branch"] == "student/s17"
    assert len(ask("/repos/course/labs-s17/hooks")) == 1  # type: ignore[arg-type]

    env = {"PATH": os.environ["PATH"], "HOME": str(home), "GIT_TERMINAL_PROMPT": "0", **PERSON}

    def git(*words: str) -> int:
        return subprocess.run(["git", *words], env=env, capture_output=True).returncode

    start = server.address.replace("://", f"://ada-l:{server.tokens['ada-l']}@") + "/course"
    clone = tmp_path / "clone"
    assert git("clone", "-q", f"{start}/labs-s17.git", str(clone)) == 0
    answer = (root / "solutions/90_echo/echo.py").read_text()
    (clone / "labs/90_echo/echo.py").write_text(answer)
    assert git("-C", str(clone), "commit", "-qam", "Solve it") == 0
    assert git("-C", str(clone), "push", "-q") == 0
    assert git("-C", str(clone), "push", "-q", "origin", "HEAD:main") != 0
    assert git("ls-remote", f"{start}/labs-s18.git") != 0

    netrc = home / ".netrc"
    netrc.write_text(f"machine 127.0.0.1 login course password {server.tokens['teacher']}\n")
    netrc.chmod(0o600)
    monkeypatch.setenv("HOME", str(home))
    assert main(["collect", "90"]) == 1  # for Alan has done nothing
    [file] = (here / "collected" / "90_echo" / "s17").glob("*/echo.py")
    assert file.read_text() == answer
